// cli/checked.cc
#include "apps/cli/output/checked.h"

#include <utility>

#include "apps/cli/command.h"
#include "apps/cli/output/progress.h"

namespace attn::cli {

insight::CheckResult checked(const insight::Specimen& specimen, ThreadPool& pool) {
  ProgressLine line;
  const auto progress = [&](std::int64_t done, std::int64_t total) { line.count(done, total, "checking head"); };
  return insight::check_weights(specimen, {.progress = progress}, pool);
}

Material Material::of(const Ranks& ranks, model::Reading reading) {
  if (ranks.size() == 1) return {std::make_unique<insight::RecordedSpecimen>(std::move(reading)), nullptr};
  return {nullptr, std::make_unique<insight::SpreadSubject>(std::move(reading))};
}

const insight::Subject& Material::subject() const {
  if (whole) return *whole;
  return *part;
}

insight::Findings checked(Ranks& ranks, const Material& material,
                          const std::optional<insight::StatisticsOptions>& statistics, ThreadPool& pool) {
  if (material.whole) return {checked(*material.whole, pool), {}};
  ProgressLine line;
  const auto progress = [&](std::int64_t done, std::int64_t total) {
    if (interrupted()) throw Interrupted();
    if (ranks.rank() == 0) line.count(done, total, statistics ? "head" : "checking head");
  };
  return insight::examine(ranks, *material.part, {.check = {}, .statistics = statistics, .progress = progress}, pool);
}

}  // namespace attn::cli
