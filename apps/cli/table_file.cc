// cli/table_file.cc
#include "table_file.h"

#include <fmt/format.h>

#include <bit>
#include <string_view>

#include "command.h"

namespace attn::cli {

namespace {

// The header ends with a new line and fills up to a multiple of 64 bytes, so that the numbers are aligned.
std::string npy_header(const std::vector<std::int64_t>& shape) {
  std::string sizes;
  for (const std::int64_t n : shape) sizes += std::to_string(n) + ", ";
  std::string text = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}), }}", sizes);
  constexpr std::size_t kBefore = 10;  // magic, version, length
  text.append(63 - (kBefore + text.size()) % 64, ' ');
  text += '\n';
  const auto length = static_cast<unsigned>(text.size());
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(length & 0xFF) + static_cast<char>(length >> 8) + text;
}

// Quoted where a comma, a quotation mark or the end of a line would be misread.
std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

static_assert(std::endian::native == std::endian::little);

NpyFile::NpyFile(const std::string& file, const std::vector<std::int64_t>& shape)
    : file_((watch_for_interrupt(), file)) {
  const std::string header = npy_header(shape);
  file_.write(header.data(), header.size());
}

void NpyFile::write(const nn::Matrix& part) {
  if (interrupted()) throw Interrupted();
  file_.write(part.data(), static_cast<std::size_t>(part.rows() * part.columns()) * sizeof(float));
}

void NpyFile::commit() {
  if (interrupted()) throw Interrupted();
  file_.commit();
}

std::string to_csv(const nn::Matrix& table, const std::vector<text::Token>& rows,
                   const std::vector<text::Token>& columns) {
  std::string out;
  for (const text::Token& token : columns) out += "," + csv_field(token.text);
  out += "\n";
  for (std::int64_t i = 0; i < table.rows(); ++i) {
    out += csv_field(rows[static_cast<std::size_t>(i)].text);
    for (std::int64_t j = 0; j < table.columns(); ++j) out += fmt::format(",{}", table.row(i)[j]);
    out += "\n";
  }
  return out;
}

void write_text(const std::string& file, const std::string& text) {
  watch_for_interrupt();
  model::NewFile out(file);
  out.write(text.data(), text.size());
  if (interrupted()) throw Interrupted();
  out.commit();
}

}  // namespace attn::cli
