// cli/checked.cc
#include "checked.h"

#include "progress.h"

namespace attn::cli {

insight::CheckResult checked(const insight::Specimen& specimen, ThreadPool& pool) {
  ProgressLine line;
  const auto progress = [&](std::int64_t done, std::int64_t total) { line.count(done, total, "checking head"); };
  return insight::check_weights(specimen, {.progress = progress}, pool);
}

}  // namespace attn::cli
