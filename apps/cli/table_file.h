// cli/table_file.h - tables of weights as files: written beside and moved into place.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/file_io.h"
#include "nn/matrix.h"
#include "text/tokenizer.h"

namespace attn::cli {

// numpy's own format, version 1.0: float32, little-endian, row by row.
class NpyFile {
 public:
  NpyFile(const std::string& file, const std::vector<std::int64_t>& shape);  // throws attn::Error, as the others do
  void write(const nn::Matrix& part);                                        // parts in order
  void commit();  // throws Interrupted after Ctrl-C: nothing is left then

 private:
  model::NewFile file_;
};

// RFC 4180, with the tokens as first row and first column.
std::string to_csv(const nn::Matrix& table, const std::vector<text::Token>& rows,
                   const std::vector<text::Token>& columns);

void write_text(const std::string& file, const std::string& text);

}  // namespace attn::cli
