// apps/cli/options/follow_option.h - what rollout and flow share: tokens above a layer, followed down to the text.
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

// A result and how to name it.
struct Followed {
  const insight::AttentionTables& tables;
  insight::UpperTokens upper;
  nn::Matrix numbers;   // [tokens, N]
  std::string name;     // "rollout", "flow": the key in JSON
  std::string measure;  // what a number is
  bool shares = true;   // each row sums to 1
};

struct FollowOption {
  SourceOption source;
  std::optional<std::int64_t> layer;
  std::vector<std::string> tokens;
  std::int64_t top = 10;
  bool json = false;
  FigureOption figure;

  void add_to(CLI::App& command);

  // The layer and tokens of the command line; without --token, all tokens. Throws UsageError for one that is not found.
  [[nodiscard]] insight::UpperTokens upper(const insight::AttentionTables& tables) const;

  // Prints JSON; or, for --token, ranked lists (a bar chart in a file); or a heatmap of all tokens.
  void show(const Followed& found) const;
};

}  // namespace attn::cli
