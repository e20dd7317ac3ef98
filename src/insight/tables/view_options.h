// insight/tables/view_options.h - how tables are shown: the same rule for the command line, the server and Python.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "insight/tables/attention_tables.h"

namespace attn::insight {

// raw: the weights. value: each weight times the norm of what it brings (value_weighted.h). rollout: weights followed
// through the layers (paths/rollout.h).
enum class Measure : std::uint8_t { raw, value, rollout };
std::string_view name_of(Measure measure) noexcept;
// Throws std::invalid_argument that lists the measures.
Measure parse_measure(std::string_view name);

struct ViewOptions {
  Measure measure = Measure::raw;
  bool words = false;          // pieces of a word joined (words.h)
  bool without_sinks = false;  // sinks removed, rows renormalised (without_sinks.h)

  // "value/words": equal for options that show the same.
  [[nodiscard]] std::string key() const;
};

// Throws std::invalid_argument for options that exclude each other.
void check(const ViewOptions& options);

// Applies the options: first the measure, then words, then sinks. Rollout makes one table per layer instead of one per
// head, so it is not computed here: pass its tables with measure = raw. Throws std::invalid_argument if the tables lack
// what the measure needs.
std::shared_ptr<const AttentionTables> view(std::shared_ptr<const AttentionTables> tables, const ViewOptions& options);

}  // namespace attn::insight
