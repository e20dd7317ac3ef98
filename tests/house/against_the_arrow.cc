// against_the_arrow.cc - a header of the engine, which the engine may include and a kernel may not.
#include "attn_engine/cpu_count.h"
