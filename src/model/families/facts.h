// model/families/facts.h - what all families read from config.json in the same way.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "model/files/config.h"
#include "model/run/model.h"

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

// Whether `architectures` names a class that ends in one of these.
bool names_class(const Config& config, std::initializer_list<std::string_view> ends);

// What a model for classification calls its labels: id2label, else "LABEL_0" and so on, as many as num_labels says,
// else two. Throws attn::Error for an id2label that does not number them from 0.
std::vector<std::string> read_labels(const Config& config);

}  // namespace attn::model
