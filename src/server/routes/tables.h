// server/routes/tables.h - parts of a head as it is looked at.
#pragma once

#include "server/store/measures.h"

namespace attn::server {

// level, row and column; X-Shape, and X-Scale where byte 255 is not 1.
Answer tile_of(Desk& desk, const Question& asked, const Sight& sight);
// float32: row or column of the query.
Answer row_of(Desk& desk, const Question& asked, const Sight& sight);
Answer column_of(Desk& desk, const Question& asked, const Sight& sight);

}  // namespace attn::server
