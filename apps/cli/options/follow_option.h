// apps/cli/options/follow_option.h - what rollout and flow have in common: tokens above a layer, followed down to the
// text.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/cli/options/figure_option.h"
#include "apps/cli/options/source.h"
#include "insight/paths/residual.h"

namespace attn::cli {

// What was found, and how to call it.
struct Followed {
  const insight::AttentionTables& tables;
  insight::UpperTokens upper;
  nn::Matrix numbers;   // [tokens, N]
  std::string name;     // "rollout", "flow": the key in JSON
  std::string measure;  // what a number is
  bool shares = true;   // the numbers of a token are parts of a whole
};

struct FollowOption {
  SourceOption source;
  std::optional<std::int64_t> layer;
  std::vector<std::string> tokens;
  std::int64_t top = 10;
  bool json = false;
  FigureOption figure;

  void add_to(CLI::App& command);

  // The layer and the tokens that were named; none: all of them. Throws UsageError for what is not there.
  [[nodiscard]] insight::UpperTokens upper(const insight::AttentionTables& tables) const;

  // As JSON; of tokens that were named as ranked lists or, in a file, as bars; else as a heatmap.
  void show(const Followed& found) const;
};

}  // namespace attn::cli
