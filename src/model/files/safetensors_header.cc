#include "model/files/safetensors_header.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "attn/error.h"
#include "base/one_line.h"

namespace attn::model {

namespace {

using nlohmann::json;

constexpr std::size_t kMostAxes = 64;

// Iterates over the text and exposes its position, which the parser does not report.
class HeaderCursor {
 public:
  // NOLINTBEGIN(readability-identifier-naming): std::iterator_traits requires these names
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;
  // NOLINTEND(readability-identifier-naming)

  HeaderCursor(const char* at, const char** shown) : at_(at), shown_(shown) {}
  reference operator*() const { return *at_; }
  HeaderCursor& operator++() {
    *shown_ = ++at_;
    return *this;
  }
  bool operator==(const HeaderCursor& o) const { return at_ == o.at_; }

 private:
  const char* at_;
  const char** shown_;
};

std::string known_dtypes() {
  std::string all;
  for (int d = 0; parse_dtype(name_of(static_cast<Dtype>(d))); ++d)
    all += (d == 0 ? "" : ", ") + std::string(name_of(static_cast<Dtype>(d)));
  return all;
}

class SafetensorsHeaderParser final : public nlohmann::json_sax<json> {
 public:
  SafetensorsHeaderParser(std::string_view text, const HeaderPlace& place)
      : text_(text), place_(place), at_(text.data()) {}

  SafeTensorsHeader run() {
    const HeaderCursor first(text_.data(), &at_);
    const char* beyond = nullptr;
    const HeaderCursor last(text_.data() + text_.size(), &beyond);
    json::sax_parse(first, last, this);
    if (at_ != text_.data() + text_.size()) fail("a zero byte in the header");  // the parser stops there
    return std::move(header_);
  }

  bool null() override { return wrong("null"); }
  bool boolean(bool) override { return wrong("true or false"); }
  bool number_integer(number_integer_t n) override { return wrong("the negative number " + std::to_string(n)); }
  bool number_float(number_float_t, const string_t& n) override { return wrong("the number " + base::one_line(n)); }
  bool number_unsigned(number_unsigned_t n) override;
  bool string(string_t& s) override;
  bool binary(binary_t&) override { return wrong("binary data"); }
  bool start_object(std::size_t) override;
  bool key(string_t& k) override;
  bool end_object() override;
  bool start_array(std::size_t) override;
  bool end_array() override;
  bool parse_error(std::size_t position, const std::string&, const json::exception& e) override;

 private:
  enum class In : std::uint8_t { nothing, header, metadata, entry, shape, offsets };

  // Throws attn::Error with the offset of the last byte that was read.
  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(place_.path, problem, kLengthBytes + std::max<std::int64_t>(at_ - text_.data() - 1, 0));
  }
  [[nodiscard]] std::string tensor() const { return "tensor " + base::in_quotes(name_); }
  bool wrong(const std::string& found) const;
  void finish_entry();

  std::string_view text_;
  const HeaderPlace& place_;
  const char* at_;  // one past the last character that the parser has read
  SafeTensorsHeader header_;
  In in_ = In::nothing;
  bool saw_metadata_ = false;

  std::string name_;   // of the tensor, or of the metadata
  std::string field_;  // of its entry
  std::optional<Dtype> dtype_;
  std::optional<std::vector<std::int64_t>> shape_, offsets_;
  std::vector<std::int64_t>* list_ = nullptr;  // the list that is being read
};

// Throws: `found` is not what the header needs at this place.
bool SafetensorsHeaderParser::wrong(const std::string& found) const {
  switch (in_) {
    case In::nothing:
      fail("the header is " + found + "; an object is needed");
    case In::header:
      fail((name_ == "__metadata__" ? name_ : tensor()) + " is " + found + "; an object is needed");
    case In::metadata:
      fail("__metadata__ " + base::in_quotes(name_) + " is " + found + "; a string is needed");
    case In::entry:
      fail(tensor() + ": " + field_ + " is " + found + "; " +
           (field_ == "dtype" ? "a string is needed" : "a list of integers is needed"));
    case In::shape:
    case In::offsets:
      break;
  }
  fail(tensor() + ": " + field_ + " contains " + found + "; integers from 0 to " +
       std::to_string(std::numeric_limits<std::int64_t>::max()) + " are needed");
}

bool SafetensorsHeaderParser::number_unsigned(number_unsigned_t n) {
  if ((in_ != In::shape && in_ != In::offsets) ||
      n > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    return wrong("the number " + std::to_string(n));
  const std::size_t most = in_ == In::shape ? kMostAxes : 2;
  if (list_->size() == most) fail(tensor() + ": " + field_ + " has more than " + std::to_string(most) + " numbers");
  list_->push_back(static_cast<std::int64_t>(n));
  return true;
}

bool SafetensorsHeaderParser::string(string_t& s) {
  if (in_ == In::metadata) {
    header_.metadata.at(name_) = std::move(s);
  } else if (in_ == In::entry && field_ == "dtype") {
    dtype_ = parse_dtype(s);
    if (!dtype_) fail(tensor() + ": unknown dtype " + base::in_quotes(s) + "; known: " + known_dtypes());
  } else {
    return wrong("the string " + base::in_quotes(s));
  }
  return true;
}

bool SafetensorsHeaderParser::start_object(std::size_t) {
  if (in_ == In::nothing) {
    in_ = In::header;
  } else if (in_ == In::header) {
    in_ = name_ == "__metadata__" ? In::metadata : In::entry;
    dtype_.reset();
    shape_.reset();
    offsets_.reset();
  } else {
    return wrong("an object");
  }
  return true;
}

bool SafetensorsHeaderParser::key(string_t& k) {
  if (in_ == In::entry) {
    field_ = std::move(k);
    if (field_ != "dtype" && field_ != "shape" && field_ != "data_offsets")
      fail(tensor() + ": unknown field " + base::in_quotes(field_) + "; known: dtype, shape, data_offsets");
    if (field_ == "dtype" ? dtype_.has_value() : field_ == "shape" ? shape_.has_value() : offsets_.has_value())
      fail(tensor() + ": " + field_ + " appears twice");
    return true;
  }
  name_ = std::move(k);
  if (in_ == In::metadata) {
    if (!header_.metadata.try_emplace(name_).second) fail("__metadata__ " + base::in_quotes(name_) + " appears twice");
  } else if (name_ == "__metadata__") {
    if (std::exchange(saw_metadata_, true)) fail("__metadata__ appears twice");
  } else if (!header_.tensors.try_emplace(name_).second) {
    fail(tensor() + " appears twice");
  }
  return true;
}

bool SafetensorsHeaderParser::end_object() {
  if (in_ == In::entry) finish_entry();
  in_ = in_ == In::header ? In::nothing : In::header;
  return true;
}

bool SafetensorsHeaderParser::start_array(std::size_t) {
  if (in_ != In::entry || field_ == "dtype") return wrong("a list");
  in_ = field_ == "shape" ? In::shape : In::offsets;
  list_ = &(in_ == In::shape ? shape_ : offsets_).emplace();
  return true;
}

bool SafetensorsHeaderParser::end_array() {
  in_ = In::entry;
  return true;
}

void SafetensorsHeaderParser::finish_entry() {
  if (!dtype_) fail(tensor() + " has no dtype");
  if (!shape_) fail(tensor() + " has no shape");
  if (!offsets_) fail(tensor() + " has no data_offsets");
  if (offsets_->size() != 2)
    fail(tensor() + ": data_offsets has " + std::to_string(offsets_->size()) + " numbers; begin and end are needed");
  const std::int64_t begin = (*offsets_)[0];
  const std::int64_t end = (*offsets_)[1];
  if (begin > end)
    fail(tensor() + " begins at " + std::to_string(begin) + " and ends before it, at " + std::to_string(end));
  const std::optional<std::int64_t> bytes = stored_bytes(*dtype_, *shape_);
  if (!bytes) fail(tensor() + " has a shape whose size in bytes overflows 64 bits");
  if (*bytes != end - begin)
    fail(tensor() + " has " + std::to_string(end - begin) + " bytes; its shape and dtype need " +
         std::to_string(*bytes));
  if (const std::int64_t all = place_.file_bytes - place_.data_begin; end > all)
    fail(tensor() + " ends at byte " + std::to_string(end) + " of the data, but the file has " + std::to_string(all) +
         " bytes of data; it is probably truncated");
  header_.tensors.at(name_) = {*dtype_, *std::move(shape_), nullptr, *bytes, place_.data_begin + begin};
}

bool SafetensorsHeaderParser::parse_error(std::size_t position, const std::string&, const json::exception& e) {
  std::string_view words = e.what();
  words.remove_prefix(std::min(words.find("] ") + 2, words.size()));
  if (words.starts_with("parse error")) words.remove_prefix(std::min(words.find(": ") + 2, words.size()));
  throw Error(place_.path, "the header is not JSON: " + base::one_line(words),
              kLengthBytes + std::max<std::int64_t>(static_cast<std::int64_t>(position) - 1, 0));
}

}  // namespace

std::optional<std::int64_t> stored_bytes(Dtype dtype, const std::vector<std::int64_t>& shape) noexcept {
  std::int64_t bytes = size_of(dtype);
  bool none = false;
  for (const std::int64_t n : shape) {
    none = none || n == 0;
    if (n < 0 || (n > 0 && __builtin_mul_overflow(bytes, n, &bytes))) return std::nullopt;
  }
  return none ? 0 : bytes;
}

SafeTensorsHeader read_safetensors_header(std::string_view text, const HeaderPlace& place) {
  return SafetensorsHeaderParser(text, place).run();
}

}  // namespace attn::model
