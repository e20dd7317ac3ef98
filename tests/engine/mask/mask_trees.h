// tests/engine/mask/mask_trees.h - random masks together with their definition, pair by pair.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "attn/mask.h"

namespace attn::test {

using Truth = std::function<bool(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j)>;

template <typename F>
void for_each_pair(const Extent& e, F&& f) {
  for (std::int64_t b = 0; b < e.batch; ++b) {
    for (std::int64_t h = 0; h < e.heads; ++h) {
      for (std::int64_t i = 0; i < e.queries; ++i) {
        for (std::int64_t j = 0; j < e.keys; ++j) f(b, h, i, j);
      }
    }
  }
}

inline std::int64_t count(const Mask& mask, std::int64_t queries, std::int64_t keys) {
  std::int64_t pairs = 0;
  for_each_pair({1, 1, queries, keys}, [&](auto b, auto h, auto i, auto j) { pairs += mask.allows(b, h, i, j); });
  return pairs;
}

inline void expect_same(const Mask& a, const Mask& b, const Extent& e) {
  std::int64_t wrong = 0;
  for_each_pair(e, [&](auto n, auto h, auto i, auto j) { wrong += a.allows(n, h, i, j) != b.allows(n, h, i, j); });
  EXPECT_EQ(wrong, 0) << a.text() << "\nand\n" << b.text();
}

struct MaskSample {
  Mask mask;
  Truth truth;
};

class MaskTrees {
 public:
  explicit MaskTrees(unsigned seed) : random_(seed) {}

  std::int64_t number(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }

  // N = M half of the time.
  Extent extent(std::int64_t most) {
    Extent e{number(1, 3), number(1, 3), number(1, most), number(1, most)};
    if (number(0, 1) == 0) e.queries = e.keys;
    return e;
  }

  static constexpr int kKinds = 14;

  MaskSample rule(const Extent& e, int kind) {
    switch (kind) {
      case 0:
        return {Everything{}, [](auto, auto, auto, auto) { return true; }};
      case 1: {
        const std::int64_t offset = number(-e.queries, e.keys);
        return {Causal{offset}, [=](auto, auto, auto i, auto j) { return j - i <= offset; }};
      }
      case 2: {
        const std::int64_t left = number(0, e.queries), right = number(0, e.keys);
        return {Window(left, right), [=](auto, auto, auto i, auto j) { return j >= i - left && j <= i + right; }};
      }
      case 3: {
        const std::int64_t stride = number(1, 2 + e.keys / 2);
        return {Sparse(stride), [=](auto, auto, auto i, auto j) {
                  return std::abs(i - j) <= stride || i % stride == 0 || j % stride == 0;
                }};
      }
      case 4: {
        const std::int64_t count = number(0, e.keys);
        return {Global(count), [=](auto, auto, auto i, auto j) { return i < count || j < count; }};
      }
      case 5: {
        const std::int64_t size = number(1, e.keys);
        return {Block(size), [=](auto, auto, auto i, auto j) { return i / size == j / size; }};
      }
      case 6:
      case 7:
        return lengths(e, kind == 6);
      case 8:
        return e.queries == e.keys ? document(e) : document_of_keys(e);
      case 11:
        return causal_per_sequence(e);
      case 12: {
        const std::int64_t width = number(0, e.keys), dilation = number(1, number(0, 1) == 0 ? 5 : 100);
        return {Dilated(width, dilation),
                [=](auto, auto, auto i, auto j) { return std::abs(i - j) <= width && (i - j) % dilation == 0; }};
      }
      case 13:
        return natten(e);
      default:
        return table(e, kind == 9);
    }
  }
  MaskSample rule(const Extent& e) { return rule(e, static_cast<int>(number(0, kKinds - 1))); }

  MaskSample tree(const Extent& e, int depth) {
    const std::int64_t choice = depth == 0 ? 0 : number(0, 6);
    if (choice == 0) return rule(e);
    MaskSample a = tree(e, depth - 1);
    if (choice <= 2) return {~a.mask, [t = a.truth](auto b, auto h, auto i, auto j) { return !t(b, h, i, j); }};
    MaskSample c = tree(e, depth - 1);
    const bool both = choice <= 4;
    return {both ? a.mask & c.mask : a.mask | c.mask, [s = a.truth, t = c.truth, both](auto b, auto h, auto i, auto j) {
              return both ? s(b, h, i, j) && t(b, h, i, j) : s(b, h, i, j) || t(b, h, i, j);
            }};
  }

 private:
  MaskSample lengths(const Extent& e, bool padding) {
    std::vector<std::int64_t> l(number(0, 1) == 0 ? 1 : e.batch);
    for (auto& length : l) length = number(0, e.keys + 3);
    const Truth truth = [=](auto b, auto, auto, auto j) { return j < (l.size() == 1 ? l[0] : l[b]); };
    return {padding ? Mask(Padding(l)) : Mask(Prefix(l)), truth};
  }

  // The definition of attention-gym: the kernel's centre is kept half a kernel away from the edges.
  MaskSample natten(const Extent& e) {
    if (e.queries != e.keys) return rule(e, 12);
    std::int64_t width = number(1, e.keys);
    while (e.keys % width != 0) --width;
    const std::int64_t height = e.keys / width;
    const std::int64_t across = number(0, (width - 1) / 2), down = number(0, (height - 1) / 2);  // half a kernel
    return {Natten({width, height}, {2 * across + 1, 2 * down + 1}), [=](auto, auto, auto i, auto j) {
              const std::int64_t x = std::clamp(i % width, across, width - 1 - across);
              const std::int64_t y = std::clamp(i / width, down, height - 1 - down);
              return std::abs(x - j % width) <= across && std::abs(y - j / width) <= down;
            }};
  }

  MaskSample causal_per_sequence(const Extent& e) {
    std::vector<std::int64_t> offsets(e.batch);
    for (auto& offset : offsets) offset = number(-e.queries, e.keys);
    return {CausalPerSequence(offsets), [=](auto b, auto, auto i, auto j) { return j - i <= offsets[b]; }};
  }

  MaskSample document_of_keys(const Extent& e) {
    const std::int64_t rows = number(0, 1) == 0 ? 1 : e.batch;
    std::vector<std::int64_t> ids(rows * e.queries), key_ids(rows * e.keys);
    std::int64_t id = -2;
    for (auto& x : ids) x = number(-3, 2);
    for (auto& x : key_ids) x = number(0, 20) == 0 ? ++id : id;
    const View<const std::int64_t, 2> queries(ids.data(), {rows, e.queries}), keys(key_ids.data(), {rows, e.keys});
    return {Document(queries, keys), [=](auto b, auto, auto i, auto j) {
              const std::int64_t s = rows == 1 ? 0 : b;
              return ids[s * e.queries + i] == key_ids[s * e.keys + j];
            }};
  }

  MaskSample document(const Extent& e) {
    const std::int64_t rows = number(0, 1) == 0 ? 1 : e.batch;
    std::vector<std::int64_t> ids(rows * e.keys);
    const bool pieces = number(0, 1) == 0;
    std::int64_t id = -2;
    for (auto& x : ids) x = pieces ? number(-1, 2) : (number(0, 20) == 0 ? ++id : id);
    return {Document(View<const std::int64_t, 2>(ids.data(), {rows, e.keys})), [=](auto b, auto, auto i, auto j) {
              const auto* row = ids.data() + (rows == 1 ? 0 : b * e.keys);
              return row[i] == row[j];
            }};
  }

  // Some with large uniform areas, some without.
  MaskSample table(const Extent& e, bool noisy) {
    const Shape<4> s{number(0, 1) == 0 ? 1 : e.batch, number(0, 1) == 0 ? 1 : e.heads,
                     number(0, 1) == 0 ? 1 : e.queries, e.keys};
    auto values = std::make_shared<std::vector<std::uint8_t>>(s[0] * s[1] * s[2] * s[3]);
    bool run = true;
    for (auto& x : *values) {
      run = noisy ? number(0, 1) == 0 : run != (number(0, 150) == 0);
      x = run ? 1 : 0;
    }
    return {attn::table(View<const std::uint8_t, 4>(values->data(), s)), [=](auto b, auto h, auto i, auto j) {
              const std::int64_t at = (s[0] == 1 ? 0 : b) * s[1] + (s[1] == 1 ? 0 : h);
              return (*values)[(at * s[2] + (s[2] == 1 ? 0 : i)) * s[3] + j] != 0;
            }};
  }

  std::mt19937 random_;
};

}  // namespace attn::test
