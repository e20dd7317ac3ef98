// apps/cli/options/view_option.h - what a command that draws looks at.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apps/cli/options/source.h"
#include "apps/cli/output/json.h"
#include "figure/scene/attention_figures.h"
#include "insight/tables/view_options.h"

namespace attn::cli {

// The tables that a command shows, and how.
struct OpenedTables {
  std::shared_ptr<const insight::AttentionTables> tables;
  std::string name;  // of the model or of the file
  insight::ViewOptions view = {};

  [[nodiscard]] figure::FigureTables drawn() const { return {*tables, name, view}; }
};

// A source with --measure, --words and --without-sinks.
struct ViewOption {
  SourceOption source;
  std::string measure = "raw";
  bool words = false, without_sinks = false;

  void add_to(CLI::App& command, bool with_measure = true);
  [[nodiscard]] OpenedTables open(ThreadPool& pool) const;
};

// Heads of one layer: --layer, --kind and --heads 0,3,5.
struct LayerOption {
  HeadOption layer;
  std::vector<std::int64_t> heads;  // empty: all

  void add_to(CLI::App& command);
  // Throws UsageError that says which there are.
  [[nodiscard]] std::vector<insight::HeadId> chosen(const insight::AttentionTables& tables) const;
};

// With a progress line.
std::vector<insight::Picture> pictures_of(const insight::AttentionTables& tables,
                                          const std::vector<insight::HeadId>& heads, std::int64_t most,
                                          insight::Reduce reduce, ThreadPool& pool);

// kind, measure, without_sinks, tokens, keys: the beginning of what every such command prints as JSON.
Json to_json(const OpenedTables& opened, insight::Kind kind);
// That, and heads as [{layer, head, weights}]; reduce, if each cell stands for several weights. All heads are of one
// kind.
Json to_json(const OpenedTables& opened, const std::vector<insight::HeadId>& heads,
             const std::vector<insight::Picture>& pictures);

}  // namespace attn::cli
