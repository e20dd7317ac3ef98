// cli/terminal.h - what the output can show (figure/terminal.h), by its short names.
#pragma once

#include "figure/columns.h"
#include "figure/terminal.h"
#include "text/counted.h"

namespace attn::cli {

using figure::left;
using figure::number;
using figure::Phrase;
using figure::repeat;
using figure::right;
using figure::Terminal;
using figure::without_blank_ends;
using text::counted;
using text::grouped;

}  // namespace attn::cli
