#include "model/families/activation_name.h"

#include <array>

#include "attn/error.h"

namespace attn::model {
namespace {

struct ActivationName {
  std::string_view text;
  nn::Activation activation;
};

constexpr std::array kActivationNames = {
    ActivationName{"gelu", nn::Activation::gelu},
    ActivationName{"gelu_python", nn::Activation::gelu},
    ActivationName{"gelu_new", nn::Activation::gelu_tanh},
    ActivationName{"gelu_fast", nn::Activation::gelu_tanh},
    ActivationName{"gelu_pytorch_tanh", nn::Activation::gelu_tanh},
    ActivationName{"relu", nn::Activation::relu},
    ActivationName{"silu", nn::Activation::silu},
    ActivationName{"swish", nn::Activation::silu},
    ActivationName{"tanh", nn::Activation::tanh},
};

}  // namespace

nn::Activation parse_activation(std::string_view name, const std::string& path) {
  for (const ActivationName& known : kActivationNames)
    if (known.text == name) return known.activation;
  std::string list;
  for (const ActivationName& known : kActivationNames) list += (list.empty() ? "" : ", ") + std::string(known.text);
  throw Error(path, "activation \"" + std::string(name) + "\" is not one of " + list);
}

nn::Activation parse_activation(const Config& config, Config::Names names, const std::string& otherwise) {
  return parse_activation(otherwise.empty() ? config.text(names) : config.text(names, otherwise), config.path());
}

}  // namespace attn::model
