// A kernel that includes the engine, which lies above it.
#include "engine/runtime/cpu_count.h"
