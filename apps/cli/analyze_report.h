// cli/analyze_report.h - what attnscope analyze says of heads, as a table, as JSON and as a figure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "figure/figure.h"
#include "insight/head_types.h"
#include "insight/statistics.h"
#include "json.h"
#include "terminal.h"

namespace attn::cli {

struct HeadsReport {
  std::vector<insight::HeadReport> heads;  // in the order of layers
  std::vector<std::size_t> ranking;        // places in heads

  HeadsReport(std::vector<insight::HeadStatistics> statistics, const nn::Matrix& induction);

  // "Look at layer 2, head 9: 0.95 of its attention goes to the next token."
  [[nodiscard]] std::string first_line(const Terminal& terminal) const;
  // The best `top`, one a line.
  [[nodiscard]] std::string table(std::int64_t top, const Terminal& terminal) const;
  [[nodiscard]] Json look_at() const;
  [[nodiscard]] Json to_json() const;
  // Entropy by layer: the mean over heads, the lowest and the highest.
  [[nodiscard]] figure::Curves curves() const;
};

Json to_json(const std::vector<insight::LayerStatistics>& layers);

}  // namespace attn::cli
