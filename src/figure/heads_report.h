// figure/heads_report.h - what is said of heads, as lines of text and as a figure.
#pragma once

#include <cstdint>
#include <string>

#include "figure/figure.h"
#include "figure/terminal.h"
#include "insight/head_types.h"

namespace attn::figure {

// "Look at layer 2, head 9: 0.95 of its attention goes to the next token."
std::string first_line(const insight::HeadsReport& report, const Terminal& terminal);

// The best `top`, one a line, under a line of titles.
std::string table_of(const insight::HeadsReport& report, std::int64_t top, const Terminal& terminal);

// Entropy by layer: the mean over heads, the lowest and the highest.
Curves entropy_curves(const insight::HeadsReport& report);

}  // namespace attn::figure
