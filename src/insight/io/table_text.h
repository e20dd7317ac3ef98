// insight/io/table_text.h - a head's table as the bytes of a file, some rows at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/thread_pool.h"
#include "insight/tables/attention_tables.h"
#include "nn/infer/matrix.h"
#include "text/tokenizer/tokenizer.h"

namespace attn::insight {

// numpy's own format, version 1.0: float32, little-endian, row by row behind this header.
std::string npy_header(const std::vector<std::int64_t>& shape);
std::string_view bytes_of(const nn::Matrix& part);

// RFC 4180, with the tokens as first row and first column; numbers as short as a float allows.
std::string csv_header(std::span<const text::Token> columns);
std::string csv_rows(const nn::Matrix& part, std::span<const text::Token> rows);

// Rebuilds a table some rows at a time, 16 MB at most, and hands them on with the number of the first: a long text's
// table is never there as a whole. Throws std::runtime_error where a weight is not a number.
using TakeRows = std::function<void(std::int64_t first, const nn::Matrix& part)>;
void each_strip(const AttentionTables& tables, const HeadId& head, ThreadPool& pool, const TakeRows& take);
// Weights that are not numbers come from a model that is broken; nobody should draw them: std::runtime_error.
void check_numbers(const nn::Matrix& part, const HeadId& head);

// The whole file of one head, part after part.
enum class TableFormat : std::uint8_t { csv, npy };
void write_table(const AttentionTables& tables, const HeadId& head, TableFormat format, ThreadPool& pool,
                 const std::function<void(std::string_view)>& write);

}  // namespace attn::insight
