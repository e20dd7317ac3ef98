// model/families/activation_name.h - activations by the names that configurations give them.
#pragma once

#include <string>
#include <string_view>

#include "model/files/config.h"
#include "nn/infer/activation.h"

namespace attn::model {

// Throws attn::Error, with the path and the known names, for a name that is not one of them.
nn::Activation parse_activation(std::string_view name, const std::string& path);

// What the configuration says under one of these names; if none is there, `otherwise`, and if that is empty an error.
nn::Activation parse_activation(const Config& config, Config::Names names, const std::string& otherwise = {});

}  // namespace attn::model
