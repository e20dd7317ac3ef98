// engine/mask/mask_table.cc - masks that store one bit per pair.
#include "engine/mask/mask_table.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <utility>

#include "engine/mask/mask_bits.h"

namespace attn {
namespace detail {
namespace {

Shape<4> with_pairs(const Shape<4>& shape) {
  return std::ranges::find(shape, 0) == shape.end() ? shape : Shape<4>{1, 1, 1, 0};
}

std::string extent_text(const Extent& e) { return shape_text({e.batch, e.heads, e.queries, e.keys}); }

}  // namespace

std::string shape_text(const Shape<4>& shape) {
  std::string text = "[";
  for (const std::int64_t n : shape) text += std::to_string(n) + ",";
  text.back() = ']';
  return text;
}

Shape<4> broadcast_strides(const Shape<4>& shape) {
  Shape<4> strides = dense_strides(shape);
  for (std::size_t axis = 0; axis < 3; ++axis) strides[axis] *= shape[axis] != 1;
  return strides;
}

FloatTable::FloatTable(const Shape<4>& shape)
    : shape_(shape), values_(shape[0] * shape[1] * shape[2] * shape[3], 0.0F) {}

FloatTable FloatTable::sum(View<const float, 4> a, View<const float, 4> b) {
  Shape<4> shape{};
  for (std::size_t axis = 0; axis < 4; ++axis) {
    shape[axis] = std::max(a.shape[axis], b.shape[axis]);
    const bool stretch = axis < 3 && std::min(a.shape[axis], b.shape[axis]) == 1;
    if (a.shape[axis] != b.shape[axis] && !stretch) {
      throw std::invalid_argument("mask: biases of shape " + shape_text(a.shape) + " and " + shape_text(b.shape) +
                                  " cannot be added; axes must be equal or 1");
    }
  }
  FloatTable total(shape);
  for (std::int64_t n = 0; n < shape[0]; ++n) {
    for (std::int64_t h = 0; h < shape[1]; ++h) {
      for (std::int64_t i = 0; i < shape[2]; ++i) {
        std::transform(a.at(n, h, i), a.at(n, h, i) + shape[3], b.at(n, h, i), total.row(n, h, i), std::plus<>{});
      }
    }
  }
  return total;
}

TableRule::TableRule(const Shape<4>& shape)
    : shape_(with_pairs(shape)),
      words_((shape_[3] + 63) / 64),
      steps_(broadcast_strides({shape_[0], shape_[1], shape_[2], words_})),
      bits_(std::max<std::int64_t>(1, shape_[0] * shape_[1] * shape_[2] * words_), kNoKey) {}

Cover TableRule::cover(const Tile& tile) const {
  // Beyond this many words, looking costs more than it saves: the plan reads the bits anyway.
  constexpr std::int64_t kMostWords = 64;
  const std::int64_t w0 = tile.j0 / 64, w1 = (tile.j1 + 63) / 64;
  const std::int64_t rows = steps_[2] == 0 ? 1 : tile.i1 - tile.i0;
  if ((w1 - w0) * rows > kMostWords) return Cover::some;
  bool none = true, all = true;
  for (std::int64_t w = w0; w < w1; ++w) {
    const std::uint64_t asked = bits_between(w * 64, tile.j0, tile.j1 - 1);
    std::uint64_t any = kNoKey, every = kEveryKey;
    for (std::int64_t i = tile.i0; i < tile.i0 + rows; ++i) {
      const std::uint64_t bits = row(tile.b, tile.h, i, w * 64);
      any |= bits;
      every &= bits;
    }
    none = none && (any & asked) == kNoKey;
    all = all && (every & asked) == asked;
    if (!none && !all) return Cover::some;
  }
  return none ? Cover::none : Cover::all;
}

void TableRule::check(const Extent& extent) const {
  const Shape<4> sizes{extent.batch, extent.heads, extent.queries, extent.keys};
  if (shape_[3] == 0 && std::ranges::find(sizes, 0) != sizes.end()) return;
  bool fits = shape_[3] == sizes[3];
  for (std::size_t axis = 0; axis < 3; ++axis) fits = fits && (shape_[axis] == 1 || shape_[axis] == sizes[axis]);
  if (fits) return;
  throw std::invalid_argument("mask: the table is " + shape_text(shape_) + ", but [B,H,N,M] is " + extent_text(extent) +
                              "; every axis must be equal, and the first three may be 1");
}

std::string TableRule::text() const {
  if (!bias_.empty()) return "additive" + shape_text(shape_);
  std::string text = "table(";
  for (std::int64_t b = 0; b < shape_[0]; ++b) {
    for (std::int64_t h = 0; h < shape_[1]; ++h) {
      for (std::int64_t i = 0; i < shape_[2]; ++i) {
        for (std::int64_t j = 0; j < shape_[3]; ++j) text += ((row(b, h, i, j) >> (j & 63)) & 1) != 0 ? '1' : '0';
        text += ',';
      }
      text.back() = '/';
    }
    text.back() = ';';
  }
  text.back() = ')';
  return text;
}

namespace {

// Sets the bits of all rows: allowed(b, h, i) returns the function f(j) of that row.
template <typename F>
TableRule make_rule(const Shape<4>& shape, F&& allowed) {
  TableRule rule(shape);
  const Shape<4>& s = rule.shape();
  if (s[3] == 0) return rule;
  for (std::int64_t b = 0; b < s[0]; ++b) {
    for (std::int64_t h = 0; h < s[1]; ++h) {
      for (std::int64_t i = 0; i < s[2]; ++i) rule.fill_row(b, h, i, allowed(b, h, i));
    }
  }
  return rule;
}

template <typename T>
Mask truth_table(View<const T, 4> table) {
  return make_rule(table.shape, [&](std::int64_t b, std::int64_t h, std::int64_t i) {
    return [values = table.at(b, h, i)](std::int64_t j) { return values[j] != T{0}; };
  });
}

template <typename T>
View<const T, 4> per_sequence(View<const T, 2> v) {
  return {v.data, {v.shape[0], 1, 1, v.shape[1]}, {v.strides[0], 0, 0, v.strides[1]}};
}

}  // namespace
}  // namespace detail

Mask table(View<const bool, 4> table) { return detail::truth_table(table); }
Mask table(View<const std::uint8_t, 4> table) { return detail::truth_table(table); }
Mask padding_table(View<const bool, 2> table) { return detail::truth_table(detail::per_sequence(table)); }
Mask padding_table(View<const std::uint8_t, 2> table) { return detail::truth_table(detail::per_sequence(table)); }

Mask padding_ids(View<const std::int64_t, 2> ids, std::int64_t pad_id) {
  return detail::make_rule({ids.shape[0], 1, 1, ids.shape[1]}, [&](std::int64_t b, std::int64_t, std::int64_t) {
    return [row = ids.at(b), pad_id](std::int64_t j) { return row[j] != pad_id; };
  });
}

Mask additive(View<const float, 4> table) {
  const auto forbids = [](float x) { return x <= -1e9F; };
  bool biased = false;
  auto rule = detail::make_rule(table.shape, [&](std::int64_t b, std::int64_t h, std::int64_t i) {
    return [&, values = table.at(b, h, i)](std::int64_t j) {
      const bool allowed = !forbids(values[j]);
      biased = biased || (allowed && values[j] != 0);  // NaN != 0
      return allowed;
    };
  });
  if (biased) {
    detail::FloatTable bias(table.shape);
    for (std::int64_t b = 0; b < table.shape[0]; ++b) {
      for (std::int64_t h = 0; h < table.shape[1]; ++h) {
        for (std::int64_t i = 0; i < table.shape[2]; ++i) {
          std::transform(table.at(b, h, i), table.at(b, h, i) + table.shape[3], bias.row(b, h, i),
                         [&](float x) { return forbids(x) ? 0.0F : x; });
        }
      }
    }
    rule.set_bias(std::move(bias));
  }
  return rule;
}

TableAxes table_axes(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides, const Extent& extent) {
  const Shape<4> sizes{extent.batch, extent.heads, extent.queries, extent.keys};
  const auto fits = [&](std::span<const std::size_t> axes) {  // axes[k]: which of B, H, N, M axis k of the table is
    if (axes.size() != shape.size() || shape.size() != strides.size()) return false;
    for (std::size_t k = 0; k < axes.size(); ++k) {
      if (shape[k] != sizes[axes[k]] && (axes[k] == 3 || shape[k] != 1)) return false;
    }
    return strides.back() == 1 || extent.keys <= 1;
  };
  static constexpr std::size_t kAll[] = {0, 1, 2, 3}, kPerSequence[] = {0, 3};
  const std::span<const std::size_t> all(kAll);
  for (const std::span<const std::size_t> axes :
       {all, all.last(3), all.last(2), std::span<const std::size_t>(kPerSequence), all.last(1)}) {
    if (!fits(axes)) continue;
    TableAxes found{{1, 1, 1, extent.keys}, {0, 0, 0, 1}};
    for (std::size_t k = 0; k < axes.size(); ++k) {
      found.shape[axes[k]] = shape[k];
      if (axes[k] != 3 && shape[k] != 1) found.strides[axes[k]] = strides[k];
    }
    return found;
  }
  std::string given = "[";
  for (const std::int64_t n : shape) given += std::to_string(n) + ",";
  if (given.size() > 1) given.pop_back();
  throw std::invalid_argument("mask: a table of shape " + given +
                              "] does not fit [B,H,N,M] = " + detail::extent_text(extent) +
                              "; it must be [M], [N,M], [H,N,M], [B,H,N,M] or [B,M], with a dense last axis" +
                              (shape.size() == 3 ? "; one table per sequence is [B,1,N,M]" : ""));
}

}  // namespace attn
