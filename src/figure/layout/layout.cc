#include "figure/layout/layout.h"

namespace attn::figure {

namespace {

struct LayOut {
  double dpi;

  Scene operator()(const Heatmap& map) const { return lay_out_heatmap(map, dpi); }
  Scene operator()(const MaskPicture& mask) const { return lay_out_mask(mask, dpi); }
  Scene operator()(const Grid& grid) const { return lay_out_grid(grid, dpi); }
  Scene operator()(const Overview& overview) const { return lay_out_overview(overview, dpi); }
  Scene operator()(const HeadView& view) const { return lay_out_headview(view); }
  Scene operator()(const Bars& bars) const { return lay_out_bars(bars); }
  Scene operator()(const Curves& curves) const { return lay_out_curves(curves); }
};

}  // namespace

Scene lay_out(const Figure& figure, double dpi) { return std::visit(LayOut{dpi}, figure); }

const std::vector<double>& dashes_of(int dash) noexcept {
  static const std::vector<std::vector<double>> kDashes = {{}, {4, 2}, {1, 1.5}, {6, 2, 1, 2}, {10, 2}, {2, 3}};
  return kDashes[static_cast<std::size_t>(dash) % kDashes.size()];
}

}  // namespace attn::figure
