// insight/io/table_npy.cc - reads NumPy's .npy files, versions 1 to 3 (described in numpy.lib.format).
#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <string_view>

#include "attn/error.h"
#include "attn/view.h"
#include "base/one_line.h"
#include "insight/io/table_formats.h"
#include "model/files/safetensors.h"

namespace attn::insight {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

template <typename T>
float number_at(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  if constexpr (std::is_same_v<T, Half>) {
    return to_float(value);
  } else {
    return static_cast<float>(value);
  }
}

// A dtype without its byte order: single bytes have none, all others must be little-endian.
struct Element {
  std::string_view name;
  std::int64_t bytes;
  float (*read)(const char*);
};
constexpr std::array kElements = {
    Element{"f4", 4, number_at<float>},         Element{"f8", 8, number_at<double>},
    Element{"f2", 2, number_at<Half>},          Element{"i8", 8, number_at<std::int64_t>},
    Element{"i4", 4, number_at<std::int32_t>},  Element{"i2", 2, number_at<std::int16_t>},
    Element{"i1", 1, number_at<std::int8_t>},   Element{"u8", 8, number_at<std::uint64_t>},
    Element{"u4", 4, number_at<std::uint32_t>}, Element{"u2", 2, number_at<std::uint16_t>},
    Element{"u1", 1, number_at<std::uint8_t>},  Element{"b1", 1, number_at<std::uint8_t>},
};

// The header: a Python dictionary {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } with these three keys.
struct Header {
  std::string descr;
  bool columns_first = false;
  std::vector<std::int64_t> shape;
};

class NpyHeaderParser {
 public:
  NpyHeaderParser(std::string_view text, std::int64_t offset, const std::string& path)
      : text_(text), offset_(offset), path_(path) {}

  Header parse() {
    Header header;
    need('{');
    unsigned seen = 0;
    while (!take('}')) {
      const std::string key = quoted();
      need(':');
      if (key == "descr") {
        header.descr = quoted(), seen |= 1U;
      } else if (key == "fortran_order") {
        header.columns_first = boolean(), seen |= 2U;
      } else if (key == "shape") {
        header.shape = tuple(), seen |= 4U;
      } else {
        fail("the header has a key " + base::in_quotes(key) + "; descr, fortran_order and shape are known");
      }
      if (!take(',')) {
        need('}');
        break;
      }
    }
    skip_spaces();
    if (at_ != text_.size()) fail("the header continues after its '}'");
    if (seen != 7U) fail("the header needs descr, fortran_order and shape");
    return header;
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(path_, problem, offset_ + static_cast<std::int64_t>(at_));
  }
  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool take(char c) {
    skip_spaces();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void need(char c) {
    if (!take(c)) fail(std::string("the header should have '") + c + "' here");
  }
  std::string quoted() {
    skip_spaces();
    const char mark = at_ < text_.size() ? text_[at_] : '\0';
    const std::size_t end = mark == '\'' || mark == '"' ? text_.find(mark, at_ + 1) : std::string_view::npos;
    if (end == std::string_view::npos) fail("a quoted string is needed here (structured arrays are not supported)");
    std::string text(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return text;
  }
  bool boolean() {
    skip_spaces();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      return value;
    }
    fail("True or False is needed here");
  }
  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> numbers;
    need('(');
    while (!take(')')) {
      skip_spaces();
      std::int64_t value = -1;
      const auto [stop, problem] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
      if (problem != std::errc() || value < 0) fail("a size is needed here: a whole number, 0 or more");
      at_ = static_cast<std::size_t>(stop - text_.data());
      numbers.push_back(value);
      if (!take(',')) {
        need(')');
        break;
      }
    }
    return numbers;
  }

  std::string_view text_;
  std::int64_t offset_;  // of text_ in the file
  const std::string& path_;
  std::size_t at_ = 0;
};

// The header's text; sets `begin` to the byte where it starts.
std::string_view header_text(std::string_view file, const std::string& path, std::size_t& begin) {
  if (!file.starts_with(kMagic) || file.size() < kMagic.size() + 4)
    throw Error(path, "is not a .npy file: it does not start like one", 0);
  const int version = static_cast<unsigned char>(file[kMagic.size()]);
  if (version < 1 || version > 3)
    throw Error(path, ".npy version " + std::to_string(version) + " is not supported; 1 to 3 are", kMagic.size());
  const std::size_t width = version == 1 ? 2 : 4;
  begin = kMagic.size() + 2 + width;
  std::size_t length = 0;
  for (std::size_t i = 0; i < width && begin <= file.size(); ++i)
    length |= static_cast<std::size_t>(static_cast<unsigned char>(file[begin - width + i])) << (8 * i);
  if (begin > file.size() || length > file.size() - begin)
    throw Error(path,
                "the header has " + std::to_string(length) + " bytes, but only " +
                    std::to_string(file.size() - std::min(begin, file.size())) + " follow; was the file cut short?",
                static_cast<std::int64_t>(kMagic.size()) + 2);
  return file.substr(begin, length);
}

const Element& element_of(const std::string& descr, const std::string& path) {
  const bool known_order = !descr.empty() && (descr[0] == '<' || descr[0] == '|' || descr[0] == '=');
  const auto* const found =
      std::ranges::find(kElements, std::string_view(descr).substr(descr.empty() ? 0 : 1), &Element::name);
  if (!known_order || found == kElements.end())
    throw Error(path, "holds elements of type " + base::in_quotes(descr) +
                          "; supported are little-endian floats of 16, 32 or 64 bits, integers and booleans");
  return *found;
}

// The Fortran-order index of the element that has index `index` in C order.
std::int64_t columns_first_place(std::int64_t index, std::span<const std::int64_t> shape) {
  std::int64_t place = 0;
  std::int64_t rest = 1;
  for (const std::int64_t n : shape) rest *= n;
  std::int64_t stride = 1;
  for (const std::int64_t n : shape) {
    rest /= n;
    place += index / rest % n * stride;
    stride *= n;
  }
  return place;
}

}  // namespace

TableFile read_npy(const std::string& text, const std::string& path) {
  std::size_t begin = 0;
  const std::string_view words = header_text(text, path, begin);
  const Header header = NpyHeaderParser(words, static_cast<std::int64_t>(begin), path).parse();
  const Element& element = element_of(header.descr, path);
  const auto data = std::string_view(text).substr(begin + words.size());
  std::int64_t needed = element.bytes;
  bool countable = true;
  for (const std::int64_t n : header.shape) countable = countable && !__builtin_mul_overflow(needed, n, &needed);
  if (!countable || needed != std::ssize(data))
    throw Error(path,
                "its header says " + model::shape_text(header.shape) + " of '" + header.descr + "', " +
                    (countable ? std::to_string(needed) + " bytes" : "more than can be counted") + "; " +
                    std::to_string(data.size()) + " follow",
                static_cast<std::int64_t>(begin + words.size()));
  TableFile file;
  file.tables = tables_of(header.shape, path);
  float* const numbers = file.tables.numbers.data();
  const std::int64_t count = needed / element.bytes;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t place = header.columns_first ? columns_first_place(i, header.shape) : i;
    numbers[i] = element.read(data.data() + place * element.bytes);
  }
  check_finite(file.tables, header.shape, path);
  return file;
}

}  // namespace attn::insight
