// attn/mask.h - which query sees which key, as one small value.
//
//   Mask mask = Causal{} & Window{256} & Padding{{300, 512}};
//   Mask same = parse_mask("causal & window(256) & padding(300,512)");
//
// A mask has no size of its own: it is defined at any position, and check() throws if it does not fit a problem.
// docs/masks.md draws each one.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/mask_rule.h"
#include "attn/view.h"

namespace attn {

// Every query sees every key: the default mask.
struct Everything {
  std::uint64_t row(std::int64_t, std::int64_t, std::int64_t, std::int64_t) const { return ~std::uint64_t{0}; }
  Cover cover(const Tile&) const { return Cover::all; }
  std::string text() const { return "everything"; }
};

// A rule or a combination of rules. Immutable: copies share the rule, and any number of threads may use it.
class Mask {
 public:
  Mask() = default;  // Everything
  template <typename R>
    requires(!std::same_as<R, Mask> && MaskRule<R>)
  Mask(R rule) {  // NOLINT: a rule is a mask
    if constexpr (!std::same_as<R, Everything>) {
      node_ = std::make_shared<const detail::RuleNode<R>>(std::move(rule));
    }
  }
  explicit Mask(std::shared_ptr<const detail::MaskNode> node) : node_(std::move(node)) {}

  // See MaskRule.
  [[nodiscard]] std::uint64_t row(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    return node_ ? node_->row(b, h, i, j) : ~std::uint64_t{0};
  }
  [[nodiscard]] Cover cover(const Tile& tile) const { return node_ ? node_->cover(tile) : Cover::all; }

  // Writes row() of queries tile.i0 ... tile.i1 - 1 at key tile.j0 to out, one word per query. The tile has at most 64
  // keys; bits of keys at or beyond tile.j1 are unspecified.
  void rows(const Tile& tile, std::uint64_t* out) const;

  // Whether query i sees key j, for any j.
  [[nodiscard]] bool allows(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    return ((row(b, h, i, j & ~std::int64_t{63}) >> (j & 63)) & 1) != 0;
  }

  // Whether the bits may depend on b, on h. Sequences and heads share a plan where they do not.
  [[nodiscard]] bool per_batch() const { return node_ && node_->per_batch(); }
  [[nodiscard]] bool per_head() const { return node_ && node_->per_head(); }

  // Whether this is the default mask. (Another mask may allow everything too, without being known to.)
  [[nodiscard]] bool everything() const { return !node_; }

  // Text from which parse_mask() makes the same mask, unless this one has a bias or a rule defined elsewhere.
  [[nodiscard]] std::string text() const { return node_ ? node_->text() : "everything"; }

  // Throws std::invalid_argument if a table, lengths or ids inside do not fit the problem; the message has both sizes.
  void check(const Extent& extent) const {
    if (node_) node_->check(extent);
  }

  // What additive tables add to the scores: [1|B, 1|H, 1|N, M], where an axis of 1 has stride 0; empty if they add
  // nothing. Valid as long as this mask or a copy of it lives.
  [[nodiscard]] View<const float, 4> bias() const { return node_ ? node_->bias() : View<const float, 4>{}; }

  [[nodiscard]] const std::shared_ptr<const detail::MaskNode>& node() const { return node_; }

 private:
  std::shared_ptr<const detail::MaskNode> node_;  // null: everything
};

// Pairs that both masks allow (&), that at least one allows (|), that the mask forbids (~). The biases of both sides
// are added, also where only one side allows the pair. Throws std::invalid_argument if their shapes do not broadcast,
// for ~ of a mask with a bias, and for nesting deeper than kMaxMaskDepth (long chains of one operator are flat).
inline constexpr int kMaxMaskDepth = 200;
Mask operator&(const Mask& a, const Mask& b);
Mask operator|(const Mask& a, const Mask& b);
Mask operator~(const Mask& a);

// ---- rules by position ----

// A window without a limit on that side.
inline constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

// j <= i + offset. With a cache of M - N older keys, offset is M - N.
struct Causal {
  std::int64_t offset = 0;

  std::uint64_t row(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const;
  Cover cover(const Tile& tile) const;
  std::string text() const;
};

// j <= i + offsets[b]: caches that hold a different number of older keys for each sequence.
struct CausalPerSequence {
  explicit CausalPerSequence(std::vector<std::int64_t> offsets);  // B of them, or one for all

  std::uint64_t row(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const;
  Cover cover(const Tile& tile) const;
  bool per_batch() const { return offsets.size() > 1; }
  void check(const Extent& extent) const;
  std::string text() const;

  std::vector<std::int64_t> offsets;
};

// i - left <= j <= i + right, both ends included. Window{w}: |i - j| <= w. Window{left, 0} looks back only.
struct Window {
  explicit Window(std::int64_t width) : Window(width, width) {}
  Window(std::int64_t left, std::int64_t right);  // throws std::invalid_argument if one is negative

  std::uint64_t row(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const;
  Cover cover(const Tile& tile) const;
  std::string text() const;

  std::int64_t left, right;
};

// |i - j| <= width, and i - j is a multiple of dilation.
struct Dilated {
  Dilated(std::int64_t width, std::int64_t dilation);  // throws std::invalid_argument below 0, below 1

  std::uint64_t row(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const;
  Cover cover(const Tile& tile) const;
  std::string text() const;

  std::int64_t width, dilation;
  std::uint64_t comb;  // bits 0, dilation, 2 dilation ...
};

// |i - j| <= stride, or i or j is a multiple of stride.
struct Sparse {
  explicit Sparse(std::int64_t stride);  // throws std::invalid_argument below 1

  std::uint64_t row(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const;
  void rows(const Tile& tile, std::uint64_t* out) const;
  Cover cover(const Tile& tile) const;
  std::string text() const;

  std::int64_t stride;
  std::uint64_t comb;  // bits 0, stride, 2 stride ...
};

// i < count or j < count: the first tokens see everything and are seen by everything.
struct Global {
  explicit Global(std::int64_t count);  // throws std::invalid_argument below 0

  std::uint64_t row(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const;
  Cover cover(const Tile& tile) const;
  std::string text() const;

  std::int64_t count;
};

// i / size == j / size.
struct Block {
  explicit Block(std::int64_t size);  // throws std::invalid_argument below 1

  std::uint64_t row(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const;
  Cover cover(const Tile& tile) const;
  std::string text() const;

  std::int64_t size;
};

// Neighbourhood attention (Hassani et al., 2023) on a canvas whose tokens are numbered row by row: each query sees the
// kernel_width x kernel_height tokens around it. At an edge the kernel is moved inwards, so that every query sees as
// many keys. N = M = width * height.
struct Natten {
  struct Size {
    std::int64_t width = 1, height = 1;
  };
  Natten(std::int64_t length, std::int64_t side) : Natten(Size{length, 1}, Size{side, 1}) {}
  // Throws std::invalid_argument unless the sides of the kernel are odd and no longer than those of the canvas.
  Natten(Size canvas, Size kernel);

  std::uint64_t row(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const;
  Cover cover(const Tile& tile) const;
  void check(const Extent& extent) const;
  std::string text() const;

  Size canvas, kernel;
};

// ---- rules with data ----

// j < lengths[b]; a single length applies to every sequence. Queries beyond the length are not masked.
struct Padding {
  explicit Padding(std::vector<std::int64_t> lengths);  // one or B of them, none negative

  std::uint64_t row(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const;
  Cover cover(const Tile& tile) const;
  bool per_batch() const { return lengths.size() > 1; }
  void check(const Extent& extent) const;
  std::string text() const;

  std::vector<std::int64_t> lengths;
};

// j < lengths[b], as Padding, but meant for |: Causal{} | Prefix{4} lets every query see the first four keys.
struct Prefix {
  explicit Prefix(std::int64_t length) : Prefix(std::vector{length}) {}
  explicit Prefix(std::vector<std::int64_t> lengths);  // one or B of them, none negative

  std::uint64_t row(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const;
  Cover cover(const Tile& tile) const;
  bool per_batch() const { return lengths.size() > 1; }
  void check(const Extent& extent) const;
  std::string text() const;

  std::vector<std::int64_t> lengths;
};

// ids[b, i] == key_ids[b, j]: documents that share a sequence do not see each other. Without ids of their own the keys
// have those of the queries, and N = M.
class Document {
 public:
  explicit Document(const std::vector<std::int64_t>& ids);  // the same for every sequence
  explicit Document(View<const std::int64_t, 2> ids);       // [1|B, N]; copied
  // [1|B, N] and [1|B, M], with as many sequences in both. A query whose id no key has sees nothing.
  Document(View<const std::int64_t, 2> ids, View<const std::int64_t, 2> key_ids);

  std::uint64_t row(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const;
  Cover cover(const Tile& tile) const;
  bool per_batch() const;
  void check(const Extent& extent) const;
  std::string text() const;

 private:
  struct Index;
  std::shared_ptr<const Index> index_;
};

namespace detail {
// Compiled once, next to the rules, where rows() can inline row().
extern template struct RuleNode<Causal>;
extern template struct RuleNode<CausalPerSequence>;
extern template struct RuleNode<Window>;
extern template struct RuleNode<Dilated>;
extern template struct RuleNode<Sparse>;
extern template struct RuleNode<Global>;
extern template struct RuleNode<Block>;
extern template struct RuleNode<Natten>;
extern template struct RuleNode<Padding>;
extern template struct RuleNode<Prefix>;
extern template struct RuleNode<Document>;
}  // namespace detail

// ---- tables: copied, 8 pairs per byte ----

// A mask from table [1|B, 1|H, 1|N, M]: a pair is visible where the table is true (not 0).
Mask table(View<const bool, 4> table);
Mask table(View<const std::uint8_t, 4> table);

// Padding from table [1|B, M], which is true (not 0) at visible keys, or from ids [1|B, M]: keys whose id is pad_id are
// hidden.
Mask padding_table(View<const bool, 2> table);
Mask padding_table(View<const std::uint8_t, 2> table);
Mask padding_ids(View<const std::int64_t, 2> ids, std::int64_t pad_id);

// A mask from an additive table [1|B, 1|H, 1|N, M], as transformers makes them. A value at or below -1e9 (including
// -inf and float's lowest) forbids the pair; any other value, NaN included, is added to the score. If all allowed
// values are 0, the mask has no bias(). The table is copied.
Mask additive(View<const float, 4> table);

// Shape and strides that make a table of another rank a table [1|B, 1|H, 1|N, M], for a problem of this extent. The
// table may be
//
//   [M]   [N,M]   [H,N,M]   [B,H,N,M], and 1 for any B, H or N;   [B,M] if B is not N.
//
// Axes are counted from the right, as numpy, torch and ONNX count them. strides count elements; the last one must be 1
// unless M <= 1. Throws std::invalid_argument, with both sizes in the message, for any other shape.
struct TableAxes {
  Shape<4> shape{}, strides{};
};
TableAxes table_axes(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides, const Extent& extent);

// ---- text ----

// Parses what Mask::text() writes. ~ binds tighter than &, and & tighter than |. Spaces are ignored.
//
// clang-format off
//   everything  causal  causal(3)  causal(3,5)  window(256)  window(256,0)  window(inf,0)  dilated(8,2)  sparse(4)
//   global(2)  block(64)  natten(100,7)  natten(32,24,5,5)  padding(3,5)  prefix(4)  document(0,0,1,1)
//   document(0,0,1,1;0,1,1,1)  table(110,011)  ~causal  (a | b) & c
// clang-format on
//
// A table is rows of 0 and 1 separated by `,`; heads are separated by `/` and sequences by `;`, also in document, where
// `/` separates the ids of the queries from those of the keys.
// Throws MaskTextError: the first line of its message names the column and the problem; then come the text and a caret
// below that column.
struct MaskTextError : std::invalid_argument {
  MaskTextError(const std::string& message, std::int64_t at) : std::invalid_argument(message), column(at) {}
  std::int64_t column;  // from 1, in characters
};
Mask parse_mask(std::string_view text);

// Draws the pairs of head h of sequence b, one line per query: ■ is visible, · is not.
std::string draw(const Mask& mask, std::int64_t queries, std::int64_t keys, std::int64_t b = 0, std::int64_t h = 0);

}  // namespace attn
