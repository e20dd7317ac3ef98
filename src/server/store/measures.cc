#include "server/store/measures.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include "insight/io/table_text.h"
#include "insight/paths/rollout.h"
#include "insight/tables/words.h"
#include "server/http/encode.h"

namespace attn::server {

namespace {

// Of one layer, as the only head of the only layer.
std::shared_ptr<const insight::Specimen> rolled_out(Desk& desk, const Question& asked, std::int64_t layer, bool words) {
  const insight::Specimen& specimen = asked.exhibit->exposure(false).specimen();
  const std::string key = asked.exhibit->id() + "/rollout/" + std::to_string(layer);
  const Bytes bytes = desk.cache().get(key, asked.progress("row"), [&](const insight::Progress& progress) {
    return std::string(insight::bytes_of(insight::rollout(specimen, layer, *desk.pool(), progress)));
  });
  const std::int64_t n = specimen.stack(Kind::self).queries;
  insight::TableSpecimen::Part part{Kind::self, {1, 1, nn::Matrix(n, n)}, specimen.queries(Kind::self), {}};
  std::memcpy(part.tables.numbers.data(), bytes->data(), bytes->size());
  std::vector<insight::TableSpecimen::Part> parts;
  parts.push_back(std::move(part));
  auto table = std::make_shared<const insight::TableSpecimen>(std::move(parts));
  if (!words) return table;
  return insight::merged_words(std::move(table));
}

}  // namespace

std::string_view name_of(Measure measure) noexcept {
  return measure == Measure::raw ? "raw" : measure == Measure::value ? "value" : "rollout";
}

Look Look::of(const Question& asked) {
  const std::string given = asked.text("measure").value_or("raw");
  Look look{Measure::raw, asked.flag("aside"), asked.words()};
  for (const Measure measure : {Measure::value, Measure::rollout}) {
    if (given == name_of(measure)) look.measure = measure;
  }
  if (given != name_of(look.measure))
    throw std::invalid_argument("measure must be raw, value or rollout, not '" + given + "'");
  if (look.aside && look.measure != Measure::raw)
    throw std::invalid_argument("aside=1 renormalises weights: it does not go with measure=" + given);
  return look;
}

std::string Look::key() const {
  return std::string(name_of(measure)) + (aside ? "/aside" : "") + (words ? "/words" : "");
}

std::shared_ptr<const insight::Specimen> seen(Desk& desk, const Question& asked, const Look& look, std::int64_t layer) {
  if (look.aside) return asked.exhibit->aside(look.words);
  if (look.measure == Measure::value) return asked.exhibit->by_value(look.words);
  if (look.measure == Measure::rollout) {
    if (asked.kind_named() != Kind::self) throw std::invalid_argument("rollout follows attention of kind self");
    return rolled_out(desk, asked, layer, look.words);
  }
  return asked.exhibit->exposure(look.words).shared();
}

Sight sight_of(Desk& desk, const Question& asked) {
  const Look look = Look::of(asked);
  insight::HeadName head = asked.head();
  std::string key = asked.exhibit->id() + "/" + look.key() + "/" + std::string(model::name_of(head.kind)) + "/" +
                    std::to_string(head.layer);
  auto specimen = seen(desk, asked, look, head.layer);
  if (look.measure == Measure::rollout) {
    head = {};
  } else {
    key += "/" + std::to_string(head.head);
  }
  return {std::move(specimen), head, std::move(key)};
}

}  // namespace attn::server
