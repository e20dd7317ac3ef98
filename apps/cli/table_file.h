// cli/table_file.h - tables of weights as files.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/file_io.h"
#include "nn/matrix.h"
#include "text/tokenizer.h"

namespace attn::cli {

// Whether a file's name stands for standard output: none at all, or "-".
bool to_stdout(const std::string& file);

// A file that is written beside and moved into place, or standard output. Throws attn::Error where it cannot be
// written, and Interrupted after Ctrl-C: nothing is left then.
class OutputFile {
 public:
  explicit OutputFile(const std::string& file);
  void write(std::string_view bytes);
  void commit();

 private:
  std::optional<model::NewFile> file_;  // none: standard output
};

// numpy's own format, version 1.0: float32, little-endian, row by row behind this header.
std::string npy_header(const std::vector<std::int64_t>& shape);
std::string_view bytes_of(const nn::Matrix& part);

// RFC 4180, with the tokens as first row and first column.
std::string csv_header(std::span<const text::Token> columns);
std::string csv_rows(const nn::Matrix& part, std::span<const text::Token> rows);

}  // namespace attn::cli
