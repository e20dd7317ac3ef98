// tests/support/thread_ranks.h - ranks as threads of this process, so that distributed code runs under a debugger and
// the sanitizers.
#pragma once

#include <functional>
#include <vector>

#include "attn/ranks.h"

namespace attn::test {

// Calls work(ranks) on `count` threads at once, each with its own rank, and returns when all are done. If one throws,
// those that wait for it throw too, and this rethrows the first cause of the lowest rank.
void on_ranks(int count, const std::function<void(Ranks&)>& work);

}  // namespace attn::test
