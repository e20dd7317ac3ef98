// apps/cli/commands/analyze_corpus.cc - attnscope analyze --corpus: a run that ranks share and that can be stopped and
// resumed.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>
#include <stdexcept>

#include "apps/cli/command.h"
#include "apps/cli/commands/analyze.h"
#include "apps/cli/options/paths.h"
#include "apps/cli/options/ranks.h"
#include "apps/cli/output/json.h"
#include "apps/cli/output/output_file.h"
#include "apps/cli/output/progress.h"
#include "attn/error.h"
#include "base/json_file.h"
#include "base/new_file.h"
#include "base/read_file.h"
#include "figure/scene/heads_report.h"
#include "insight/experiments/corpus_shards.h"
#include "insight/statistics/induction.h"
#include "text/datasets/data_set.h"

namespace attn::cli {

namespace {

using Exact = nlohmann::json;  // keeps doubles exactly

constexpr std::int64_t kMostStateBytes = std::int64_t{1} << 30;

// Identifies a run. A saved state, or a rank, of any other run is refused.
struct CorpusRun {
  Exact options;
  Exact scores;  // induction scores on random tokens: they differ between models of the same shape
};

bool same_model(const Exact& one, const Exact& other) {
  const auto number = [](const Exact& score) {
    return score.is_null() ? std::numeric_limits<double>::quiet_NaN() : score.get<double>();
  };
  return std::ranges::equal(one, other, [&](const Exact& a, const Exact& b) {
    const double x = number(a), y = number(b);
    return std::isnan(x) ? std::isnan(y) : std::abs(x - y) <= 1e-3;  // CPUs round differently
  });
}

class StateFile {
 public:
  // save_every: seconds between two saves.
  StateFile(std::string file, double save_every, const CorpusRun& run)
      : file_(std::move(file)), save_every_(save_every), run_(run) {}

  // Restores `corpus` and returns the number of texts in it; 0 without a file. Throws attn::Error.
  std::int64_t load(insight::Corpus& corpus) const {
    if (!std::filesystem::exists(file_)) return 0;
    try {
      const Exact state = parsed(base::read_file(file_, kMostStateBytes));
      if (state.at("format") != kFormat) {
        throw Error(file_, "was saved by another version; delete it, or choose another --state");
      }
      if (state.at("run") != run_.options || !same_model(state.at("model"), run_.scores)) {
        throw Error(file_,
                    "is the state of another run (model, corpus or options); delete it, or choose another --state");
      }
      corpus.load(state.at("corpus").dump());
      return state.at("next");
    } catch (const Exact::exception&) {
      refuse();
    } catch (const std::invalid_argument& wrong) {
      throw Error(file_, std::string("is not the state of this corpus: ") + wrong.what());
    }
  }

  // `next`: number of texts in `corpus`, a whole number of shards.
  void save(const insight::Corpus& corpus, std::int64_t next) {
    if (next != saved_) write(corpus, next);
    last_ = Clock::now();
  }
  [[nodiscard]] bool due() const { return std::chrono::duration<double>(Clock::now() - last_).count() >= save_every_; }
  void remove() const { std::filesystem::remove(file_); }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr const char* kFormat = "attnscope corpus 2";

  [[noreturn]] void refuse() const {
    throw Error(file_, "is not the state of a corpus; delete it, or choose another --state");
  }
  [[nodiscard]] Exact parsed(const std::string& text) const {
    try {
      return base::parse_json(text, file_);
    } catch (const Error&) {
      refuse();
    }
  }
  void write(const insight::Corpus& corpus, std::int64_t next) {
    const Exact state = {{"format", kFormat},
                         {"run", run_.options},
                         {"model", run_.scores},
                         {"next", next},
                         {"corpus", base::parse_json(corpus.save(), "the sums")}};
    const std::string bytes = state.dump();
    base::NewFile out(file_);
    out.write(bytes.data(), bytes.size());
    out.commit();
    saved_ = next;
  }

  std::string file_;
  double save_every_;
  const CorpusRun& run_;
  std::int64_t saved_ = 0;
  Clock::time_point last_ = Clock::now();
};

// What every rank opens on its own.
struct Opened {
  Opened(const std::string& file, const AnalyzeCommand& asked, ThreadPool& pool)
      : texts(file, asked.column),
        reader(model::Reader::load(asked.source.model.folder())),
        induction(insight::induction_scores(reader, pool)) {
    run.scores = std::vector<double>(induction.data(), induction.data() + induction.rows() * induction.columns());
    run.options = {{"type", reader.model->facts().type},
                   {"parameters", reader.model->facts().parameters},
                   {"corpus", texts.fingerprint()},
                   {"column", asked.column.value_or("")},
                   {"limit", asked.limit},
                   {"beyond", asked.beyond},
                   {"max_tokens", asked.max_tokens}};
  }

  text::DataSet texts;
  model::Reader reader;
  nn::Matrix induction;
  CorpusRun run;
};

// Throws FailedTogether on all ranks if one of them belongs to another run than rank 0.
void check_same(const CorpusRun& mine, Ranks& ranks) {
  const std::vector<std::string> all = ranks.gather(Exact{{"run", mine.options}, {"model", mine.scores}}.dump());
  const Exact first = base::parse_json(all.front(), "the run of rank 0");
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    const Exact other = base::parse_json(all[rank], "the run of another rank");
    const auto same = [&](const char* option) { return other["run"][option] == first["run"][option]; };
    const char* wrong = nullptr;
    if (!same("corpus")) {
      wrong = "reads a different corpus";
    } else if (!same("type") || !same("parameters") || !same_model(other["model"], first["model"])) {
      wrong = "has a different model";
    } else if (other["run"] != first["run"]) {
      wrong = "has different options";
    }
    if (wrong != nullptr) throw FailedTogether(fmt::format("rank {} {} than rank 0", rank, wrong), 1);
  }
}

// What rank 0 does between texts: saves the state, shows progress, and throws Interrupted after Ctrl-C.
class Between {
 public:
  struct Where {
    std::int64_t from = 0, limit = 0;  // as in ShardTexts
  };
  Between(const insight::Corpus& sums, StateFile& state, const text::DataSet& texts, Where where)
      : sums_(sums), state_(state), texts_(texts), where_(where) {}

  void operator()(const insight::ShardsSoFar& so_far) {
    if (state_.due() || interrupted()) state_.save(sums_, so_far.in_sums);
    if (interrupted()) {
      throw Interrupted{fmt::format("stopped after {} texts; rerun the command to resume", grouped(so_far.in_sums))};
    }
    if (!line_.due()) return;
    const double by_limit = where_.limit > 0 ? static_cast<double>(so_far.read) / static_cast<double>(where_.limit) : 0;
    line_.show(std::max(by_limit, texts_.share()),
               fmt::format("{} texts, {:.0f} per second", grouped(so_far.read),
                           static_cast<double>(so_far.read - where_.from) / std::max(line_.seconds(), 1e-9)));
  }

 private:
  const insight::Corpus& sums_;
  StateFile& state_;
  const text::DataSet& texts_;
  Where where_;
  ProgressLine line_;
};

std::string in_words(const insight::CorpusCounts& counts) {
  return fmt::format("{} texts of {} tokens; {} were cut, {} were empty and skipped", grouped(counts.texts),
                     grouped(counts.tokens), grouped(counts.cut), grouped(counts.empty));
}

}  // namespace

void AnalyzeCommand::report_corpus(const insight::Corpus& sums, const nn::Matrix& induction) const {
  std::vector<insight::HeadStatistics> means = sums.means();
  const std::vector<insight::LayerStatistics> layers = layer_statistics(means);
  const insight::HeadsReport report(std::move(means), induction);
  write_figure(report);
  if (json) {
    OutputFile out(*json);
    out.write(as_line({{"texts", to_json(sums.counts())},
                       {"look_at", insight::look_at(report)},
                       {"heads", insight::to_json(report)},
                       {"layers", insight::to_json(layers)}}));
    out.commit();
    return;
  }
  const Terminal terminal = Terminal::of_stdout();
  print(figure::first_line(report, terminal) + "\n" + "Means over " + in_words(sums.counts()) + ":\n" +
        table_of(report, terminal));
}

void AnalyzeCommand::run_corpus(const std::string& file, Shell& shell) const {
  Ranks& ranks = shell.ranks();
  ThreadPool& pool = shell.pool();
  if (kind_name && *kind_name != "self") throw UsageError("--corpus supports --kind self only");
  const std::string state_file = state.value_or(file + ".attnscope-state");
  if (!state)
    require_apart({{"--corpus", file}},
                  {{"--state", state_file}, {"--json", json.value_or("")}, {"--output", figure.file}});
  const auto opened = on_all(ranks, [&] { return std::make_unique<Opened>(file, *this, pool); });
  check_same(opened->run, ranks);
  StateFile kept(state_file, save_every, opened->run);
  insight::Corpus sums(opened->reader, {.beyond = beyond, .max_tokens = max_tokens});
  const bool first = ranks.rank() == 0;
  const std::int64_t known = on_all(ranks, [&] { return first ? kept.load(sums) : 0; });
  const std::int64_t from = std::stoll(ranks.gather(std::to_string(known)).front());
  if (first && from > 0) std::fprintf(stderr, "note: resuming after %s texts\n", grouped(from).c_str());
  watch_for_interrupt();
  on_all(ranks, [&] {  // if one rank throws, add_shards() ends on the others
    Between between(sums, kept, opened->texts, {from, limit});
    insight::add_shards(sums, {[&] { return opened->texts.next(); }, from, limit}, std::ref(between), ranks, pool);
  });
  on_all(ranks, [&] {
    if (first) report_corpus(sums, opened->induction);
  });
  if (first) kept.remove();
}

}  // namespace attn::cli
