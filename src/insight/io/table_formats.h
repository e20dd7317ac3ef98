// insight/io/table_formats.h - one reader per format, for table_file.cc.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "insight/io/table_file.h"

namespace attn::insight {

// `text` is the whole file. All throw attn::Error.
TableFile read_npy(const std::string& text, const std::string& path);
TableFile read_csv(const std::string& text, const std::string& path);
TableFile read_json(const std::string& text, const std::string& path);

// Tables of shape [N, M], [H, N, M] or [L, H, N, M], no axis 0; the numbers are uninitialised.
InMemoryTables::Tables tables_of(std::span<const std::int64_t> shape, const std::string& path);
// "layer 0, head 1, row 2, column 3": the place of number `index` in a table of this shape, with one word per axis.
std::string place_of(std::int64_t index, std::span<const std::int64_t> shape);
// Throws attn::Error that names the first number that is NaN or infinite.
void check_finite(const InMemoryTables::Tables& tables, std::span<const std::int64_t> shape, const std::string& path);

}  // namespace attn::insight
