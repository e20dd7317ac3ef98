#include "insight/io/table_text.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <stdexcept>

namespace attn::insight {

static_assert(std::endian::native == std::endian::little);

namespace {

// Quotes a field that contains a comma, a quotation mark or a line break.
std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

// 0.0001, 1e-05: with an exponent only for numbers that are hard to read without.
void append_number(std::string& to, float number) {
  std::array<char, 64> digits{};
  const float size = std::abs(number);
  const bool plain = size == 0 || (size >= 1e-4F && size < 1e16F);
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number,
                                 plain ? std::chars_format::fixed : std::chars_format::scientific);
  to.append(digits.data(), end.ptr);
}

}  // namespace

// The header ends with a newline and is padded to a multiple of 64 bytes, so that the numbers are aligned.
std::string npy_header(const std::vector<std::int64_t>& shape) {
  std::string sizes;
  for (const std::int64_t n : shape) sizes += std::to_string(n) + ", ";
  std::string text = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + sizes + "), }";
  constexpr std::size_t kBefore = 10;  // magic, version, length
  text.append(63 - (kBefore + text.size()) % 64, ' ');
  text += '\n';
  const auto length = static_cast<unsigned>(text.size());
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(length & 0xFF) + static_cast<char>(length >> 8) + text;
}

std::string_view bytes_of(const nn::Matrix& part) {
  return {reinterpret_cast<const char*>(part.data()),
          static_cast<std::size_t>(part.rows() * part.columns()) * sizeof(float)};
}

std::string csv_header(std::span<const text::Token> columns) {
  std::string out;
  for (const text::Token& token : columns) out += "," + csv_field(token.text);
  return out + "\n";
}

std::string csv_rows(const nn::Matrix& part, std::span<const text::Token> rows) {
  std::string out;
  for (std::int64_t i = 0; i < part.rows(); ++i) {
    out += csv_field(rows[static_cast<std::size_t>(i)].text);
    for (std::int64_t j = 0; j < part.columns(); ++j) {
      out += ',';
      append_number(out, part.row(i)[j]);
    }
    out += "\n";
  }
  return out;
}

void check_numbers(const nn::Matrix& part, const HeadId& head) {
  if (std::all_of(part.data(), part.data() + part.rows() * part.columns(), [](float x) { return std::isfinite(x); }))
    return;
  throw std::runtime_error("weights of " + to_string(head) + " are not numbers: the model's own weights are broken");
}

void each_strip(const AttentionTables& tables, const HeadId& head, ThreadPool& pool, const TakeRows& take) {
  constexpr std::int64_t kFloats = std::int64_t{4} << 20;
  const AttentionStack& all = tables.stack(head.kind);
  const std::int64_t step = std::clamp<std::int64_t>(kFloats / all.keys, 1, all.queries);
  for (std::int64_t row = 0; row < all.queries; row += step) {
    nn::Matrix part(std::min(step, all.queries - row), all.keys);
    tables.weights(head, {row, 0}, part.view(), pool);
    check_numbers(part, head);
    take(row, part);
  }
}

void write_table(const AttentionTables& tables, const HeadId& head, TableFormat format, ThreadPool& pool,
                 const std::function<void(std::string_view)>& write) {
  tables.check(head);
  const AttentionStack& all = tables.stack(head.kind);
  const bool npy = format == TableFormat::npy;
  write(npy ? npy_header({all.queries, all.keys}) : csv_header(tables.keys(head.kind)));
  each_strip(tables, head, pool, [&](std::int64_t row, const nn::Matrix& part) {
    npy ? write(bytes_of(part))
        : write(csv_rows(part, std::span(tables.queries(head.kind)).subspan(static_cast<std::size_t>(row))));
  });
}

}  // namespace attn::insight
