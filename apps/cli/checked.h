// cli/checked.h - tables that check themselves.
#pragma once

#include "attn/thread_pool.h"
#include "insight/check.h"

namespace attn::cli {

// With a progress line.
insight::CheckResult checked(const insight::Specimen& specimen, ThreadPool& pool);

}  // namespace attn::cli
