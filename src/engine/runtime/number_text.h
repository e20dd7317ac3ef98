// engine/runtime/number_text.h - numbers as text with a point, whatever the locale of the program says. printf,
// std::to_string and their relatives write a comma if a program, such as a Python session, has chosen such a locale.
#pragma once

#include <array>
#include <charconv>
#include <concepts>
#include <string>

namespace attn {

// As few digits as give the same number when read.
template <std::floating_point T>
std::string number_text(T value) {
  std::array<char, 64> text;
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

// As printf writes it with "%.*f" (fixed), "%.*e" (scientific) or "%.*g" (general).
inline std::string number_text(double value, std::chars_format format, int digits) {
  std::array<char, 512> text;  // fixed: up to 309 digits before the point
  const auto [end, problem] = std::to_chars(text.data(), text.data() + text.size(), value, format, digits);
  return problem == std::errc() ? std::string(text.data(), end) : number_text(value);
}

}  // namespace attn
