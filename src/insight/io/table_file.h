// insight/io/table_file.h - reads tables of weights that other programs wrote.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "insight/tables/attention_tables.h"

namespace attn::insight {

struct TableFile {
  InMemoryTables::Tables tables;
  std::vector<std::string> queries, keys;  // empty if the file does not name them
};

// Reads a table in a format chosen by the file's extension; throws attn::Error.
//   - .npy: float16, float32, float64 or integers, [N, M], [H, N, M] or [L, H, N, M], in C or Fortran order.
//   - .csv: one table; a first row or first column that is not numeric holds names.
//   - .json: nested lists of the same shapes, or an object as `attnscope weights --json` writes it.
TableFile read_table(const std::filesystem::path& file);

}  // namespace attn::insight
