#include "figure/scene/ticks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string_view>

#include "engine/runtime/number_text.h"

namespace attn::figure {

namespace {

constexpr std::array<double, 3> kRound = {1, 2, 5};

// Absorbs rounding errors: 3 * 0.1 still counts as 0.3.
constexpr double kSlack = 1e-9;

std::string with_digits(double value, int digits) {
  const std::string text = number_text(std::abs(value), std::chars_format::fixed, digits);
  const bool is_zero = text.find_first_not_of("0.") == std::string::npos;
  return (value < 0 && !is_zero ? "\u2212" : "") + text;
}

std::string raised(int power) {
  constexpr std::array<const char*, 10> kDigits = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string out = power < 0 ? "⁻" : "";
  for (const char digit : std::to_string(std::abs(power))) out += kDigits[static_cast<std::size_t>(digit - '0')];
  return out;
}

// The decimal exponent of a number that is rounded to `digits` digits after the first.
int power_of(double value, int digits) {
  const std::string text = number_text(std::abs(value), std::chars_format::scientific, digits);
  return std::atoi(text.c_str() + text.find('e') + 1);
}

std::string as_power(double value, int digits) {
  if (value == 0) return "0";
  const int power = power_of(value, digits);
  std::string mantissa = with_digits(value / std::pow(10.0, power), digits);
  if (mantissa.find('.') != std::string::npos) {
    while (mantissa.back() == '0') mantissa.pop_back();
    if (mantissa.back() == '.') mantissa.pop_back();
  }
  std::string ten = "10" + raised(power);
  if (mantissa == "1") return ten;
  if (mantissa == "\u22121") return "\u2212" + ten;
  return mantissa + "×" + ten;
}

double round_step(double least) {
  const double ten = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : kRound)
    if (factor * ten >= least * (1 - kSlack)) return factor * ten;
  return 10 * ten;
}

}  // namespace

std::vector<double> linear_ticks(const Range& range, int most) {
  const double span = range.to - range.from;
  if (!(span > 0)) return {range.from};
  double step = round_step(span / std::max(most, 2));
  const auto ticks_of = [&](double by) {
    std::vector<double> ticks;
    const double slack = span * kSlack;
    for (double i = std::ceil((range.from - slack) / by); i * by <= range.to + slack; ++i) ticks.push_back(i * by);
    return ticks;
  };
  std::vector<double> ticks = ticks_of(step);
  while (std::ssize(ticks) > std::max(most, 2)) {
    step = round_step(step * 1.5);
    ticks = ticks_of(step);
  }
  return ticks;
}

std::vector<double> log_ticks(const Range& range, int most) {
  const int first = static_cast<int>(std::floor(std::log10(range.from) + kSlack));
  const int last = static_cast<int>(std::ceil(std::log10(range.to) - kSlack));
  const auto ticks_of = [&](std::size_t factors, int every) {
    std::vector<double> ticks;
    for (int power = first; power <= last; ++power) {
      if (power % every != 0) continue;
      for (std::size_t f = 0; f < factors; ++f) {
        const double tick = kRound[f] * std::pow(10.0, power);
        if (tick >= range.from * (1 - kSlack) && tick <= range.to * (1 + kSlack)) ticks.push_back(tick);
      }
    }
    return ticks;
  };
  std::vector<double> ticks = ticks_of(kRound.size(), 1);
  if (std::ssize(ticks) < 2) return linear_ticks(range, most);
  for (int every = 1; std::ssize(ticks) > std::max(most, 2); ++every) ticks = ticks_of(1, every);
  return ticks;
}

std::vector<std::string> tick_texts(std::span<const double> ticks) {
  double largest = 0, narrowest = std::numeric_limits<double>::infinity(), widest = 0;
  for (std::size_t i = 0; i < ticks.size(); ++i) {
    largest = std::max(largest, std::abs(ticks[i]));
    if (i == 0) continue;
    narrowest = std::min(narrowest, ticks[i] - ticks[i - 1]);
    widest = std::max(widest, ticks[i] - ticks[i - 1]);
  }
  const bool even = ticks.size() > 1 && widest < 1.01 * narrowest;
  const bool extreme = largest >= 1e6 || (even && narrowest < 1e-4);
  std::vector<std::string> texts;
  for (const double tick : ticks) {
    if (extreme) {
      texts.push_back(as_power(tick, 3));
    } else if (even) {
      texts.push_back(with_digits(tick, std::max(0, -static_cast<int>(std::floor(std::log10(narrowest) + kSlack)))));
    } else {
      texts.push_back(short_text(tick));
    }
  }
  return texts;
}

std::string cell_text(double value) {
  const double size = std::abs(value);
  if (size >= 1e5) return as_power(value, 1);
  return with_digits(value, size < 9.9995 ? 3 : size < 99.95 ? 1 : 0);
}

std::string short_text(double value) {
  if (value == 0) return "0";
  if (!std::isfinite(value)) return std::isnan(value) ? "nan" : value < 0 ? "\u2212inf" : "inf";
  const int power = power_of(value, 2);
  if (power < -4 || power >= 6) return as_power(value, 2);
  std::string text = with_digits(value, std::max(0, 2 - power));
  if (text.find('.') != std::string::npos) {
    while (text.back() == '0') text.pop_back();
    if (text.back() == '.') text.pop_back();
  }
  return text;
}

}  // namespace attn::figure
