// engine/runtime/cpu_count_wasm.cc - one thread: a page may share memory between threads only if its host sends headers
// that a file on a disk cannot have.
#include "engine/runtime/cpu_count.h"

namespace attn {

int cpu_count() { return 1; }

}  // namespace attn
