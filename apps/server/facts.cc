#include "server/facts.h"

#include <algorithm>

#include "insight/token_sets.h"

namespace attn::server {

namespace {

using insight::Json;

Json model_json(const model::Reading* reading) {
  if (reading == nullptr) return nullptr;
  return {{"name", reading->origin.short_name()}, {"type", reading->origin.type}};
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

Json stack_json(const insight::Specimen& specimen, const insight::Stack& stack) {
  Json queries = tokens_json(specimen.queries(stack.kind)), keys = tokens_json(specimen.keys(stack.kind));
  if (keys == queries) keys = nullptr;
  return {
      {"kind", std::string(name_of(stack.kind))},
      {"layers", stack.layers},
      {"heads", stack.heads},
      {"queries", stack.queries},
      {"keys", stack.keys},
      {"causal", specimen.causal({stack.kind, 0, 0})},
      {"query_tokens", std::move(queries)},
      {"key_tokens", std::move(keys)},
      {"thumbnail", {{"rows", std::min(kThumbnail, stack.queries)}, {"columns", std::min(kThumbnail, stack.keys)}}}};
}

// No numbers by token.
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

Json facts(const Exhibit& exhibit, const Exposure& exposure, const Survey& survey) {
  Json stacks = Json::array(), heads = Json::array();
  for (const insight::Stack& stack : exposure.specimen().stacks())
    stacks.push_back(stack_json(exposure.specimen(), stack));
  for (const insight::HeadReport& head : survey.report.heads) heads.push_back(head_json(head));
  std::string rule = insight::kInterestRule;
  std::ranges::replace(rule, '\n', ' ');
  return {{"id", exhibit.id()},
          {"name", exhibit.name()},
          {"text", exhibit.text()},
          {"pair", exhibit.pair() ? Json(*exhibit.pair()) : Json(nullptr)},
          {"model", model_json(exposure.reading())},
          {"stacks", std::move(stacks)},
          {"heads", std::move(heads)},
          {"ranking", survey.report.ranking},
          {"look_at", look_at(survey.report)},
          {"rule", std::move(rule)}};
}

}  // namespace attn::server
