// apps/cli/commands/analyze.h - what attnscope analyze was asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "apps/cli/command.h"
#include "apps/cli/options/figure_option.h"
#include "apps/cli/options/source.h"
#include "apps/cli/output/terminal.h"
#include "insight/experiments/corpus.h"
#include "insight/statistics/head_types.h"

namespace attn::insight {
struct Analysis;  // insight/io/json.h is for .cc files only
}

namespace attn::cli {

struct Analyze {
  SourceOption source;
  std::optional<std::string> kind_name;
  std::int64_t beyond = 16;
  std::int64_t top = 12;
  bool all = false;
  std::optional<std::string> json;  // a file, or empty: standard output
  FigureOption figure;

  // Of a corpus.
  std::optional<std::string> corpus, column, state;
  std::int64_t limit = 0;  // 0: all texts
  std::int64_t max_tokens = 512;

  void run(Shell& shell) const;

 private:
  void run_text(Shell& shell) const;
  void tell(const insight::Analysis& analysis) const;
  void run_corpus(const std::string& file, Shell& shell) const;
  void report_corpus(const insight::Corpus& sums, const nn::Matrix& induction) const;
  void write_figure(const insight::HeadsReport& report) const;
  // The best heads, and how many there are beside them.
  [[nodiscard]] std::string table_of(const insight::HeadsReport& report, const Terminal& terminal) const;
  [[nodiscard]] std::int64_t rows() const { return all ? INT64_MAX : top; }
};

}  // namespace attn::cli
