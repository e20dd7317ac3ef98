// apps/cli/options/view_option.h - what a command that draws looks at.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apps/cli/options/source.h"
#include "apps/cli/output/json.h"
#include "figure/scene/attention_figures.h"

namespace attn::cli {

struct Subject {
  std::unique_ptr<insight::Specimen> specimen;
  std::string name;  // of the model or of the file
  bool value_weighted = false, aside = false;

  [[nodiscard]] figure::Subject drawn() const { return {*specimen, name, value_weighted, aside}; }
};

// A source, as it is or seen through --measure, --words and --aside.
struct ViewOption {
  SourceOption source;
  std::string measure = "raw";
  bool words = false, aside = false;

  void add_to(CLI::App& command, bool with_measure = true);
  [[nodiscard]] Subject open(ThreadPool& pool) const;
};

// Heads of one layer: --layer, --kind and --heads 0,3,5.
struct LayerOption {
  HeadOption layer;
  std::vector<std::int64_t> heads;  // empty: all

  void add_to(CLI::App& command);
  // Throws UsageError that says which there are.
  [[nodiscard]] std::vector<insight::HeadName> chosen(const insight::Specimen& specimen) const;
};

// With a progress line.
std::vector<insight::Picture> pictures_of(const insight::Specimen& specimen,
                                          const std::vector<insight::HeadName>& heads, std::int64_t most,
                                          insight::Reduce reduce, ThreadPool& pool);

// kind, measure, aside, tokens, keys, and heads as [{layer, head, weights}]; reduce, if cells are several weights each.
// All heads are of one kind.
Json to_json(const Subject& subject, const std::vector<insight::HeadName>& heads,
             const std::vector<insight::Picture>& pictures, const ViewOption& view);

}  // namespace attn::cli
