// tests/support/thread_ranks.h - ranks as threads of this process: what runs on MPI runs here too, under a debugger and
// the sanitizers.
#pragma once

#include <functional>
#include <vector>

#include "attn/ranks.h"

namespace attn::test {

// Calls work(ranks) on `count` threads at once, each with a rank of its own, and returns when all are done. Where one
// throws, those that wait for it throw too, and the exception of the lowest rank that began it is thrown here.
void on_ranks(int count, const std::function<void(Ranks&)>& work);

}  // namespace attn::test
