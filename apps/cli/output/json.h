// apps/cli/output/json.h - insight/io/json.h under short names.
#pragma once

#include "insight/io/json.h"

namespace attn::cli {

using insight::as_line;
using insight::Json;
using insight::rows_of;
using insight::texts_of;

}  // namespace attn::cli
