// figure/colour/shade.h - maps numbers to colours, the same way in files and in the terminal.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "figure/colour/colour_map.h"
#include "figure/scene/figure.h"
#include "figure/scene/ticks.h"

namespace attn::figure {

// The smallest and the largest cell. Throws std::invalid_argument with the first cell that is not finite.
Range numbers_in(const nn::Matrix& cells);
Range united(const Range& a, const Range& b) noexcept;

// clang-format off
// Maps a number v to a place in [0, 1] on a colour map.
//   linear  (v - from) / (to - from)
//   sqrt    the square root of that
//   log     by powers of ten. A range that starts at 0 or below starts at to / 10^4 instead: 0 and smaller numbers get
//           the lowest colour.
// On a diverging map, sqrt and log apply outwards from the middle of the range, symmetrically.
// clang-format on
class Shader {
 public:
  // `numbers` is the range of the numbers in the picture, used unless the shade sets a range. Throws
  // std::invalid_argument for an unknown map, a range that is empty or not finite, and a log scale that ends at or
  // below 0.
  Shader(const Shade& shade, const Range& numbers);

  [[nodiscard]] const Range& range() const noexcept { return range_; }
  [[nodiscard]] double place(double number) const noexcept;       // in [0, 1], clamped
  [[nodiscard]] std::uint8_t step(double number) const noexcept;  // index into the map, 0 to 255
  void steps(std::span<const float> numbers, std::uint8_t* out) const noexcept;
  [[nodiscard]] const ColourMap& map() const noexcept { return *map_; }
  [[nodiscard]] const Colour& colour(double number) const noexcept { return (*map_)[step(number)]; }

  // Whether numbers of the picture lie beyond that end of the colour bar.
  [[nodiscard]] bool cut_below() const noexcept;
  [[nodiscard]] bool cut_above() const noexcept { return numbers_.to > range_.to; }

  // At most `most` ticks for the colour bar, lowest first.
  [[nodiscard]] std::vector<Tick> ticks(int most) const;

 private:
  [[nodiscard]] double bent(double share) const noexcept;
  [[nodiscard]] std::uint8_t linear_step(double number) const noexcept;

  const ColourMap* map_;
  Scale scale_;
  bool diverging_;
  Range range_, numbers_;
  double steps_a_unit_ = 0;
  double floor_ = 0;  // log scale: the map begins at this share of range_.to
};

// A note for the colour bar: "" (linear), "square-root scale" or "log scale".
std::string_view note_of(Scale scale) noexcept;

}  // namespace attn::figure
