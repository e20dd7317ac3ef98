#include "model/families/activation_name.h"

#include <array>

#include "attn/error.h"

namespace attn::model {
namespace {

struct Name {
  std::string_view text;
  nn::Activation activation;
};

constexpr std::array kNames = {
    Name{"gelu", nn::Activation::gelu},
    Name{"gelu_python", nn::Activation::gelu},
    Name{"gelu_new", nn::Activation::gelu_tanh},
    Name{"gelu_fast", nn::Activation::gelu_tanh},
    Name{"gelu_pytorch_tanh", nn::Activation::gelu_tanh},
    Name{"relu", nn::Activation::relu},
    Name{"silu", nn::Activation::silu},
    Name{"swish", nn::Activation::silu},
    Name{"tanh", nn::Activation::tanh},
};

}  // namespace

nn::Activation parse_activation(std::string_view name, const std::string& path) {
  for (const Name& known : kNames)
    if (known.text == name) return known.activation;
  std::string list;
  for (const Name& known : kNames) list += (list.empty() ? "" : ", ") + std::string(known.text);
  throw Error(path, "activation \"" + std::string(name) + "\" is not one of " + list);
}

nn::Activation parse_activation(const Config& config, Config::Names names, const std::string& otherwise) {
  return parse_activation(otherwise.empty() ? config.text(names) : config.text(names, otherwise), config.path());
}

}  // namespace attn::model
