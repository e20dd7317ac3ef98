#include "attn_engine/problem.h"
namespace attn {
bool wants_split(const Problem&) noexcept { return false; }
void run_split(const Problem&, ThreadPool&) {}
}  // namespace attn
