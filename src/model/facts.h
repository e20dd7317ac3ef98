// model/facts.h - what all families read from config.json in the same way.
#pragma once

#include <cstdint>

#include "model/config.h"
#include "model/model.h"

namespace attn::model {

// A size: from 1 to 2^31 - 1, else attn::Error.
std::int64_t read_size(const Config& config, Config::Names names);
std::int64_t read_size(const Config& config, Config::Names names, std::int64_t otherwise);

// As many heads as share a width evenly. attn::Error, with both numbers, if they do not, or if a head becomes wider
// than the engine takes.
HeadShape share_evenly(const Config& config, std::int64_t width, std::int64_t heads);

// bos_token_id, pad_token_id and eos_token_id, one or several, and the rules of generation; of these,
// generation_config.json knows more.
void read_token_ids(const Config& config, Facts& facts);

}  // namespace attn::model
