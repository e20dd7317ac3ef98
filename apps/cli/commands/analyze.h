// apps/cli/commands/analyze.h - options of attnscope analyze, shared by analyze.cc and analyze_corpus.cc.
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

struct AnalyzeCommand {
  SourceOption source;
  std::optional<std::string> kind_name;
  std::int64_t beyond = 16;
  std::int64_t top = 12;
  bool all = false;
  std::optional<std::string> json;  // file name; empty: standard output
  FigureOption figure;

  // For --corpus.
  std::optional<std::string> corpus, column, state;
  std::int64_t limit = 0;  // 0: all texts
  std::int64_t max_tokens = 512;
  double save_every = 1;  // seconds between two saves of the state

  void run(Shell& shell) const;

 private:
  void run_text(Shell& shell) const;
  void tell(const insight::Analysis& analysis) const;
  void run_corpus(const std::string& file, Shell& shell) const;
  void report_corpus(const insight::Corpus& sums, const nn::Matrix& induction) const;
  void write_figure(const insight::HeadsReport& report) const;
  // The best heads, and a note that counts the others.
  [[nodiscard]] std::string table_of(const insight::HeadsReport& report, const Terminal& terminal) const;
  [[nodiscard]] std::int64_t rows() const { return all ? INT64_MAX : top; }
};

}  // namespace attn::cli
