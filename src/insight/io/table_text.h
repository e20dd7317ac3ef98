// insight/io/table_text.h - writes a head's table as .csv or .npy, some rows at a time.
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

// NumPy's .npy format, version 1.0: float32, little-endian, row by row after this header.
std::string npy_header(const std::vector<std::int64_t>& shape);
std::string_view bytes_of(const nn::Matrix& part);

// RFC 4180, with the tokens as first row and first column; numbers with as few digits as a float needs.
std::string csv_header(std::span<const text::Token> columns);
std::string csv_rows(const nn::Matrix& part, std::span<const text::Token> rows);

// Rebuilds a table in strips of rows, 16 MB at most, and calls `take` with each strip and the index of its first row,
// so that the table of a long text is never in memory as a whole. Throws std::runtime_error if a weight is not a
// number.
using TakeRows = std::function<void(std::int64_t first, const nn::Matrix& part)>;
void each_strip(const AttentionTables& tables, const HeadId& head, ThreadPool& pool, const TakeRows& take);
// Throws std::runtime_error if a weight is not a number, which means that the model is broken.
void check_numbers(const nn::Matrix& part, const HeadId& head);

// Writes the file of one head, calling `write` once per part.
enum class TableFormat : std::uint8_t { csv, npy };
void write_table(const AttentionTables& tables, const HeadId& head, TableFormat format, ThreadPool& pool,
                 const std::function<void(std::string_view)>& write);

}  // namespace attn::insight
