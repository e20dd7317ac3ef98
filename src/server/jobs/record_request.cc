#include "server/jobs/record_request.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "attn/error.h"
#include "base/json_file.h"
#include "server/http/request.h"
#include "server/routes/record_request_json.h"

namespace attn::server {

namespace {

[[noreturn]] void wrong(const std::string& name, const char* what) {
  throw std::invalid_argument(name + " must be " + what);
}

std::optional<std::string> text_of(const BodyJson& object, const char* name) {
  if (!object.contains(name) || object[name].is_null()) return std::nullopt;
  if (!object[name].is_string()) wrong(name, "a string");
  return object[name].get<std::string>();
}

std::string needed_text(const BodyJson& object, const char* name) {
  std::optional<std::string> text = text_of(object, name);
  if (!text) throw std::invalid_argument(std::string(name) + " is missing: it must be a string");
  return std::move(*text);
}

std::int64_t whole_of(const BodyJson& object, const char* name, std::int64_t otherwise) {
  if (!object.contains(name)) return otherwise;
  const BodyJson& value = object[name];
  if (!value.is_number_integer() ||
      (value.is_number_unsigned() && value.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max()))
    wrong(name, "a whole number");
  return value.get<std::int64_t>();
}

double real_of(const BodyJson& object, const char* name, double otherwise) {
  if (!object.contains(name)) return otherwise;
  if (!object[name].is_number()) wrong(name, "a number");
  return object[name].get<double>();
}

std::vector<insight::HeadId> heads_of(const BodyJson& object) {
  std::vector<insight::HeadId> heads;
  if (!object.contains("off") || object["off"].is_null()) return heads;
  if (!object["off"].is_array()) wrong("off", "a list of heads");
  for (const BodyJson& one : object["off"]) {
    if (!one.is_object()) wrong("off", "a list of heads: {\"kind\", \"layer\", \"head\"}");
    allow_members(one, {"kind", "layer", "head"}, "a head that is off");
    const std::string name = text_of(one, "kind").value_or("self");
    const std::optional<insight::Kind> kind = model::parse_kind(name);
    if (!kind) throw std::invalid_argument("kind must be self, decoder or cross, not '" + name + "'");
    const insight::HeadId head{*kind, whole_of(one, "layer", -1), whole_of(one, "head", -1)};
    if (std::ranges::find(heads, head) == heads.end()) heads.push_back(head);
  }
  std::ranges::sort(heads, [](const insight::HeadId& a, const insight::HeadId& b) {
    return std::tuple(a.kind, a.layer, a.head) < std::tuple(b.kind, b.layer, b.head);
  });
  return heads;
}

std::optional<RecordRequest::Generate> generate_of(const BodyJson& object) {
  if (!object.contains("generate") || object["generate"].is_null()) return std::nullopt;
  const BodyJson& from = object["generate"];
  if (!from.is_object()) wrong("generate", "an object: {\"tokens\", \"temperature\", \"top_k\", \"top_p\", \"seed\"}");
  allow_members(from, {"tokens", "temperature", "top_k", "top_p", "seed"}, "generate");
  RecordRequest::Generate how;
  how.tokens = whole_of(from, "tokens", how.tokens);
  if (how.tokens < 1) wrong("tokens", "1 or above");
  if (how.tokens > kMostTokens)
    throw HttpError(413, "at most " + std::to_string(kMostTokens) + " tokens can be generated");
  how.sampling.temperature = real_of(from, "temperature", 0);
  how.sampling.top_k = whole_of(from, "top_k", 0);
  how.sampling.top_p = real_of(from, "top_p", 1);
  const std::int64_t seed = whole_of(from, "seed", 0);
  if (seed < 0) wrong("seed", "0 or above");
  how.sampling.seed = static_cast<std::uint64_t>(seed);
  static_cast<void>(model::Sampler(how.sampling));
  return how;
}

Json or_null(const std::optional<std::string>& text) { return text ? Json(*text) : Json(nullptr); }

}  // namespace

std::string RecordRequest::key() const { return insight::as_line(to_json(*this)); }

RecordRequest parse_record_request(std::string_view body) {
  const BodyJson object = parse_object(body);
  allow_members(object, {"model", "text", "pair", "target", "mask", "off", "generate"}, "a recording");
  RecordRequest record_request{.model = needed_text(object, "model"), .text = needed_text(object, "text")};
  record_request.pair = text_of(object, "pair");
  record_request.target = text_of(object, "target");
  record_request.mask = text_of(object, "mask").value_or("");
  record_request.off = heads_of(object);
  record_request.generate = generate_of(object);
  const std::size_t bytes =
      record_request.text.size() + record_request.pair.value_or("").size() + record_request.target.value_or("").size();
  if (std::cmp_greater(bytes, kMostText))
    throw HttpError(
        413, "the text has " + std::to_string(bytes) + " bytes; at most " + std::to_string(kMostText) + " are allowed");
  if (record_request.generate && record_request.target)
    throw std::invalid_argument("target and generate exclude each other");
  return record_request;
}

BodyJson parse_object(std::string_view body) {
  constexpr base::JsonLimits kLimits{.values = 300'000};  // a picture of 512 x 512 has 263,000
  try {
    BodyJson object = base::parse_json(body, "the body", kLimits);
    if (!object.is_object()) throw std::invalid_argument("the body must be a JSON object");
    return object;
  } catch (const Error& wrong_json) {
    throw std::invalid_argument(wrong_json.what());
  }
}

void allow_members(const BodyJson& object, std::initializer_list<const char*> names, const char* where) {
  for (const auto& [name, value] : object.items()) {
    if (std::ranges::find(names, name) != names.end()) continue;
    std::string known;
    for (const char* const one : names) known += (known.empty() ? "" : ", ") + std::string(one);
    throw std::invalid_argument(std::string(where) + " has no '" + name + "', only: " + known);
  }
}

Json to_json(const RecordRequest& record_request) {
  Json off = Json::array(), generate = nullptr;
  for (const insight::HeadId& head : record_request.off) off.push_back(insight::to_json(head));
  if (const auto& how = record_request.generate) {
    generate = {{"tokens", how->tokens},
                {"temperature", static_cast<float>(how->sampling.temperature)},
                {"top_k", how->sampling.top_k},
                {"top_p", static_cast<float>(how->sampling.top_p)},
                {"seed", how->sampling.seed}};
  }
  return {{"model", record_request.model},
          {"text", record_request.text},
          {"pair", or_null(record_request.pair)},
          {"target", or_null(record_request.target)},
          {"mask", record_request.mask.empty() ? Json(nullptr) : Json(record_request.mask)},
          {"off", std::move(off)},
          {"generate", std::move(generate)}};
}

Json to_json(const LikelyWord& word) {
  return {{"id", word.id}, {"text", word.text}, {"probability", static_cast<float>(word.probability)}};
}

Json to_json(const GeneratedStep& step) {
  Json json = to_json(step.chosen);
  json["choices"] = Json::array();
  for (const LikelyWord& word : step.choices) json["choices"].push_back(to_json(word));
  json["entropy"] = static_cast<float>(step.entropy);
  return json;
}

Json to_json(const Generated& generated) {
  Json steps = Json::array();
  for (const GeneratedStep& step : generated.steps) steps.push_back(to_json(step));
  return {{"from", generated.from}, {"steps", std::move(steps)}};
}

}  // namespace attn::server
