// cli/analyze_corpus.cc - attnscope analyze --corpus: a run that can be stopped and goes on.
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <stdexcept>

#include "analyze.h"
#include "attn/error.h"
#include "command.h"
#include "figure/heads_report.h"
#include "insight/corpus.h"
#include "insight/induction.h"
#include "json.h"
#include "model/file_io.h"
#include "progress.h"
#include "table_file.h"
#include "text/data_set.h"

namespace attn::cli {

namespace {

using Exact = nlohmann::json;  // doubles as they are

constexpr double kSaveSeconds = 1;  // between two writes of the state
constexpr std::int64_t kMostStateBytes = std::int64_t{1} << 30;

// What a run is of. A state of anything else is refused.
struct Run {
  Exact options;
  nn::Matrix induction;  // what the model says to random tokens: tells models of one shape apart

  [[nodiscard]] bool same_model(const Exact& scores) const {
    if (scores.size() != static_cast<std::size_t>(induction.rows() * induction.columns())) return false;
    for (std::size_t n = 0; n < scores.size(); ++n) {
      if (std::abs(scores[n].get<double>() - induction.data()[n]) > 1e-3) return false;  // not all CPUs round alike
    }
    return true;
  }
};

class StateFile {
 public:
  StateFile(std::string file, const Run& run) : file_(std::move(file)), run_(run) {}

  // How many texts of the data set are in `corpus` now.
  std::int64_t load(insight::Corpus& corpus) const {
    if (!std::filesystem::exists(file_)) return 0;
    try {
      const Exact state = Exact::parse(model::read_file(file_, kMostStateBytes));
      if (state.at("format") != kFormat) throw Error(file_, "is a state of another version");
      if (state.at("run") != run_.options || !run_.same_model(state.at("model"))) {
        throw Error(file_,
                    "is the state of another run (model, corpus or options); delete it, or name another --state");
      }
      corpus.load(state.at("corpus").dump());
      return state.at("next");
    } catch (const Exact::exception&) {
      throw Error(file_, "is not the state of a corpus; delete it, or name another with --state");
    } catch (const std::invalid_argument& wrong) {
      throw Error(file_, std::string("is not the state of this corpus: ") + wrong.what());
    }
  }

  void save(const insight::Corpus& corpus, std::int64_t next) {
    if (corpus.settled() && next != saved_) write(corpus, next);
    last_ = Clock::now();
  }
  [[nodiscard]] bool due() const { return std::chrono::duration<double>(Clock::now() - last_).count() >= kSaveSeconds; }
  void remove() const { std::filesystem::remove(file_); }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr const char* kFormat = "attnscope corpus 1";

  void write(const insight::Corpus& corpus, std::int64_t next) {
    const nn::Matrix& scores = run_.induction;
    const Exact state = {
        {"format", kFormat},
        {"run", run_.options},
        {"model", std::vector<double>(scores.data(), scores.data() + scores.rows() * scores.columns())},
        {"next", next},
        {"corpus", Exact::parse(corpus.save())}};
    const std::string bytes = state.dump();
    model::NewFile out(file_);
    out.write(bytes.data(), bytes.size());
    out.commit();
    saved_ = next;
  }

  std::string file_;
  const Run& run_;
  std::int64_t saved_ = 0;
  Clock::time_point last_ = Clock::now();
};

// Texts [from, limit) of a data set; limit 0: to its end.
struct Part {
  text::DataSet& texts;
  std::int64_t from = 0, limit = 0;
};

void add_texts(insight::Corpus& corpus, const Part& part, StateFile& state, ThreadPool& pool) {
  auto& [texts, from, limit] = part;
  ProgressLine line;
  std::int64_t next = 0;
  while (next < from && texts.next()) ++next;
  while (limit == 0 || next < limit) {
    const std::optional<std::string> text = texts.next();
    if (!text) break;
    corpus.add(*text, pool);
    ++next;
    if (corpus.settled() && (state.due() || interrupted())) state.save(corpus, next);
    if (interrupted() && corpus.settled()) {
      line.clear();
      std::fprintf(stderr, "stopped after %s texts; the same command goes on from there\n", grouped(next).c_str());
      throw Interrupted();
    }
    if (line.due()) {
      const double by_limit = limit > 0 ? static_cast<double>(next) / static_cast<double>(limit) : 0;
      line.show(std::max(by_limit, texts.share()),
                fmt::format("{} texts, {:.0f} a second", grouped(next),
                            static_cast<double>(next - from) / std::max(line.seconds(), 1e-9)));
    }
  }
  corpus.finish(pool);
}

std::string in_words(const insight::CorpusCounts& counts) {
  return fmt::format("{} texts of {} tokens; {} were cut, {} were empty and left out", grouped(counts.texts),
                     grouped(counts.tokens), grouped(counts.cut), grouped(counts.empty));
}

}  // namespace

void Analyze::run_corpus(const std::string& file, ThreadPool& pool) const {
  if (kind_name && *kind_name != "self") throw UsageError("a corpus is read by heads of kind self only");
  text::DataSet texts(file, column);
  const model::Reader reader = model::Reader::load(source.model.folder());
  Run run;
  run.induction = insight::induction_scores(reader, pool);
  run.options = {{"type", reader.model->facts().type},
                 {"parameters", reader.model->facts().parameters},
                 {"corpus", texts.fingerprint()},
                 {"column", column.value_or("")},
                 {"limit", limit},
                 {"beyond", beyond},
                 {"max_tokens", max_tokens}};
  StateFile kept(state.value_or(file + ".attnscope-state"), run);
  insight::Corpus sums(reader, {.beyond = beyond, .max_tokens = max_tokens});
  const std::int64_t from = kept.load(sums);
  if (from > 0) std::fprintf(stderr, "note: goes on after %s texts\n", grouped(from).c_str());
  watch_for_interrupt();
  add_texts(sums, {texts, from, limit}, kept, pool);
  std::vector<insight::HeadStatistics> means = sums.means();
  const std::vector<insight::LayerStatistics> layers = layer_statistics(means);
  const insight::HeadsReport report(std::move(means), run.induction);
  write_figure(report);
  if (json) {
    OutputFile out(*json);
    out.write(as_line({{"texts", to_json(sums.counts())},
                       {"look_at", insight::look_at(report)},
                       {"heads", insight::to_json(report)},
                       {"layers", insight::to_json(layers)}}));
    out.commit();
  } else {
    const Terminal terminal = Terminal::of_stdout();
    print(figure::first_line(report, terminal) + "\n" + "Means over " + in_words(sums.counts()) + ":\n" +
          table_of(report, terminal));
  }
  kept.remove();
}

}  // namespace attn::cli
