// figure/scene/heads_report.h - the report of `analyze`, as text and as a figure.
#pragma once

#include <cstdint>
#include <string>

#include "figure/scene/figure.h"
#include "figure/terminal/terminal.h"
#include "insight/statistics/check.h"
#include "insight/statistics/head_types.h"

namespace attn::figure {

// "Check failed: layer 5, head 0, row 3: the weights sum to 1.37, not 1: these are not attention weights.", and an
// empty line. Empty if the check passed.
std::string failed_check(const insight::CheckResult& check, const Terminal& terminal);

// "Look at layer 2, head 9: 0.95 of its attention goes to the next token."
std::string first_line(const insight::HeadsReport& report, const Terminal& terminal);

// The best `top` heads, one per line, under a header.
std::string table_of(const insight::HeadsReport& report, std::int64_t top, const Terminal& terminal);

// Entropy by layer: the mean over heads, the lowest and the highest.
Curves entropy_curves(const insight::HeadsReport& report);

}  // namespace attn::figure
