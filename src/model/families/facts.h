// model/families/facts.h - the parts of config.json that all families read in the same way.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "model/files/config.h"
#include "model/run/model.h"

namespace attn::model {

// A size from 1 to 2^31 - 1. Throws attn::Error for any other value.
std::int64_t read_size(const Config& config, Config::Names names);
std::int64_t read_size(const Config& config, Config::Names names, std::int64_t otherwise);

// Splits `width` evenly over `heads`. Throws attn::Error, with both numbers, if it does not divide, or if a head is
// wider than the engine supports.
HeadShape share_evenly(const Config& config, std::int64_t width, std::int64_t heads);

// Reads bos_token_id, pad_token_id, eos_token_id (one or several) and the generation rules. generation_config.json
// takes precedence over config.json.
void read_token_ids(const Config& config, Facts& facts);

// Whether `architectures` names a class with one of these suffixes.
bool names_class(const Config& config, std::initializer_list<std::string_view> ends);

// Label names of a classification model: id2label, else "LABEL_0", "LABEL_1" and so on, num_labels of them (2 by
// default). Throws attn::Error if id2label does not number its labels from 0.
std::vector<std::string> read_labels(const Config& config);

}  // namespace attn::model
