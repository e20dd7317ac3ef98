// figure/scene/ticks.h - chooses round numbers along an axis, and formats numbers.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "figure/scene/figure.h"

namespace attn::figure {

struct Tick {
  double value = 0;
  double place = 0;  // along the axis, 0 to 1
  std::string text;
};

// Multiples of 1, 2 or 5 times a power of ten that lie in the range: at most `most` (at least 2), lowest first.
std::vector<double> linear_ticks(const Range& range, int most);
// Powers of ten, with 2 and 5 times them if there are few. The range must lie above 0.
std::vector<double> log_ticks(const Range& range, int most);
// Formats ticks with enough digits to tell them apart: 0.0 0.2 0.4; very large and very small ones as 2×10⁶.
std::vector<std::string> tick_texts(std::span<const double> ticks);

// A number in a cell: 0.123, 12.3, 123.
std::string cell_text(double value);
// Three significant digits: 0.123, 0.00123, 1.23×10⁻⁵, 12.3, 1234.
std::string short_text(double value);

}  // namespace attn::figure
