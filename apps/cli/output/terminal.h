// apps/cli/output/terminal.h - figure/terminal/terminal.h under short names.
#pragma once

#include "base/counted.h"
#include "figure/terminal/columns.h"
#include "figure/terminal/terminal.h"

namespace attn::cli {

using base::counted;
using base::grouped;
using figure::left;
using figure::number;
using figure::Phrase;
using figure::repeat;
using figure::right;
using figure::Terminal;
using figure::without_blank_ends;

}  // namespace attn::cli
