// figure/scene/attention_figures.h - makes figures of AttentionTables: their cells, labels, titles and captions.
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

// The tables to draw, and their name.
struct FigureTables {
  const insight::AttentionTables& tables;
  std::string name;                // of the model or of the file; may be empty
  insight::ViewOptions view = {};  // how the tables are shown
};

// The largest number of cells of a head's table in a file, in each direction.
inline constexpr std::int64_t kHeatmapCells = 2048;  // one pixel per cell on a large page
inline constexpr std::int64_t kGridCells = 256;
inline constexpr std::int64_t kOverviewCells = 64;
inline constexpr std::int64_t kDifferenceCells = 1024;
inline constexpr std::int64_t kHeadViewTokens = 256;  // more lines are impossible to follow

// Most weights are small: thumbnails would be black on a linear scale.
inline constexpr Scale kOverviewScale = Scale::square_root;
inline constexpr const char* kDifferenceColours = "RdBu";

struct Pictures {
  std::int64_t most = kHeatmapCells;  // maximum number of cells in each direction
  insight::Reduce reduce = insight::Reduce::max;
  base::Progress progress = {};  // counts heads
};
// Makes pictures of several heads, one head per thread.
std::vector<insight::Picture> pictures_of(const insight::AttentionTables& tables,
                                          const std::vector<insight::HeadId>& heads, const Pictures& how,
                                          ThreadPool& pool);

// Figures from finished pictures: of one head; of heads of a layer; of all heads of a kind, in order.
Heatmap heatmap_of(const FigureTables& drawn, const insight::HeadId& head, insight::Picture picture);
Grid grid_of(const FigureTables& drawn, const std::vector<insight::HeadId>& heads,
             std::vector<insight::Picture> pictures);
Overview overview_of(const FigureTables& drawn, insight::Kind kind, std::vector<insight::Picture> pictures);
// Draws whole tables. Call check_lines() first: it throws std::invalid_argument if there are too many tokens.
HeadView head_view_of(const FigureTables& drawn, const std::vector<insight::HeadId>& heads,
                      std::vector<insight::Picture> pictures);
void check_lines(const insight::AttentionTables& tables, insight::Kind kind);

// The difference of two recordings (insight/tables/difference.h), in at most `most` cells in each direction; a cell is
// the mean of its weights.
Heatmap difference_of(const insight::AttentionTables& less, const insight::HeadId& head, std::int64_t most,
                      ThreadPool& pool);

// Rollout or flow: tokens above a layer, followed down to the text.
struct FollowedTable {
  const insight::UpperTokens& upper;
  const nn::Matrix& numbers;  // [tokens, N]
  std::string name;           // "rollout", "flow"
  std::string measure;        // what a number means, for the colour bar
};
inline constexpr const char* kRolloutMeasure = "Share of the text's token";
Heatmap followed_of(const insight::AttentionTables& tables, const FollowedTable& found);
// "layer 0", "layers 0 to 3".
std::string layers_up_to(std::int64_t layer);

// ---- parts of these figures ----

// Labels of `cells` cells: the tokens or, if a cell covers several, the index of the first.
std::vector<std::string> labels_of(const std::vector<text::Token>& tokens, std::int64_t cells);

// What the rows and columns of a table are.
struct AxisNames {
  std::string rows, columns;
};
AxisNames axis_names(insight::Kind kind);

// "layer 5"; for kinds other than self "cross layer 5".
std::string layer_name(const insight::HeadId& head);

// "max", "mean" and "farthest".
std::string_view name_of(insight::Reduce reduce) noexcept;
// "Each cell is the max of 8 x 8 weights."; empty if every cell is one weight.
std::string caption_of(const insight::Picture& picture);

}  // namespace attn::figure
