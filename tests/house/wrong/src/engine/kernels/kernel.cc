// A kernel that includes the engine, a floor above it.
#include "engine/runtime/cpu_count.h"
