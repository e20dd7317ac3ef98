// insight/io/json.h - results as JSON, with the same member names in the command line, the server and Python. Include
// it from .cc files only, because it pulls in nlohmann/json.
//
// Numbers are written with as few digits as a float needs, and members keep their order.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "insight/experiments/compare.h"
#include "insight/experiments/corpus.h"
#include "insight/paths/trace.h"
#include "insight/statistics/check.h"
#include "insight/statistics/find.h"
#include "insight/statistics/head_types.h"
#include "insight/statistics/induction.h"
#include "insight/statistics/statistics.h"
#include "insight/tables/attention_tables.h"
#include "nn/infer/matrix.h"
#include "text/tokenizer/tokenizer.h"

namespace attn::insight {

using Json =
    nlohmann::basic_json<nlohmann::ordered_map, std::vector, std::string, bool, std::int64_t, std::uint64_t, float>;

// One line, newline included. Bytes that are not UTF-8 (part of a character) become U+FFFD.
std::string as_line(const Json& json);

// The texts of tokens: what `tokens` and `keys` hold everywhere.
Json texts_of(const std::vector<text::Token>& tokens);
// [[...], ...]
Json rows_of(const nn::Matrix& table);

Json to_json(const HeadId& head);  // kind, layer, head

// All heads in layer order, each with its rank.
Json to_json(const HeadsReport& report);
// The most interesting head: layer, head, kind, reason.
Json look_at(const HeadsReport& report);
Json to_json(const std::vector<LayerStatistics>& layers);
Json to_json(const CorpusCounts& counts);
// layer, head, kind, similarity of the first `top`.
Json to_json(const std::vector<Similar>& found, std::int64_t top);
// [[token of a, token of b], ...]
Json to_json(const Alignment& pairs);
// layer, head, kind, change, entropy_a, entropy_b of each head.
Json to_json(const std::vector<HeadChange>& heads);
// a, b, aligned, heads.
Json to_json(const Comparison& found, const AttentionTables& a, const AttentionTables& b);
// `query` and `key` are the tokens' texts.
Json to_json(const Trace& trace, const std::string& query, const std::string& key);

// tokens; keys if the columns' tokens differ from them; target and written, the tokens that a decoder reads and writes.
Json tokens_json(const AttentionLayout& layout);
// passed, rows, deviation, words.
Json to_json(const CheckResult& check);

// Everything known about the heads of some tables: tokens, look_at, heads, layers, induction, check. `layers` must come
// from the statistics in `report`.
struct Analysis {
  const AttentionLayout& layout;
  const HeadsReport& report;
  const std::vector<LayerStatistics>& layers;
  const CheckResult& check;
  const RepeatedTokens& repeated;  // the tokens behind the induction scores; length 0: unknown
};
Json to_json(const Analysis& analysis);

}  // namespace attn::insight
