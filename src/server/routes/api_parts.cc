#include "server/routes/api_parts.h"

#include <utility>

#include "insight/io/json.h"
#include "server/http/encode.h"
#include "server/routes/facts.h"
#include "server/routes/record_request_json.h"

namespace attn::server {

Answer list(Desk& desk, const Question& asked) {
  asked.allow({});
  Json specimens = Json::array();
  for (const auto& one : desk.exhibits())
    specimens.push_back({{"id", one->id()},
                         {"name", one->name()},
                         {"text", one->text()},
                         {"tokens", one->tokens()},
                         {"stays", one->provenance().stays}});
  return json_answer(200, insight::as_line(Json{{"version", ATTNSCOPE_VERSION}, {"specimens", std::move(specimens)}}));
}

Answer facts_of(Desk& desk, const Question& asked) {
  asked.allow({"words"});
  const Exposure& exposure = asked.exposure();
  const Survey& survey = exposure.survey(*desk.pool(), asked.progress());
  if (asked.asker.tell) return json_answer(200, "{}");  // who was told of progress asks again, for what is packed
  const auto json = [&] { return insight::as_line(facts(*asked.exhibit, exposure, survey)); };
  const std::string key = asked.key();
  Answer answer{200, kJson, desk.cache().get(key, json)};
  answer.packed = desk.cache().get(key + "/gzip", [&] { return gzipped(*answer.body); });
  return answer;
}

Answer thumbnails(Desk& desk, const Question& asked) {
  asked.allow({"words", "kind"});
  const Kind kind = asked.kind();
  const Survey& survey = asked.exposure().survey(*desk.pool(), asked.progress());
  // The survey lives as long as its exhibit does.
  return octets({asked.exhibit, &survey.thumbnails.at(kind)});
}

Answer models(Desk& desk, const Question& asked) {
  asked.allow({});
  Json all = Json::array();
  for (const Models::Card& card : desk.models().cards()) {
    all.push_back(model_facts(card.name, card.facts));
    all.back()["given"] = card.given;
  }
  const Json limits = {{"text_bytes", kMostText}, {"tokens", kMostTokens}, {"specimens", kMostMade}};
  return json_answer(200, insight::as_line(Json{{"models", std::move(all)}, {"limits", limits}}));
}

Answer make_specimen(Desk& desk, const Question& asked) {
  asked.allow({});
  Desk::Order order{.recipe = parse_recipe(asked.body)};
  order.progress = asked.progress(order.recipe.generate ? "token" : "layer");
  if (asked.asker.tell) {
    order.tell = [&](std::int64_t number, const Step& step) {
      Json json = {{"step", number}};
      json.update(to_json(step));
      asked.asker.tell("token", insight::as_line(json));
    };
  }
  return json_answer(200, insight::as_line(Json{{"id", desk.make(order)}}));
}

}  // namespace attn::server
