// cli/view.h - what a command that draws looks at.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "insight/picture.h"
#include "json.h"
#include "source.h"

namespace attn::cli {

struct Subject {
  std::unique_ptr<insight::Specimen> specimen;
  std::string name;  // of the model or of the file
};

// A source, as it is or seen through --measure and --words.
struct ViewOption {
  SourceOption source;
  std::string measure = "raw";
  bool words = false;

  void add_to(CLI::App& command, bool with_measure = true);
  [[nodiscard]] Subject open(ThreadPool& pool) const;
  [[nodiscard]] std::string bar_label() const;  // what the numbers are
};

// Labels of `cells` cells: the tokens, or where a cell is several of them the number of the first.
std::vector<std::string> labels_of(const std::vector<text::Token>& tokens, std::int64_t cells);

// What a table's rows and columns are.
struct AxisNames {
  std::string rows, columns;
};
AxisNames axis_names(model::Kind kind);

// Heads of one layer: --layer, --kind and --heads 0,3,5.
struct LayerOption {
  HeadOption layer;
  std::vector<std::int64_t> heads;  // empty: all

  void add_to(CLI::App& command);
  // Throws UsageError that says which there are.
  [[nodiscard]] std::vector<insight::HeadName> chosen(const insight::Specimen& specimen) const;
};

// Pictures of several heads, a head a thread, with a progress line.
std::vector<insight::Picture> pictures_of(const insight::Specimen& specimen,
                                          const std::vector<insight::HeadName>& heads, std::int64_t most,
                                          insight::Reduce reduce, ThreadPool& pool);

// kind, measure, tokens, keys, and heads as [{layer, head, weights}]; reduce, if cells are several weights each. All
// heads are of one kind.
Json to_json(const Subject& subject, const std::vector<insight::HeadName>& heads,
             const std::vector<insight::Picture>& pictures, const ViewOption& view);

// "layer 5"; with the kind in front if it is not self: "cross layer 5".
std::string layer_name(const insight::HeadName& head);

}  // namespace attn::cli
