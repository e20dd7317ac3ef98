#include "model/families/rope_variants.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <string>
#include <utility>

#include "attn/error.h"
#include "engine/runtime/number_text.h"

namespace attn::model {
namespace {

// An optional number; throws attn::Error unless it is positive.
std::optional<double> positive(const Config& config, const char* name) {
  if (!config.has({name})) return std::nullopt;
  const double value = config.number({name});
  if (!(value > 0) || !std::isfinite(value)) {
    throw Error(config.path(), std::string(name) + " of rotary positions must be above 0, not " + number_text(value));
  }
  return value;
}

double need_positive(const Config& config, const char* name) {
  const std::optional<double> value = positive(config, name);
  return value ? *value : config.number({name});  // throws: it is missing
}

}  // namespace

struct RopeVariant::Kind {
  const char* name;
  void (RopeVariant::*read)(const Config& rope);  // null: frequencies are not scaled
};

const RopeVariant::Kind RopeVariant::kKinds[] = {
    {"default", nullptr},
    {"linear", &RopeVariant::read_linear},
    {"dynamic", &RopeVariant::read_dynamic},
    {"llama3", &RopeVariant::read_llama3},
    {"yarn", &RopeVariant::read_yarn},
    {"longrope", &RopeVariant::read_longrope},
};

RopeVariant::RopeVariant(const Config& config, std::int64_t head_width)
    : config_(config), width_(head_width), max_tokens_(config.integer({"max_position_embeddings"})) {
  const Config rope = config.child({"rope_scaling", "rope_parameters"}).value_or(Config::parse("{}", config.path()));
  if (rope.child({"full_attention"}) || rope.child({"sliding_attention"})) {
    throw Error(config.path(), "rotary positions that differ from layer to layer are not supported");
  }
  const std::string name = rope.text({"rope_type", "type"}, "default");
  theta_ = positive(rope, "rope_theta").value_or(positive(config, "rope_theta").value_or(10000));
  // Without scaling these families rotate whole heads, whatever the file says; transformers does the same.
  if (name != "default") {
    const double part =
        positive(rope, "partial_rotary_factor").value_or(positive(config, "partial_rotary_factor").value_or(1));
    width_ = static_cast<std::int64_t>(static_cast<double>(head_width) * part);
  }
  if (width_ < 2 || width_ % 2 != 0 || width_ > head_width) {
    throw Error(config.path(), "rotary positions rotate pairs, but would rotate " + std::to_string(width_) +
                                   " of the " + std::to_string(head_width) + " dimensions of a head");
  }
  within_.frequencies = nn::rope_frequencies(theta_, width_);

  std::string known;
  for (const Kind& kind : kKinds) {
    if (kind.name == name) {
      if (kind.read != nullptr) (this->*kind.read)(rope);
      return;
    }
    known += (known.empty() ? "" : ", ") + std::string(kind.name);
  }
  throw Error(config.path(), "unknown rope_type '" + name + "'; known: " + known);
}

nn::Rope RopeVariant::at(std::int64_t length) const {
  if (limit_ == 0 || length <= limit_) return within_;
  if (!beyond_.empty()) return {beyond_, within_.factor};
  // Neural-tangent scaling: theta grows so that the slowest frequency is stretched by growth * length / limit.
  const double stretch = growth_ * static_cast<double>(length) / static_cast<double>(limit_) - (growth_ - 1);
  const double power = static_cast<double>(width_) / static_cast<double>(width_ - 2);
  return {nn::rope_frequencies(theta_ * std::pow(stretch, power), width_), within_.factor};
}

// The context length that the model was trained with before it was extended.
std::int64_t RopeVariant::original(const Config& rope) const {
  const char* const name = "original_max_position_embeddings";
  const std::int64_t otherwise = rope.integer({name}, config_.integer({"max_position_embeddings"}));
  const std::int64_t length = config_.integer({name}, otherwise);
  if (length < 2) throw Error(config_.path(), std::string(name) + " must be at least 2, not " + std::to_string(length));
  return length;
}

// "factor", or the ratio of the two lengths.
double RopeVariant::scale_of(const Config& rope) const {
  return positive(rope, "factor").value_or(static_cast<double>(max_tokens_) / static_cast<double>(original(rope)));
}

// Many files leave max_position_embeddings at the length before the extension.
void RopeVariant::stretch(double factor, std::int64_t length) noexcept {
  constexpr double kMost = 1e9;
  const double stretched = std::min(factor * static_cast<double>(length), kMost);
  max_tokens_ = std::max(max_tokens_, static_cast<std::int64_t>(stretched));
}

void RopeVariant::read_linear(const Config& rope) {
  const double factor = need_positive(rope, "factor");
  for (float& f : within_.frequencies) f /= static_cast<float>(factor);
  stretch(factor, max_tokens_);
}

void RopeVariant::read_dynamic(const Config& rope) {
  growth_ = need_positive(rope, "factor");
  if (width_ < 4)
    throw Error(config_.path(), "dynamic rotary positions need at least 4 rotated dimensions per head, not 2");
  limit_ = max_tokens_;
  stretch(growth_, max_tokens_);
}

// Divides low frequencies by factor, keeps high ones, and blends those between.
void RopeVariant::read_llama3(const Config& rope) {
  const auto factor = static_cast<float>(need_positive(rope, "factor"));
  const double low = need_positive(rope, "low_freq_factor");
  const double high = need_positive(rope, "high_freq_factor");
  if (high <= low) throw Error(config_.path(), "high_freq_factor must be above low_freq_factor");
  const auto length = static_cast<double>(original(rope));
  for (float& f : within_.frequencies) {
    const float wave = static_cast<float>(2 * std::numbers::pi) / f;
    if (wave < static_cast<float>(length / high)) continue;
    if (wave > static_cast<float>(length / low)) {
      f /= factor;
      continue;
    }
    const float fast = (static_cast<float>(length) / wave - static_cast<float>(low)) / static_cast<float>(high - low);
    f = (1 - fast) * f / factor + fast * f;
  }
}

// Peng et al., "YaRN", 2023. Frequencies that turn often within the original length stay; those that hardly turn once
// are divided by factor; a ramp joins the two. Attention also gets sharper.
void RopeVariant::read_yarn(const Config& rope) {
  const double factor = scale_of(rope);
  const auto sharper = [&](double weight) { return factor <= 1 ? 1.0 : 0.1 * weight * std::log(factor) + 1; };
  const double weight = rope.number({"mscale"}, 0);
  const double weight_all = rope.number({"mscale_all_dim"}, 0);
  const double implied = weight != 0 && weight_all != 0 ? sharper(weight) / sharper(weight_all) : sharper(1);
  within_.factor = static_cast<float>(rope.number({"attention_factor"}, implied));

  // The pair that turns this often within the original length.
  const auto width = static_cast<double>(width_);
  const auto pair_of = [&](double turns) {
    return width * std::log(static_cast<double>(original(rope)) / (turns * 2 * std::numbers::pi)) /
           (2 * std::log(theta_));
  };
  const double fast = rope.number({"beta_fast"}, 32);
  const double slow = rope.number({"beta_slow"}, 1);
  double low = pair_of(fast == 0 ? 32 : fast);
  double high = pair_of(slow == 0 ? 1 : slow);
  if (rope.flag({"truncate"}, true)) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, width - 1);
  if (low == high) high += 0.001;

  const std::vector<float> periods = nn::rope_periods(theta_, width_);
  for (std::size_t i = 0; i < periods.size(); ++i) {
    const float ramp = (static_cast<float>(i) - static_cast<float>(low)) / static_cast<float>(high - low);
    const float stays = 1 - std::clamp(ramp, 0.0F, 1.0F);
    within_.frequencies[i] = 1 / (static_cast<float>(factor) * periods[i]) * (1 - stays) + 1 / periods[i] * stays;
  }
  stretch(factor, original(rope));
}

// Ding et al., "LongRoPE", 2024: one list of divisors for short texts and one for long ones.
void RopeVariant::read_longrope(const Config& rope) {
  const std::vector<float> periods = nn::rope_periods(theta_, width_);
  const auto divided = [&](const char* name) {
    const std::vector<double> divisors = rope.numbers({name});
    if (divisors.size() != periods.size()) {
      throw Error(config_.path(), std::string(name) + " has " + std::to_string(divisors.size()) +
                                      " numbers, but a head rotates " + std::to_string(periods.size()) + " pairs");
    }
    std::vector<float> frequencies(periods.size());
    for (std::size_t i = 0; i < periods.size(); ++i) {
      if (!(divisors[i] > 0)) throw Error(config_.path(), std::string(name) + " must hold numbers above 0");
      frequencies[i] = 1 / (static_cast<float>(divisors[i]) * periods[i]);
    }
    return frequencies;
  };
  within_.frequencies = divided("short_factor");
  beyond_ = divided("long_factor");
  limit_ = original(rope);
  const double factor = scale_of(rope);
  const double implied = factor <= 1 ? 1 : std::sqrt(1 + std::log(factor) / std::log(static_cast<double>(limit_)));
  within_.factor = static_cast<float>(rope.number({"attention_factor"}, implied));
  stretch(factor, limit_);
}

}  // namespace attn::model
