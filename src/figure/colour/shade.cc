#include "figure/colour/shade.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "base/whole.h"

namespace attn::figure {

namespace {

constexpr double kDecades = 4;  // that a log scale covers if its range starts at 0 or below

Range chosen_range(const Shade& shade, const Range& numbers) {
  if (shade.range) return *shade.range;
  if (is_diverging(shade.cmap)) {
    const double size = std::max(std::abs(numbers.from), std::abs(numbers.to));
    return size > 0 ? Range{-size, size} : Range{-1, 1};
  }
  if (numbers.to > 0) return {std::min(numbers.from, 0.0), numbers.to};
  return numbers.from < 0 ? Range{numbers.from, 0} : Range{0, 1};
}

}  // namespace

Range numbers_in(const nn::Matrix& cells) {
  const float* all = cells.data();
  const std::int64_t count = cells.rows() * cells.columns();
  float low = std::numeric_limits<float>::infinity(), high = -low;
  float strange = 0;  // becomes NaN if any number is not finite
  for (std::int64_t i = 0; i < count; ++i) {
    low = std::min(low, all[i]);
    high = std::max(high, all[i]);
    strange += all[i] * 0;
  }
  if (strange == 0) return {low, high};
  std::int64_t at = 0;
  while (std::isfinite(all[at])) ++at;
  throw std::invalid_argument("cell (" + std::to_string(at / cells.columns()) + ", " +
                              std::to_string(at % cells.columns()) + ") is not a finite number and has no colour");
}

Range united(const Range& a, const Range& b) noexcept { return {std::min(a.from, b.from), std::max(a.to, b.to)}; }

Shader::Shader(const Shade& shade, const Range& numbers)
    : map_(&colour_map(shade.cmap)),
      scale_(shade.scale),
      diverging_(is_diverging(shade.cmap)),
      range_(chosen_range(shade, numbers)),
      numbers_(numbers) {
  if (!std::isfinite(range_.from) || !std::isfinite(range_.to) || range_.from >= range_.to)
    throw std::invalid_argument("the colours' range " + short_text(range_.from) + " to " + short_text(range_.to) +
                                " is empty: its end must lie above its start");
  steps_a_unit_ = 256 / (range_.to - range_.from);
  if (scale_ != Scale::log) return;
  floor_ = std::pow(10, -kDecades);
  if (diverging_) return;
  if (range_.to <= 0) throw std::invalid_argument("a log scale needs a range that ends above 0");
  if (range_.from > 0) floor_ = range_.from / range_.to;
}

// Applies the scale to a share in [0, 1] of the range, or of one side of it if the map diverges.
double Shader::bent(double share) const noexcept {
  switch (scale_) {
    case Scale::linear:
      return share;
    case Scale::square_root:
      return std::sqrt(share);
    case Scale::log:
      return share <= floor_ ? 0 : 1 - std::log(share) / std::log(floor_);
  }
  return share;
}

double Shader::place(double number) const noexcept {
  if (diverging_) {
    const double middle = (range_.from + range_.to) / 2;
    const double side = std::clamp((number - middle) / (range_.to - middle), -1.0, 1.0);
    return 0.5 + std::copysign(bent(std::abs(side)) / 2, side);
  }
  if (scale_ == Scale::log) return bent(std::clamp(number / range_.to, 0.0, 1.0));
  return bent(std::clamp((number - range_.from) / (range_.to - range_.from), 0.0, 1.0));
}

std::uint8_t Shader::linear_step(double number) const noexcept {
  return base::whole<std::uint8_t>((number - range_.from) * steps_a_unit_);
}

std::uint8_t Shader::step(double number) const noexcept {
  if (scale_ == Scale::linear) return linear_step(number);
  return static_cast<std::uint8_t>(std::min(place(number) * 256, 255.0));
}

void Shader::steps(std::span<const float> numbers, std::uint8_t* out) const noexcept {
  if (scale_ == Scale::linear) {  // a separate loop, which the compiler vectorises
    for (std::size_t i = 0; i < numbers.size(); ++i) out[i] = linear_step(numbers[i]);
  } else {
    for (std::size_t i = 0; i < numbers.size(); ++i) out[i] = step(numbers[i]);
  }
}

bool Shader::cut_below() const noexcept {
  if (scale_ == Scale::log && !diverging_) return numbers_.from < range_.to * floor_;
  return numbers_.from < range_.from;
}

std::vector<Tick> Shader::ticks(int most) const {
  std::vector<double> values;
  if (scale_ == Scale::linear) {
    values = linear_ticks(range_, most);
  } else if (scale_ == Scale::log && !diverging_) {
    values = log_ticks({range_.to * floor_, range_.to}, most);
  } else {
    // Round numbers from the ends inwards, skipping those without room.
    const double middle = diverging_ ? (range_.from + range_.to) / 2 : range_.from;
    const double reach = range_.to - middle;
    const double room = 1.0 / std::max(most, 2);
    values.push_back(middle);
    double next = 1;
    std::vector<double> round = log_ticks({reach * 1e-4, reach}, 64);
    for (auto size = round.rbegin(); size != round.rend(); ++size) {
      const double at = place(middle + *size);
      if (next - at < room && next < 1) continue;
      if (at - place(middle) < room) break;
      values.push_back(middle + *size);
      if (diverging_) values.push_back(middle - *size);
      next = at;
    }
    std::ranges::sort(values);
  }
  const std::vector<std::string> texts = tick_texts(values);
  std::vector<Tick> ticks;
  for (std::size_t i = 0; i < values.size(); ++i) ticks.push_back({values[i], place(values[i]), texts[i]});
  return ticks;
}

std::string_view note_of(Scale scale) noexcept {
  switch (scale) {
    case Scale::linear:
      return "";
    case Scale::square_root:
      return "square-root scale";
    case Scale::log:
      return "log scale";
  }
  return "";
}

}  // namespace attn::figure
