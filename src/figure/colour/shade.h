// figure/colour/shade.h - numbers as places in a colour map: the same in a file and in the terminal.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "figure/colour/colour_map.h"
#include "figure/scene/figure.h"
#include "figure/scene/ticks.h"

namespace attn::figure {

// The smallest and the largest of some numbers; throws std::invalid_argument for one that is not finite.
Range numbers_in(const nn::Matrix& cells);
Range united(const Range& a, const Range& b) noexcept;

// Where on a colour map a number stands.
//   linear  (v - from) / (to - from)
//   sqrt    the root of that
//   log     by powers of ten. A range that starts at 0 or below starts at to / 10^4 instead: smaller numbers, and 0,
//   get
//           the lowest colour.
// On a diverging map root and logarithm go outwards from the middle of the range, to both sides alike.
class Shader {
 public:
  // `numbers` are those in the picture: they make the range where the shade gives none. Throws std::invalid_argument
  // for an unknown map, a range that is empty or not finite, and a logarithm of a range that ends at or below 0.
  Shader(const Shade& shade, const Range& numbers);

  [[nodiscard]] const Range& range() const noexcept { return range_; }
  [[nodiscard]] double place(double number) const noexcept;       // 0 to 1; what is out of the range is at its end
  [[nodiscard]] std::uint8_t step(double number) const noexcept;  // of the 256 of the map
  void steps(std::span<const float> numbers, std::uint8_t* out) const noexcept;
  [[nodiscard]] const ColourMap& map() const noexcept { return *map_; }
  [[nodiscard]] const Colour& colour(double number) const noexcept { return (*map_)[step(number)]; }

  // Whether numbers of the picture lie beyond that end of the bar.
  [[nodiscard]] bool cut_below() const noexcept;
  [[nodiscard]] bool cut_above() const noexcept { return numbers_.to > range_.to; }

  // For the colour bar, lowest first.
  [[nodiscard]] std::vector<Tick> ticks(int most) const;

 private:
  [[nodiscard]] double bent(double share) const noexcept;
  [[nodiscard]] std::uint8_t linear_step(double number) const noexcept;

  const ColourMap* map_;
  Scale scale_;
  bool diverging_;
  Range range_, numbers_;
  double steps_a_unit_ = 0;
  double floor_ = 0;  // log: the share of the range's end at which the map begins
};

// "", "square-root scale", "log scale": what must be said where it is not linear.
std::string_view note_of(Scale scale) noexcept;

}  // namespace attn::figure
