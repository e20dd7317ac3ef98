// engine/kernels/product/product.h - y = f(x W^T + bias) + add, with weights that are packed once.
//
// Weights lie in panels [in][2 vectors]: as many outputs as two vectors hold, input by input. Rows of x are cut into as
// few strips as the height of the register tile allows; their heights differ by at most one row. Every output is a sum
// of chains of kDepth products, added in order: its bits depend on its row and its weights alone.
#pragma once

#include <cstdint>

#include "engine/kernels/common/plain.h"
#include "engine/kernels/rows/row_ops.h"

namespace attn::kernels {

inline constexpr std::int64_t kDepth = 256;  // inputs at a time: at most 32 KB of a panel of float weights

// Outputs per panel in the instruction set in use.
std::int64_t panel_columns() noexcept;

// Writes panels [first, first + count) of one matrix, in the type `to`: that of the matrix, or float32. The last panel
// is padded with 0.
struct PackWeights {
  Rows matrix;  // [out, in]; [in, out] if input_first
  bool input_first = false;
  std::int64_t inputs = 0, outputs = 0;
  Element to = Element::float32;
  void* panels = nullptr;  // where panel 0 lies; aligned to 64 bytes
};
void pack_weights(const PackWeights& task, std::int64_t first, std::int64_t count) noexcept;

// The number of strips that these rows are cut into.
std::int64_t strips_of(std::int64_t rows) noexcept;

// Copies strips [first, first + count) of x, each to [in / kDepth][rows of the strip][kDepth]. packed_floats() is the
// size of all strips.
struct PackRows {
  InRows x;
  std::int64_t rows = 0, inputs = 0;
  float* to = nullptr;      // aligned to 64 bytes
  bool transposed = false;  // x is [in, rows]
};
std::int64_t packed_floats(std::int64_t rows, std::int64_t inputs) noexcept;
void pack_rows(const PackRows& task, std::int64_t first, std::int64_t count) noexcept;

struct Product {
  const float* x = nullptr;  // as pack_rows writes it; a single row may be used in place
  std::int64_t rows = 0, inputs = 0;
  const void* panels = nullptr;     // null: chunks of `source` are packed when they are needed
  Element type = Element::float32;  // of the panels
  Rows source;                      // [out, in]; [in, out] if input_first. Read only if panels is null
  bool input_first = false;
  std::int64_t outputs = 0;
  const float* bias = nullptr;  // padded to whole panels; null: none
  Activation activation = Activation::none;
  InRows add;  // null: nothing; may be out
  OutRows out;
};

// A part of a product: some strips by some panels.
struct ProductPart {
  std::int64_t first_strip = 0, strips = 0;
  std::int64_t first_panel = 0, panels = 0;
  // Panels whose sums are open at a time. 1: each panel is read from end to end, against all of x. More: kDepth inputs
  // of x at a time, against all these panels.
  std::int64_t together = 1;
  float* scratch = nullptr;  // product_scratch() floats, aligned to 64 bytes
};
std::int64_t product_scratch(std::int64_t strips, std::int64_t together) noexcept;
void multiply(const Product& task, const ProductPart& part) noexcept;

}  // namespace attn::kernels
