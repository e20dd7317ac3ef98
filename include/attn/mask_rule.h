// attn/mask_rule.h - what a rule of a mask must have, and how a mask calls it.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <utility>

#include "attn/view.h"

namespace attn {

// The sizes of a problem: B, H, N, M.
struct Extent {
  std::int64_t batch = 1, heads = 1, queries = 0, keys = 0;
};

// Queries [i0, i1) against keys [j0, j1) of head h of sequence b. Never empty.
struct Tile {
  std::int64_t b = 0, h = 0, i0 = 0, i1 = 0, j0 = 0, j1 = 0;
};

// How many pairs of a tile are visible: none, all, or anything in between. `some` is always safe, it only costs time.
enum class Cover : std::uint8_t { none, some, all };

// The functions that a rule must have. Any type that has them converts to a mask: Mask m = MyRule{...};
//
// clang-format off
//   row(b, h, i, j)   64 keys at once: bit t is set if query i sees key j + t. j is a multiple of 64, i < N, j < M;
//                     bits of keys at or beyond M are ignored.
//   cover(tile)       Cover::none or Cover::all only if that holds for every pair of the tile.
//
// A rule may also have any of these functions. The default is in brackets:
//
//   bool per_batch()                            [false]         whether the bits depend on b
//   bool per_head()                             [false]         whether the bits depend on h
//   void check(const Extent&)                   [fits anything] throws std::invalid_argument, as Mask::check
//   void rows(const Tile&, std::uint64_t* out)  [calls row()]   as Mask::rows
//   std::string text()                          ["custom"]      name(arguments), for messages and files
//   View<const float, 4> bias()                 [empty]         as Mask::bias
// clang-format on
template <typename R>
concept MaskRule = requires(const R& rule, std::int64_t n, const Tile& tile) {
  { rule.row(n, n, n, n) } -> std::convertible_to<std::uint64_t>;
  { rule.cover(tile) } -> std::same_as<Cover>;
};

namespace detail {

// The interface of a rule or of a combination of rules.
struct MaskNode {
  enum class Binding : std::uint8_t { any, both, negation, name };  // operator precedence in text(), loosest first

  MaskNode() = default;
  MaskNode(const MaskNode&) = delete;
  MaskNode& operator=(const MaskNode&) = delete;
  virtual ~MaskNode() = default;

  virtual std::uint64_t row(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const = 0;
  // As Mask::rows: one virtual call for many rows.
  virtual void rows(const Tile& tile, std::uint64_t* out) const = 0;
  virtual Cover cover(const Tile& tile) const = 0;
  virtual bool per_batch() const = 0;
  virtual bool per_head() const = 0;
  virtual void check(const Extent& extent) const = 0;
  virtual std::string text() const = 0;
  virtual View<const float, 4> bias() const = 0;
  virtual Binding binding() const { return Binding::name; }
  virtual int depth() const { return 1; }
};

template <MaskRule R>
struct RuleNode final : MaskNode {
  explicit RuleNode(R r) : rule(std::move(r)) {}

  std::uint64_t row(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const override {
    return rule.row(b, h, i, j);
  }
  void rows(const Tile& tile, std::uint64_t* out) const override {
    if constexpr (requires { rule.rows(tile, out); }) return rule.rows(tile, out);
    for (std::int64_t i = tile.i0; i < tile.i1; ++i) *out++ = rule.row(tile.b, tile.h, i, tile.j0);
  }
  Cover cover(const Tile& tile) const override { return rule.cover(tile); }
  bool per_batch() const override {
    if constexpr (requires { rule.per_batch(); }) return rule.per_batch();
    return false;
  }
  bool per_head() const override {
    if constexpr (requires { rule.per_head(); }) return rule.per_head();
    return false;
  }
  void check(const Extent& extent) const override {
    if constexpr (requires { rule.check(extent); }) rule.check(extent);
  }
  std::string text() const override {
    if constexpr (requires { rule.text(); }) return rule.text();
    return "custom";
  }
  View<const float, 4> bias() const override {
    if constexpr (requires { rule.bias(); }) return rule.bias();
    return {};
  }

  R rule;
};

}  // namespace detail

}  // namespace attn
