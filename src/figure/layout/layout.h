// figure/layout/layout.h - lays out a figure as a scene.
#pragma once

#include "figure/scene/figure.h"
#include "figure/scene/scene.h"

namespace attn::figure {

// The figure must have passed check(). Cells begin and end on whole pixels at `dpi`, in every format.
Scene lay_out(const Figure& figure, double dpi);

Scene lay_out_heatmap(const Heatmap& map, double dpi);
Scene lay_out_mask(const MaskPicture& mask, double dpi);
Scene lay_out_grid(const Grid& grid, double dpi);
Scene lay_out_overview(const Overview& overview, double dpi);
Scene lay_out_headview(const HeadView& view);
Scene lay_out_bars(const Bars& bars);
Scene lay_out_curves(const Curves& curves);

}  // namespace attn::figure
