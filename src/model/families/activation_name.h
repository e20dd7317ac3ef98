// model/families/activation_name.h - activation functions by the names that config.json uses.
#pragma once

#include <string>
#include <string_view>

#include "model/files/config.h"
#include "nn/infer/activation.h"

namespace attn::model {

// Throws attn::Error, with the path and the list of known names, for an unknown name.
nn::Activation parse_activation(std::string_view name, const std::string& path);

// Reads the activation from the first of `names` that the configuration has. If it has none, uses `otherwise`; throws
// attn::Error if that is empty too.
nn::Activation parse_activation(const Config& config, Config::Names names, const std::string& otherwise = {});

}  // namespace attn::model
