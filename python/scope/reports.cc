#include "python/scope/reports.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "figure/scene/heads_report.h"
#include "insight/experiments/corpus.h"
#include "insight/io/json.h"
#include "python/scope/figures.h"
#include "python/scope/models.h"
#include "python/scope/names.h"
#include "python/scope/recordings.h"
#include "python/scope/work.h"
#include "text/datasets/data_set.h"

namespace attn::python {
namespace {

using namespace nb::literals;
using insight::HeadStatistics;

using MaybeKind = std::optional<std::string>;

// ---- statistics ----

nb::dict dict_of(const insight::Shares& shares) {
  nb::dict out;
  for (const auto& [name, share] : insight::kShareNames) out[name] = shares.*share;
  out["previous"] = shares.offset(-1);
  out["same"] = shares.offset(0);
  out["next"] = shares.offset(1);
  out["sink"] = shares.sink();
  out["offsets"] = array_of(std::vector<float>(shares.offsets.begin(), shares.offsets.end()));
  return out;
}

nb::dict dict_of(const HeadStatistics& head) {
  nb::dict out;
  out["layer"] = head.name.layer;
  out["head"] = head.name.head;
  out["kind"] = text_of(name_of(head.name.kind));
  out["queries"] = head.queries;
  out["keys"] = head.keys;
  out["entropy"] = head.entropy;
  out["entropy_share"] = head.entropy_share;
  out["distance"] = head.distance;
  out["shares"] = dict_of(head.shares);
  out["even"] = dict_of(head.even);
  out["received"] = array_of(head.received);
  out["outgoing"] = array_of(head.outgoing);
  out["diagonal"] = array_of(head.diagonal);
  return out;
}

std::vector<HeadStatistics> computed(const Recording& recording, const MaybeKind& kind, std::int64_t beyond) {
  const insight::StatisticsOptions options{
      .beyond = beyond, .kind = kind_of(recording, kind), .progress = until_interrupted()};
  return unlocked([&](ThreadPool& pool) { return insight::statistics(*recording.tables, options, pool); });
}

nb::list statistics(const Recording& recording, const MaybeKind& kind, std::int64_t beyond) {
  static_cast<void>(recording.weights("statistics()"));
  nb::list out;
  for (const HeadStatistics& head : computed(recording, kind, beyond)) out.append(dict_of(head));
  return out;
}

// ---- what heads do ----

// The report of one recording, or of many texts.
struct Report {
  std::shared_ptr<const insight::AttentionTables> tables;  // null for many texts
  insight::CheckResult check;                              // of the tables
  insight::CorpusCounts texts;                             // for many texts
  std::vector<insight::LayerStatistics> layers;
  insight::HeadsReport heads;
};

std::shared_ptr<Report> analyze(const Recording& recording, const MaybeKind& kind, std::int64_t beyond) {
  const insight::AttentionTables& tables = recording.weights("analyze()");
  insight::CheckResult check = unlocked(
      [&](ThreadPool& pool) { return insight::check_weights(tables, {.progress = until_interrupted()}, pool); });
  if (check.no_weight) throw std::invalid_argument(to_string(*check.no_weight) + " (heatmap() draws any numbers)");
  std::vector<HeadStatistics> statistics = computed(recording, kind, beyond);
  std::vector<insight::LayerStatistics> layers = layer_statistics(statistics);
  static const nn::Matrix none;
  const model::Recording* const recorded = tables.recording();
  return std::make_shared<Report>(recording.tables, std::move(check), insight::CorpusCounts{.texts = 1},
                                  std::move(layers),
                                  insight::HeadsReport(std::move(statistics), recorded ? recorded->induction : none));
}

// In the order of the ranking.
nb::list ranked_heads(const Report& report) {
  nb::list out;
  for (std::size_t rank = 0; rank < report.heads.ranking.size(); ++rank) {
    const insight::HeadReport& head = report.heads.heads[report.heads.ranking[rank]];
    nb::dict one = dict_of(head.statistics);
    one["rank"] = rank + 1;
    one["interest"] = head.interest;
    one["reason"] = text_of(head.reason());
    nb::list types;
    for (const insight::HeadType& type : head.types)
      types.append(nb::make_tuple(text_of(type.name), type.score, text_of(type.reason)));
    one["types"] = types;
    out.append(one);
  }
  return out;
}

insight::Json json_of(const Report& report) {
  const insight::RepeatedTokens not_kept;
  if (report.tables != nullptr)
    return to_json(insight::Analysis{*report.tables, report.heads, report.layers, report.check, not_kept});
  return {{"texts", to_json(report.texts)},
          {"look_at", insight::look_at(report.heads)},
          {"heads", to_json(report.heads)},
          {"layers", insight::to_json(report.layers)}};
}

// (passed, in words); none for many texts.
nb::object check_of(const Report& report) {
  if (report.tables == nullptr) return nb::none();
  return nb::make_tuple(!report.check.failure, text_of(in_words(report.check)));
}

// What `attnscope analyze` prints, without styles, `width` columns wide.
nb::str report_table(const Report& report, std::int64_t top, int width) {
  const figure::Terminal terminal({.width = width}, false);
  return text_of(figure::failed_check(report.check, terminal) + figure::first_line(report.heads, terminal) + "\n" +
                 figure::table_of(report.heads, top, terminal));
}

// ---- of many texts ----

// Sums over texts. Thread-safe: any number of threads may add.
class Corpus {
  template <typename Work>
  auto locked(const Work& work) {
    return unlocked([&](ThreadPool& pool) {
      const std::lock_guard lock(mutex_);
      return work(pool);
    });
  }

 public:
  // model: the package's Model.
  Corpus(const nb::object& model, std::int64_t beyond, std::int64_t max_tokens)
      : model_(nb::cast<std::shared_ptr<Model>>(model.attr("_held"))),
        sums_(model_->reader, {.beyond = beyond, .max_tokens = max_tokens}) {}

  void add(const std::string& text) {
    check_signals();
    locked([&](ThreadPool& pool) { sums_.add(text, pool); });
  }
  void finish() {
    locked([&](ThreadPool& pool) { sums_.finish(pool); });
  }
  void load(const std::string& saved) {
    locked([&](ThreadPool& /*pool*/) { sums_.load(saved); });
  }
  void merge(const std::string& saved) {
    locked([&](ThreadPool& /*pool*/) { sums_.merge(saved); });
  }
  std::string save() {
    return locked([&](ThreadPool& /*pool*/) { return sums_.save(); });
  }
  nb::dict counts() {
    const insight::CorpusCounts all = locked([&](ThreadPool& /*pool*/) { return sums_.counts(); });
    nb::dict out;
    out["texts"] = all.texts;
    out["tokens"] = all.tokens;
    out["cut"] = all.cut;
    out["empty"] = all.empty;
    return out;
  }
  std::shared_ptr<Report> report() {
    return locked([&](ThreadPool& pool) {
      std::vector<HeadStatistics> means = sums_.means();
      std::vector<insight::LayerStatistics> layers = layer_statistics(means);
      return std::make_shared<Report>(nullptr, insight::CheckResult{}, sums_.counts(), std::move(layers),
                                      insight::HeadsReport(std::move(means), model_->induction(pool)));
    });
  }

 private:
  std::shared_ptr<Model> model_;
  std::mutex mutex_;
  insight::Corpus sums_;
};

// All texts of a file, as the command line reads them.
nb::list read_texts(const std::string& file, const std::optional<std::string>& column) {
  text::DataSet texts(file, column);
  nb::list out;
  while (const std::optional<std::string> text = texts.next()) out.append(text_of(*text));
  return out;
}

}  // namespace

void bind_reports(nb::module_& m) {
  m.def("statistics", &statistics, "recording"_a, "kind"_a.none(), "beyond"_a);
  nb::class_<Report>(m, "Report")
      .def("heads", &ranked_heads)
      .def("check", &check_of)
      .def("texts", [](const Report& report) { return report.texts.texts; })
      .def("json", [](const Report& report) { return text_of(insight::as_line(json_of(report))); })
      .def("table", &report_table)
      .def("curves", [](const Report& report) { return Drawing{figure::entropy_curves(report.heads)}; });
  m.def("analyze", &analyze, "recording"_a, "kind"_a.none(), "beyond"_a);
  nb::class_<Corpus>(m, "Corpus")
      .def(nb::init<const nb::object&, std::int64_t, std::int64_t>())
      .def("add", &Corpus::add)
      .def("finish", &Corpus::finish)
      .def("load", &Corpus::load)
      .def("merge", &Corpus::merge)
      .def("save", &Corpus::save)
      .def("counts", &Corpus::counts)
      .def("report", &Corpus::report);
  m.def("read_texts", &read_texts, "file"_a, "column"_a.none());
}

}  // namespace attn::python
