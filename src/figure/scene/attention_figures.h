// figure/scene/attention_figures.h - figures of a specimen's heads: what each shows, and what stands around it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attn/thread_pool.h"
#include "base/progress.h"
#include "figure/scene/figure.h"
#include "insight/blocks/picture.h"
#include "insight/paths/residual.h"
#include "insight/tables/attention_tables.h"
#include "insight/tables/view_options.h"

namespace attn::figure {

// What is drawn, and what to call it.
struct FigureTables {
  const insight::AttentionTables& tables;
  std::string name;                // of the model or of the file; empty: none
  insight::ViewOptions view = {};  // how the tables are shown
};

// How many cells a head's table has in a file, in each direction.
inline constexpr std::int64_t kHeatmapCells = 2048;  // a dot a cell on a large page
inline constexpr std::int64_t kGridCells = 256;
inline constexpr std::int64_t kOverviewCells = 64;
inline constexpr std::int64_t kDifferenceCells = 1024;
inline constexpr std::int64_t kHeadViewTokens = 256;  // more lines than that nobody can follow

// Most weights are small: on a linear scale thumbnails would be black.
inline constexpr Scale kOverviewScale = Scale::square_root;
inline constexpr const char* kDifferenceColours = "RdBu";

struct Pictures {
  std::int64_t most = kHeatmapCells;  // cells in each direction
  insight::Reduce reduce = insight::Reduce::max;
  base::Progress progress = {};  // in heads
};
// Of several heads, a head a thread.
std::vector<insight::Picture> pictures_of(const insight::AttentionTables& tables,
                                          const std::vector<insight::HeadId>& heads, const Pictures& how,
                                          ThreadPool& pool);

// A figure of pictures that have been made: of one head; of heads of a layer; of all heads of a kind, in their order.
Heatmap heatmap_of(const FigureTables& drawn, const insight::HeadId& head, insight::Picture picture);
Grid grid_of(const FigureTables& drawn, const std::vector<insight::HeadId>& heads,
             std::vector<insight::Picture> pictures);
Overview overview_of(const FigureTables& drawn, insight::Kind kind, std::vector<insight::Picture> pictures);
// Of whole tables. check_lines() says beforehand whether there are too many tokens: std::invalid_argument.
HeadView head_view_of(const FigureTables& drawn, const std::vector<insight::HeadId>& heads,
                      std::vector<insight::Picture> pictures);
void check_lines(const insight::AttentionTables& tables, insight::Kind kind);

// What two readings have different (insight/tables/difference.h), in at most `most` cells each way, means of what is in
// them.
Heatmap difference_of(const insight::AttentionTables& less, const insight::HeadId& head, std::int64_t most,
                      ThreadPool& pool);

// Tokens above a layer, followed down to the text.
struct FollowedTable {
  const insight::UpperTokens& upper;
  const nn::Matrix& numbers;  // [tokens, N]
  std::string name;           // "rollout", "flow"
  std::string measure;        // what a number is
};
inline constexpr const char* kRolloutMeasure = "Share of the text's token";
Heatmap followed_of(const insight::AttentionTables& tables, const FollowedTable& found);
// "layer 0", "layers 0 to 3".
std::string layers_up_to(std::int64_t layer);

// ---- what these are made of ----

// Labels of `cells` cells: the tokens, or where a cell is several of them the number of the first.
std::vector<std::string> labels_of(const std::vector<text::Token>& tokens, std::int64_t cells);

// What a table's rows and columns are.
struct AxisNames {
  std::string rows, columns;
};
AxisNames axis_names(insight::Kind kind);

// "layer 5"; with the kind in front if it is not self: "cross layer 5".
std::string layer_name(const insight::HeadId& head);

// "max", "mean" and "farthest".
std::string_view name_of(insight::Reduce reduce) noexcept;
// "Each cell is the max of 8 x 8 weights."; empty if every cell is one weight.
std::string caption_of(const insight::Picture& picture);

}  // namespace attn::figure
