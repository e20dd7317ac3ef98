// cli/table_file.cc
#include "table_file.h"

#include <fmt/format.h>

#include <bit>
#include <string_view>

#include "command.h"

namespace attn::cli {

static_assert(std::endian::native == std::endian::little);

bool to_stdout(const std::string& file) { return file.empty() || file == "-"; }

OutputFile::OutputFile(const std::string& file) {
  watch_for_interrupt();
  if (!to_stdout(file)) file_.emplace(file);
}

void OutputFile::write(std::string_view bytes) {
  if (interrupted()) throw Interrupted();
  if (!file_) return print(bytes);
  file_->write(bytes.data(), bytes.size());
}

void OutputFile::commit() {
  if (interrupted()) throw Interrupted();
  if (file_) file_->commit();
}

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

std::string_view bytes_of(const nn::Matrix& part) {
  return {reinterpret_cast<const char*>(part.data()),
          static_cast<std::size_t>(part.rows() * part.columns()) * sizeof(float)};
}

namespace {

// Quoted where a comma, a quotation mark or the end of a line would be misread.
std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

std::string csv_header(std::span<const text::Token> columns) {
  std::string out;
  for (const text::Token& token : columns) out += "," + csv_field(token.text);
  return out + "\n";
}

std::string csv_rows(const nn::Matrix& part, std::span<const text::Token> rows) {
  std::string out;
  for (std::int64_t i = 0; i < part.rows(); ++i) {
    out += csv_field(rows[static_cast<std::size_t>(i)].text);
    for (std::int64_t j = 0; j < part.columns(); ++j) out += fmt::format(",{}", part.row(i)[j]);
    out += "\n";
  }
  return out;
}

}  // namespace attn::cli
