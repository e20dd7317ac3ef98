// apps/cli/options/view_option.h - what a command that draws looks at.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apps/cli/options/source.h"
#include "apps/cli/output/json.h"
#include "figure/scene/attention_figures.h"

namespace attn::cli {

struct OpenedTables {
  std::unique_ptr<insight::AttentionTables> tables;
  std::string name;  // of the model or of the file
  bool value_weighted = false, aside = false;

  [[nodiscard]] figure::FigureTables drawn() const { return {*tables, name, value_weighted, aside}; }
};

// A source, as it is or seen through --measure, --words and --aside.
struct ViewOption {
  SourceOption source;
  std::string measure = "raw";
  bool words = false, aside = false;

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

// kind, measure, aside, tokens, keys, and heads as [{layer, head, weights}]; reduce, if cells are several weights each.
// All heads are of one kind.
Json to_json(const OpenedTables& opened, const std::vector<insight::HeadId>& heads,
             const std::vector<insight::Picture>& pictures, const ViewOption& view);

}  // namespace attn::cli
