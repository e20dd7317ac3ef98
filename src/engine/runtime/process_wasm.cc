#include "engine/runtime/process.h"

namespace attn {

SignalsBlocked::SignalsBlocked() = default;
SignalsBlocked::~SignalsBlocked() = default;
unsigned fork_count() { return 0; }

}  // namespace attn
