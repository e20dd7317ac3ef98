#include "python/scope/insight.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "attn/mask.h"
#include "figure/scene/named_tokens.h"
#include "insight/experiments/ablation.h"
#include "insight/io/json.h"
#include "insight/paths/flow.h"
#include "insight/paths/rollout.h"
#include "insight/tables/difference.h"
#include "model/run/generate.h"
#include "python/scope/models.h"
#include "python/scope/names.h"
#include "python/scope/recordings.h"
#include "python/scope/work.h"

namespace attn::python {
namespace {

using namespace nb::literals;

// ---- heads by shape ----

// pattern: a name, a mask's text, or a table.
nb::str find(const Recording& recording, const nb::object& pattern, const std::optional<std::string>& kind,
             std::int64_t top) {
  const insight::Pattern wanted = nb::isinstance<nb::str>(pattern)
                                      ? insight::parse_name_or_mask(nb::cast<std::string>(pattern))
                                      : insight::Pattern(copied(pattern, "pattern"));
  const insight::FindOptions options{.kind = kind_of(recording, kind), .progress = until_interrupted()};
  const auto found = unlocked(
      [&](ThreadPool& pool) { return insight::find_heads(recording.weights("find()"), wanted, options, pool); });
  return text_of(insight::as_line(insight::to_json(found, top)));
}

// ---- through the layers ----

std::vector<std::int64_t> places(const Recording& recording, const std::string& kind, const std::string& token,
                                 bool of_keys) {
  const insight::Kind which = parse_kind(kind);
  const insight::AttentionTables& tables = *recording.tables;
  return figure::named_tokens(of_keys ? tables.keys(which) : tables.queries(which), token);
}

// [tokens, N]
nb::object rollout(const Recording& recording, std::int64_t layer, const std::vector<std::int64_t>& tokens) {
  return array_of(unlocked([&](ThreadPool& pool) {
    return insight::rollout(recording.weights("rollout()"), {layer, tokens}, pool, until_interrupted());
  }));
}

nb::object whole_rollout(const Recording& recording, std::int64_t layer) {
  return array_of(unlocked([&](ThreadPool& pool) {
    return insight::rollout(recording.weights("rollout()"), layer, pool, until_interrupted());
  }));
}

nb::object flow(const Recording& recording, std::int64_t layer, const std::vector<std::int64_t>& tokens) {
  return array_of(unlocked([&](ThreadPool& pool) {
    return insight::flow(recording.weights("flow()"), {layer, tokens}, pool, until_interrupted());
  }));
}

// ---- one weight ----

// place: (kind, layer, head, query, key or None)
nb::str trace(const Recording& recording, const nb::tuple& place, const Model* model) {
  static_cast<void>(recording.weights("trace()"));
  const model::Recording& recorded = recording.recorded("trace()");
  const insight::TracePlace where{.head = {parse_kind(nb::cast<std::string>(place[0])),
                                           nb::cast<std::int64_t>(place[1]), nb::cast<std::int64_t>(place[2])},
                                  .query = nb::cast<std::int64_t>(place[3]),
                                  .key = nb::cast<std::optional<std::int64_t>>(place[4])};
  const insight::Trace found = unlocked([&](ThreadPool& pool) {
    return insight::trace(recorded, where, model == nullptr ? nullptr : model->reader.model.get(), pool);
  });
  if (!std::isfinite(found.dot) || !std::isfinite(found.weight))
    throw std::runtime_error("scores are not finite: the model's weights are broken");
  const auto text_at = [](const std::vector<text::Token>& tokens, std::int64_t at) {
    return tokens[static_cast<std::size_t>(at)].text;
  };
  return text_of(insight::as_line(to_json(found, text_at(recording.tables->queries(where.head.kind), found.query),
                                          text_at(recording.tables->keys(where.head.kind), found.key))));
}

// ---- without some heads ----

// A recording whose heads are switched off, and the positions to compare.
class Ablated {
 public:
  Ablated(const Recording& recording, const Model& model, const std::vector<std::int64_t>& at)
      : recording_(recording.recorded("ablate()")), by_target_(!recording_.target.empty()) {
    insight::PredictionPlaces places = insight::places_of(model.reader, recording_, at);
    if (places.at.empty()) throw std::invalid_argument("the text has no word whose prediction could change");
    unlocked([&](ThreadPool& pool) {
      ablation_ = std::make_unique<insight::Ablation>(model.reader, recording_, std::move(places.at), pool);
    });
  }

  [[nodiscard]] const insight::Ablation& ablation() const { return *ablation_; }
  [[nodiscard]] nb::str text_at(std::size_t place) const {
    const auto& tokens = by_target_ ? recording_.target : recording_.tokens;
    return text_of(tokens[static_cast<std::size_t>(ablation_->at()[place])].text);
  }

 private:
  const model::Recording& recording_;
  bool by_target_;
  std::unique_ptr<insight::Ablation> ablation_;
};

double finite(double kl) {
  if (std::isfinite(kl)) return kl;
  throw std::runtime_error("the model's predictions are not finite: its weights are broken");
}

nb::list choices_of(const Model& model, std::span<const float> logits, std::int64_t top) {
  nb::list out;
  for (const auto& [id, probability] : model::likeliest(logits, top))
    out.append(nb::make_tuple(word_of(model, id), id, probability));
  return out;
}

std::span<const float> row_of(const nn::Matrix& table, std::size_t row) {
  return {table.row(static_cast<std::int64_t>(row)), static_cast<std::size_t>(table.columns())};
}

// [(token, text, KL, before, after)] of each place, all these heads off at once; before and after: [(word, id,
// probability)]. heads: [(kind, layer, head)].
nb::list ablate(const Recording& recording, const Model& model, const nb::list& heads,
                const std::vector<std::int64_t>& at, std::int64_t top) {
  const Ablated ablated(recording, model, at);
  std::vector<insight::HeadId> off;
  for (const nb::handle head : heads) {
    const auto part = nb::cast<nb::tuple>(head);
    off.push_back(
        {parse_kind(nb::cast<std::string>(part[0])), nb::cast<std::int64_t>(part[1]), nb::cast<std::int64_t>(part[2])});
    insight::check_head(model.reader.model->facts(), off.back());
  }
  const insight::Ablation& ablation = ablated.ablation();
  const nn::Matrix after = unlocked([&](ThreadPool& pool) { return ablation.without(off, pool); });
  const std::vector<double> kl = ablation.divergence(after);
  nb::list out;
  for (std::size_t p = 0; p < kl.size(); ++p) {
    out.append(nb::make_tuple(ablation.at()[p], ablated.text_at(p), finite(kl[p]),
                              choices_of(model, row_of(ablation.before(), p), top),
                              choices_of(model, row_of(after, p), top)));
  }
  return out;
}

// Each head switched off by itself, the largest effect first: [(kind, layer, head, KL, [(word, id)] of each place)].
nb::list ablate_each(const Recording& recording, const Model& model, const std::vector<std::int64_t>& at) {
  const Ablated ablated(recording, model, at);
  const auto effects = unlocked([&](ThreadPool& pool) {
    return ablated.ablation().rank(insight::heads_of(model.reader.model->facts()), until_interrupted(), pool);
  });
  nb::list out;
  for (const insight::Ablation::Effect& effect : effects) {
    nb::list words;
    for (const std::int32_t id : effect.likeliest) words.append(nb::make_tuple(word_of(model, id), id));
    out.append(nb::make_tuple(text_of(name_of(effect.head.kind)), effect.head.layer, effect.head.head,
                              finite(effect.kl), words));
  }
  return out;
}

// ---- two recordings ----

// The difference of two recordings, and its tables, which keep both alive.
struct Difference {
  std::shared_ptr<const insight::AttentionTables> a, b;
  insight::Comparison found;
};

std::shared_ptr<Difference> compare(const Recording& a, const Recording& b) {
  return unlocked([&](ThreadPool& pool) {
    return std::make_shared<Difference>(
        a.tables, b.tables,
        insight::compare(a.weights("compare()"), b.weights("compare()"), pool, until_interrupted()));
  });
}

Recording tables_of(const std::shared_ptr<Difference>& difference) {
  std::shared_ptr<const insight::AttentionTables> tables =
      insight::difference(*difference->a, *difference->b, difference->found);
  struct Both {
    std::shared_ptr<const insight::AttentionTables> tables;
    std::shared_ptr<Difference> of;
  };
  auto both = std::make_shared<Both>(std::move(tables), difference);
  const insight::AttentionTables* const shown = both->tables.get();
  return {std::shared_ptr<const insight::AttentionTables>(std::move(both), shown), "A - B"};
}

}  // namespace

void bind_insight(nb::module_& m) {
  m.def("find", &find, "recording"_a, "pattern"_a, "kind"_a.none(), "top"_a);
  m.def("places", &places);
  m.def("rollout", &rollout);
  m.def("whole_rollout", &whole_rollout);
  m.def("flow", &flow);
  m.def("trace", &trace, "recording"_a, "place"_a, "model"_a.none());
  m.def("ablate", &ablate);
  m.def("ablate_each", &ablate_each);
  nb::class_<Difference>(m, "Difference").def("json", [](const Difference& d) {
    return text_of(insight::as_line(to_json(d.found, *d.a, *d.b)));
  });
  m.def("compare", &compare);
  m.def("difference", &tables_of);
}

}  // namespace attn::python
