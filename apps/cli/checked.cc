// cli/checked.cc
#include "checked.h"

#include <fmt/format.h>

#include "progress.h"
#include "terminal.h"

namespace attn::cli {

insight::CheckResult checked(const insight::Specimen& specimen, ThreadPool& pool) {
  ProgressLine line;
  const auto progress = [&](std::int64_t done, std::int64_t total) { line.count(done, total, "checking head"); };
  return insight::check_weights(specimen, {.progress = progress}, pool);
}

std::string in_words(const insight::CheckResult& result) {
  if (result.failure) return to_string(*result.failure);
  const std::string rows = result.rows == result.all_rows
                               ? counted(result.rows, "row")
                               : fmt::format("{} of {}", grouped(result.rows), counted(result.all_rows, "row"));
  return fmt::format("{} of {} sum{} to 1 within {:.0e}, masked weights are 0, all are finite", rows,
                     counted(result.heads, "head"), result.rows == 1 ? "s" : "", result.deviation);
}

}  // namespace attn::cli
