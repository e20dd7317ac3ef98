// insight/io/table_file.h - tables of weights from files that somebody else wrote.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "insight/tables/attention_tables.h"

namespace attn::insight {

struct TableFile {
  InMemoryTables::Tables tables;
  std::vector<std::string> queries, keys;  // where the file names them
};

// .npy: float16, float32, float64 or integers, [N, M], [H, N, M] or [L, H, N, M], in either order of memory. .csv: one
// table; a first row and a first column of names are known by not being numbers. .json: nested lists of the same
// shapes, or an object as `attnscope weights --json` writes it. Throws attn::Error.
TableFile read_table(const std::filesystem::path& file);

}  // namespace attn::insight
