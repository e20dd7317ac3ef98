// engine/kernels/product/product.h - y = f(x W^T + bias) + add, with weights that were packed once.
//
// Weights lie in panels [in][2 vectors]: as many outputs as two vectors hold, input by input. Rows of x are cut into as
// few strips as the height of the register tile allows, all alike but for one row. Every output is one chain of
// products kDepth long after the other, added up in order: its bits depend on nothing but its row and its weights.
#pragma once

#include <cstdint>

#include "engine/kernels/common/plain.h"
#include "engine/kernels/rows/row_ops.h"

namespace attn::kernels {

inline constexpr std::int64_t kDepth = 256;  // inputs at a time: with float weights, 32 KB of a panel at most

// Outputs in a panel, in the instruction set in use.
std::int64_t panel_columns() noexcept;

// Writes panels [first, first + count) of one matrix, to the type `to`: that of the matrix, or float32. Outputs beyond
// the last are 0.
struct PackWeights {
  Rows matrix;               // [out, in], or [in, out]
  bool input_first = false;  // the latter
  std::int64_t inputs = 0, outputs = 0;
  Element to = Element::float32;
  void* panels = nullptr;  // where panel 0 lies; aligned to 64 bytes
};
void pack_weights(const PackWeights& task, std::int64_t first, std::int64_t count) noexcept;

// Into how many strips so many rows are cut.
std::int64_t strips_of(std::int64_t rows) noexcept;

// Copies strips [first, first + count) of x to [in / kDepth][rows of the strip][kDepth] each. All of them take
// packed_floats().
struct PackRows {
  InRows x;
  std::int64_t rows = 0, inputs = 0;
  float* to = nullptr;      // aligned to 64 bytes
  bool transposed = false;  // x is [in, rows]
};
std::int64_t packed_floats(std::int64_t rows, std::int64_t inputs) noexcept;
void pack_rows(const PackRows& task, std::int64_t first, std::int64_t count) noexcept;

struct Product {
  const float* x = nullptr;  // as pack_rows leaves it; a single row of numbers side by side
  std::int64_t rows = 0, inputs = 0;
  const void* panels = nullptr;     // null: weights lie where they were, and a chunk is packed when it is needed
  Element type = Element::float32;  // of the panels
  Rows source;                      // [out, in], or [in, out]; looked at only if there are no panels
  bool input_first = false;         // the latter
  std::int64_t outputs = 0;
  const float* bias = nullptr;  // padded to whole panels; null: none
  Activation activation = Activation::none;
  InRows add;  // null: nothing; may be out
  OutRows out;
};

// A part of a product: some strips, some panels.
struct ProductPart {
  std::int64_t first_strip = 0, strips = 0;
  std::int64_t first_panel = 0, panels = 0;
  std::int64_t together = 1;  // panels whose sums are open at a time. 1: a panel is read straight through, and all of x
                              // for each; more: kDepth of x at a time, for all of them
  float* scratch = nullptr;   // product_scratch() floats, aligned to 64 bytes
};
std::int64_t product_scratch(std::int64_t strips, std::int64_t together) noexcept;
void multiply(const Product& task, const ProductPart& part) noexcept;

}  // namespace attn::kernels
