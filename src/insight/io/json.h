// insight/io/json.h - what is found out as JSON: the same words for the program, the server and Python. For .cc files
// only.
//
// Numbers are written as short as a float allows, and keys keep their order.
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

// One line. Bytes that are not UTF-8 (a part of a character) become U+FFFD.
std::string as_line(const Json& json);

// As people read them: what `tokens` and `keys` are everywhere.
Json texts_of(const std::vector<text::Token>& tokens);
// [[...], ...]
Json rows_of(const nn::Matrix& table);

Json to_json(const HeadId& head);  // kind, layer, head

// Every head in the order of layers, with its rank.
Json to_json(const HeadsReport& report);
// The head to look at first: layer, head, kind, reason.
Json look_at(const HeadsReport& report);
Json to_json(const std::vector<LayerStatistics>& layers);
Json to_json(const CorpusCounts& counts);
// layer, head, kind, similarity of the first `top`.
Json to_json(const std::vector<Similar>& found, std::int64_t top);
// [[of a, of b], ...]
Json to_json(const Alignment& pairs);
// layer, head, kind, change, entropy_a, entropy_b of each.
Json to_json(const std::vector<HeadChange>& heads);
// a, b, aligned, heads.
Json to_json(const Comparison& found, const AttentionTables& a, const AttentionTables& b);
// `query` and `key` are the tokens' texts.
Json to_json(const Trace& trace, const std::string& query, const std::string& key);

// The text's tokens; those that a decoder was given and writes, and of a table's columns where they are others.
Json tokens_json(const AttentionLayout& layout);
// passed, rows, deviation, words.
Json to_json(const CheckResult& check);

// All that is known of a subject's heads: tokens, look_at, heads, layers, induction, check. The layers' statistics are
// those of the report.
struct Analysis {
  const AttentionLayout& layout;
  const HeadsReport& report;
  const std::vector<LayerStatistics>& layers;
  const CheckResult& check;
  const RepeatedTokens& repeated;  // what the induction scores were found with; length 0: not known
};
Json to_json(const Analysis& analysis);

}  // namespace attn::insight
