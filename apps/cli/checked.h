// cli/checked.h - tables that check themselves, told in words.
#pragma once

#include <string>

#include "attn/thread_pool.h"
#include "insight/check.h"

namespace attn::cli {

// With a progress line.
insight::CheckResult checked(const insight::Specimen& specimen, ThreadPool& pool);

// "1,728 rows of 144 heads sum to 1 within 2e-07, masked weights are 0, all are finite", or what is wrong.
std::string in_words(const insight::CheckResult& result);

}  // namespace attn::cli
