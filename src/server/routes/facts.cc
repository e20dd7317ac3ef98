#include "server/routes/facts.h"

#include <algorithm>

#include "insight/statistics/token_sets.h"
#include "server/routes/record_request_json.h"

namespace attn::server {

namespace {

Json model_json(const StoredRecording& stored, const model::Recording* recording) {
  const Provenance& from = stored.provenance();
  if (!from.model.empty()) return model_facts(from.model, from.facts);
  if (recording == nullptr) return nullptr;
  model::Facts known;  // only what the file records
  known.type = recording->origin.type;
  known.form = recording->origin.form;
  Json json = model_facts(recording->origin.short_name(), known);
  json["fills"] = json["continues"] = false;
  return json;
}

Json measures_of(const StoredTables& stored_tables) {
  Json measures = {"raw"};
  const model::Recording* const recording = stored_tables.recording();
  if (recording != nullptr && std::ranges::none_of(recording->log.attentions(), [](const model::AttentionRecord& a) {
        return a.value_norms.empty();
      }))
    measures.push_back("value");
  const auto& stacks = stored_tables.tables().stacks();
  if (stacks.front().kind == Kind::self && stacks.front().queries <= kMostRollout) measures.push_back("rollout");
  return measures;
}

Json tokens_json(const std::vector<text::Token>& tokens) {
  Json json = Json::array();
  for (const text::Token& token : tokens) {
    json.push_back({{"text", token.text},
                    {"special", insight::is_special(token)},
                    {"word", token.word ? Json(*token.word) : Json(nullptr)},
                    {"sequence", token.sequence}});
  }
  return json;
}

Json stack_json(const insight::AttentionTables& tables, const insight::AttentionStack& stack) {
  Json queries = tokens_json(tables.queries(stack.kind)), keys = tokens_json(tables.keys(stack.kind));
  if (keys == queries) keys = nullptr;
  return {
      {"kind", std::string(name_of(stack.kind))},
      {"layers", stack.layers},
      {"heads", stack.heads},
      {"queries", stack.queries},
      {"keys", stack.keys},
      {"causal", tables.causal({stack.kind, 0, 0})},
      {"query_tokens", std::move(queries)},
      {"key_tokens", std::move(keys)},
      {"thumbnail", {{"rows", std::min(kThumbnail, stack.queries)}, {"columns", std::min(kThumbnail, stack.keys)}}}};
}

// Without numbers per token.
Json head_json(const insight::HeadReport& report) {
  const insight::HeadStatistics& head = report.statistics;
  Json shares, types = Json::array();
  for (const auto& [name, share] : insight::kShareNames) shares[name] = static_cast<float>(head.shares.*share);
  for (const insight::HeadType& type : report.types)
    types.push_back({{"name", type.name}, {"score", static_cast<float>(type.score)}, {"reason", type.reason}});
  return {{"kind", std::string(name_of(head.name.kind))},
          {"layer", head.name.layer},
          {"head", head.name.head},
          {"entropy", static_cast<float>(head.entropy)},
          {"entropy_share", static_cast<float>(head.entropy_share)},
          {"distance", static_cast<float>(head.distance)},
          {"shares", std::move(shares)},
          {"types", std::move(types)},
          {"interest", static_cast<float>(report.interest)},
          {"resting", report.resting},
          {"reason", report.reason()}};
}

}  // namespace

Json model_facts(const std::string& name, const model::Facts& facts) {
  return {{"name", name},
          {"type", facts.type},
          {"form", std::string(name_of(facts.form))},
          {"layers", facts.layers},
          {"heads", facts.heads.heads},
          {"decoder_layers", facts.decoder_layers},
          {"max_tokens", facts.max_tokens},
          {"fills", facts.form == model::Form::encoder && facts.has_logits},
          {"continues", facts.form != model::Form::encoder},
          {"labels", facts.labels}};
}

Json facts(const StoredRecording& stored, const StoredTables& stored_tables, const HeadSummary& summary) {
  Json stacks = Json::array(), heads = Json::array();
  for (const insight::AttentionStack& stack : stored_tables.tables().stacks())
    stacks.push_back(stack_json(stored_tables.tables(), stack));
  for (const insight::HeadReport& head : summary.report.heads) heads.push_back(head_json(head));
  std::string rule = insight::kInterestRule;
  std::ranges::replace(rule, '\n', ' ');
  const Provenance& from = stored.provenance();
  const std::optional<std::string> pair = stored.pair();
  return {{"id", stored.id()},
          {"name", stored.name()},
          {"text", stored.text()},
          {"pair", pair ? Json(*pair) : Json(nullptr)},
          {"model", model_json(stored, stored_tables.recording())},
          {"origin", from.record_request ? to_json(*from.record_request) : Json(nullptr)},
          {"live", !from.model.empty()},
          {"measures", measures_of(stored_tables)},
          {"generated", from.generated ? to_json(*from.generated) : Json(nullptr)},
          {"bytes", stored.bytes()},
          {"stacks", std::move(stacks)},
          {"heads", std::move(heads)},
          {"ranking", summary.report.ranking},
          {"look_at", look_at(summary.report)},
          {"rule", std::move(rule)}};
}

}  // namespace attn::server
