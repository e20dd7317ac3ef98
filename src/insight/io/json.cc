#include "insight/io/json.h"

#include <optional>
#include <utility>

namespace attn::insight {

namespace {

Json name_json(Kind kind) { return std::string(name_of(kind)); }

std::vector<float> floats(const std::vector<double>& numbers) { return {numbers.begin(), numbers.end()}; }

Json or_null(const std::optional<double>& number) { return number ? Json(static_cast<float>(*number)) : Json(nullptr); }

Json or_null(const std::vector<float>& numbers) { return numbers.empty() ? Json(nullptr) : Json(numbers); }

Json shares_json(const Shares& shares) {
  Json json;
  for (const auto& [name, share] : kShareNames) json[name] = static_cast<float>(shares.*share);
  json["previous"] = static_cast<float>(shares.offset(-1));
  json["same"] = static_cast<float>(shares.offset(0));
  json["next"] = static_cast<float>(shares.offset(1));
  json["offsets"] = std::vector<float>(shares.offsets.begin(), shares.offsets.end());
  return json;
}

Json types_json(const std::vector<HeadType>& types) {
  Json json = Json::array();
  for (const HeadType& type : types) {
    json.push_back({{"name", type.name}, {"score", static_cast<float>(type.score)}, {"reason", type.reason}});
  }
  return json;
}

Json head_json(const HeadReport& report, std::int64_t rank) {
  const HeadStatistics& head = report.statistics;
  Json json = {{"layer", head.name.layer},
               {"head", head.name.head},
               {"kind", name_json(head.name.kind)},
               {"rank", rank},
               {"interest", static_cast<float>(report.interest)},
               {"entropy", static_cast<float>(head.entropy)},
               {"entropy_share", static_cast<float>(head.entropy_share)}};
  if (!head.received.empty()) {  // absent in means over texts
    json["received"] = head.received;
    json["outgoing"] = head.outgoing;
    json["diagonal"] = head.diagonal;
  }
  json["distance"] = static_cast<float>(head.distance);
  json["types"] = types_json(report.types);
  json["shares"] = shares_json(head.shares);
  json["even"] = shares_json(head.even);
  return json;
}

// The origin of one side of a comparison. A table from a file has tokens only.
Json side(const AttentionTables& tables) {
  const model::Recording* const recording = tables.recording();
  if (recording == nullptr) return tokens_json(tables);
  Json json = {{"model", recording->origin.model},
               {"text", recording->origin.text.text},
               {"tokens", texts_of(recording->tokens)}};
  if (!recording->target.empty()) {
    json["target"] = texts_of(recording->target);
    json["written"] = texts_of(recording->written);
  }
  return json;
}

}  // namespace

std::string as_line(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; }

Json texts_of(const std::vector<text::Token>& tokens) {
  Json texts = Json::array();
  for (const text::Token& token : tokens) texts.push_back(token.text);
  return texts;
}

Json rows_of(const nn::Matrix& table) {
  Json rows = Json::array();
  for (std::int64_t i = 0; i < table.rows(); ++i)
    rows.push_back(std::vector<float>(table.row(i), table.row(i) + table.columns()));
  return rows;
}

Json to_json(const HeadId& head) {
  return {{"kind", name_json(head.kind)}, {"layer", head.layer}, {"head", head.head}};
}

Json to_json(const HeadsReport& report) {
  std::vector<std::int64_t> ranks(report.heads.size());
  for (std::size_t r = 0; r < report.ranking.size(); ++r) ranks[report.ranking[r]] = static_cast<std::int64_t>(r) + 1;
  Json json = Json::array();
  for (std::size_t n = 0; n < ranks.size(); ++n) json.push_back(head_json(report.heads[n], ranks[n]));
  return json;
}

Json look_at(const HeadsReport& report) {
  const HeadId& name = report.best().statistics.name;
  return {
      {"layer", name.layer}, {"head", name.head}, {"kind", name_json(name.kind)}, {"reason", report.best().reason()}};
}

Json to_json(const std::vector<LayerStatistics>& layers) {
  Json json = Json::array();
  for (const LayerStatistics& layer : layers) {
    Json one = {
        {"layer", layer.layer}, {"kind", name_json(layer.kind)}, {"entropy", static_cast<float>(layer.entropy)}};
    if (!layer.received.empty()) {
      one["received"] = layer.received;
      one["outgoing"] = layer.outgoing;
      one["diagonal"] = layer.diagonal;
    }
    json.push_back(std::move(one));
  }
  return json;
}

Json to_json(const CorpusCounts& counts) {
  return {{"read", counts.texts}, {"cut", counts.cut}, {"empty", counts.empty}, {"tokens", counts.tokens}};
}

Json to_json(const std::vector<Similar>& found, std::int64_t top) {
  Json heads = Json::array();
  for (const Similar& one : found) {
    if (std::ssize(heads) == top) break;
    heads.push_back({{"layer", one.head.layer},
                     {"head", one.head.head},
                     {"kind", name_json(one.head.kind)},
                     {"similarity", static_cast<float>(one.similarity)}});
  }
  return heads;
}

Json to_json(const Alignment& pairs) {
  Json json = Json::array();
  for (std::size_t k = 0; k < pairs.a.size(); ++k) json.push_back({pairs.a[k], pairs.b[k]});
  return json;
}

Json to_json(const std::vector<HeadChange>& heads) {
  Json json = Json::array();
  for (const auto& [head, change, entropy_a, entropy_b] : heads) {
    json.push_back({{"layer", head.layer},
                    {"head", head.head},
                    {"kind", name_json(head.kind)},
                    {"change", static_cast<float>(change)},
                    {"entropy_a", static_cast<float>(entropy_a)},
                    {"entropy_b", static_cast<float>(entropy_b)}});
  }
  return json;
}

Json to_json(const Comparison& found, const AttentionTables& a, const AttentionTables& b) {
  Json json = {{"a", side(a)}, {"b", side(b)}, {"aligned", Json::array()}, {"heads", to_json(found.heads)}};
  for (const Comparison::Tokens& tokens : found.tokens) {
    json["aligned"].push_back(
        {{"kind", name_json(tokens.kind)}, {"queries", to_json(tokens.queries)}, {"keys", to_json(tokens.keys)}});
  }
  return json;
}

Json to_json(const Trace& t, const std::string& query, const std::string& key) {
  return {{"kind", name_json(t.head.kind)},
          {"layer", t.head.layer},
          {"head", t.head.head},
          {"key_head", t.key_head},
          {"query", {{"token", t.query}, {"text", query}}},
          {"key", {{"token", t.key}, {"text", key}}},
          {"x", or_null(t.x)},
          {"q", t.q},
          {"k", t.k},
          {"products", floats(t.products)},
          {"dot", static_cast<float>(t.dot)},
          {"scale", static_cast<float>(t.scale)},
          {"softcap", or_null(t.softcap)},
          {"bias", or_null(t.bias)},
          {"bucket", t.bucket ? Json(*t.bucket) : Json(nullptr)},
          {"sink", or_null(t.sink)},
          {"mask", t.mask},
          {"allowed", t.allowed},
          {"score", t.allowed ? Json(static_cast<float>(t.score)) : Json(nullptr)},
          {"lse", static_cast<float>(t.lse)},
          {"weight", static_cast<float>(t.weight)},
          {"v", or_null(t.v)},
          {"contribution", or_null(floats(t.contribution))},
          {"contribution_norm", or_null(t.contribution_norm)},
          {"head_output", or_null(floats(t.head_output))},
          {"head_output_norm", or_null(t.head_output_norm)},
          {"share", or_null(t.share)}};
}

Json tokens_json(const AttentionLayout& layout) {
  Json json;
  const AttentionStack& first = layout.stacks().front();
  json["tokens"] = texts_of(layout.queries(first.kind));
  if (Json keys = texts_of(layout.keys(first.kind)); keys != json["tokens"]) json["keys"] = std::move(keys);
  for (const AttentionStack& stack : layout.stacks()) {
    if (stack.kind == Kind::decoder) json["target"] = texts_of(layout.queries(stack.kind));
    if (stack.kind == Kind::cross) json["written"] = texts_of(layout.queries(stack.kind));
  }
  return json;
}

Json to_json(const CheckResult& check) {
  return {{"passed", !check.failure},
          {"rows", check.rows},
          {"deviation", static_cast<float>(check.deviation)},
          {"words", in_words(check)}};
}

Json to_json(const Analysis& analysis) {
  Json json = tokens_json(analysis.layout);
  json["look_at"] = look_at(analysis.report);
  json["heads"] = to_json(analysis.report);
  json["layers"] = to_json(analysis.layers);
  const model::Recording* const recording = analysis.layout.recording();
  if (recording != nullptr && !recording->induction.empty()) {
    json["induction"] = {{"scores", rows_of(recording->induction)}};
    if (analysis.repeated.length > 0) {
      json["induction"]["ids"] = analysis.repeated.ids;
      json["induction"]["length"] = analysis.repeated.length;
    }
  }
  json["check"] = to_json(analysis.check);
  return json;
}

}  // namespace attn::insight
