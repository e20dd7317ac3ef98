// cli/json.h - JSON (insight/json.h), by its short names.
#pragma once

#include "insight/json.h"

namespace attn::cli {

using insight::as_line;
using insight::Json;
using insight::rows_of;
using insight::texts_of;

}  // namespace attn::cli
