// engine/mask/mask.cc - masks combined with &, | and ~.
#include "attn/mask.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <stdexcept>

#include "engine/mask/mask_bits.h"
#include "engine/mask/mask_join.h"
#include "engine/mask/mask_table.h"

namespace attn {
namespace detail {
namespace {

using Binding = MaskNode::Binding;

Binding binding(const Mask& mask) { return mask.node() ? mask.node()->binding() : Binding::name; }

std::string text_inside(const Mask& mask, Binding outside) {
  std::string text = mask.text();
  return binding(mask) < outside ? std::string("(").append(text).append(")") : text;
}

int deeper(int inner) {
  if (inner >= kMaxMaskDepth) {
    throw std::invalid_argument("mask: nested deeper than " + std::to_string(kMaxMaskDepth) +
                                "; join long chains of one operator without parentheses");
  }
  return inner + 1;
}

template <Join how>
class JoinNode final : public MaskNode {
 public:
  explicit JoinNode(std::vector<Mask> parts) : parts_(std::move(parts)) {
    int deepest = 0;
    for (const Mask& part : parts_) {
      deepest = std::max(deepest, detail::depth(part));
      per_batch_ = per_batch_ || part.per_batch();
      per_head_ = per_head_ || part.per_head();
      add_bias(part.bias());
    }
    depth_ = deeper(deepest);
  }

  std::uint64_t row(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const override {
    std::uint64_t bits = parts_.front().row(b, h, i, j);
    for (std::size_t p = 1; p < parts_.size() && bits != ~kNeutral; ++p) {
      bits = combine(bits, parts_[p].row(b, h, i, j));
    }
    return bits;
  }

  void rows(const Tile& tile, std::uint64_t* out) const override {
    std::fill_n(out, tile.i1 - tile.i0, kNeutral);
    for (const Mask& part : parts_) {
      const Cover c = part.cover(tile);  // cheaper than the bits, and often sufficient
      if (c == kNeutralCover) continue;
      if (c == kSettledCover) return void(std::fill_n(out, tile.i1 - tile.i0, ~kNeutral));
      add_rows(part, tile, out);
    }
  }

  Cover cover(const Tile& tile) const override {
    Cover cover = kNeutralCover;
    for (const Mask& part : parts_) {
      const Cover c = part.cover(tile);
      if (c == kSettledCover) return c;
      if (c == Cover::some) cover = Cover::some;
    }
    return cover;
  }

  bool per_batch() const override { return per_batch_; }
  bool per_head() const override { return per_head_; }
  void check(const Extent& extent) const override {
    for (const Mask& part : parts_) part.check(extent);
  }
  std::string text() const override {
    std::string text = text_inside(parts_.front(), kBinding);
    for (std::size_t p = 1; p < parts_.size(); ++p) {
      text += how == Join::both ? " & " : " | ";
      text += text_inside(parts_[p], kBinding);
    }
    return text;
  }
  View<const float, 4> bias() const override { return sum_ ? sum_->view() : bias_; }
  Binding binding() const override { return kBinding; }
  int depth() const override { return depth_; }
  const std::vector<Mask>& parts() const { return parts_; }

 private:
  static constexpr Binding kBinding = how == Join::both ? Binding::both : Binding::any;
  // The neutral element of the operator, and the element that decides the result alone.
  static constexpr std::uint64_t kNeutral = how == Join::both ? kEveryKey : kNoKey;
  static constexpr Cover kNeutralCover = how == Join::both ? Cover::all : Cover::none;
  static constexpr Cover kSettledCover = how == Join::both ? Cover::none : Cover::all;

  static std::uint64_t combine(std::uint64_t a, std::uint64_t b) { return how == Join::both ? a & b : a | b; }

  static void add_rows(const Mask& part, const Tile& tile, std::uint64_t* out) {
    constexpr std::int64_t kStep = 16;
    std::array<std::uint64_t, kStep> more;
    for (std::int64_t i = tile.i0; i < tile.i1; i += kStep) {
      const std::int64_t end = std::min(i + kStep, tile.i1);
      part.rows({tile.b, tile.h, i, end, tile.j0, tile.j1}, more.data());
      for (std::int64_t r = i; r < end; ++r) out[r - tile.i0] = combine(out[r - tile.i0], more[r - i]);
    }
  }

  void add_bias(View<const float, 4> more) {
    if (more.empty()) return;
    if (bias().empty()) {
      bias_ = more;
    } else {
      sum_ = FloatTable::sum(bias(), more);
    }
  }

  std::vector<Mask> parts_;
  bool per_batch_ = false, per_head_ = false;
  int depth_ = 1;
  View<const float, 4> bias_;      // if only one part has a bias: that one
  std::optional<FloatTable> sum_;  // if several have one: their sum
};

class NotNode final : public MaskNode {
 public:
  explicit NotNode(Mask part) : part_(std::move(part)), depth_(deeper(detail::depth(part_))) {}

  std::uint64_t row(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const override {
    return ~part_.row(b, h, i, j);
  }
  void rows(const Tile& tile, std::uint64_t* out) const override {
    part_.rows(tile, out);
    for (std::int64_t r = 0; r < tile.i1 - tile.i0; ++r) out[r] = ~out[r];
  }
  Cover cover(const Tile& tile) const override {
    const Cover c = part_.cover(tile);
    return c == Cover::none ? Cover::all : c == Cover::all ? Cover::none : Cover::some;
  }
  bool per_batch() const override { return part_.per_batch(); }
  bool per_head() const override { return part_.per_head(); }
  void check(const Extent& extent) const override { part_.check(extent); }
  std::string text() const override { return std::string("~").append(text_inside(part_, Binding::negation)); }
  View<const float, 4> bias() const override { return {}; }
  Binding binding() const override { return Binding::negation; }
  int depth() const override { return depth_; }
  const Mask& part() const { return part_; }

 private:
  Mask part_;
  int depth_;
};

template <Join how>
Mask join_flat(const std::vector<Mask>& masks) {
  std::vector<Mask> parts;
  bool everything = false, bias = false;
  for (const Mask& mask : masks) {
    everything = everything || mask.everything();
    bias = bias || !mask.bias().empty();
    const auto* inner = dynamic_cast<const JoinNode<how>*>(mask.node().get());
    // A chain that has already summed its biases keeps the sum.
    if (inner != nullptr && mask.bias().empty()) {
      parts.insert(parts.end(), inner->parts().begin(), inner->parts().end());
    } else if (how == Join::any || !mask.everything()) {
      parts.push_back(mask);
    }
  }
  if (how == Join::any && everything && !bias) return {};
  if (parts.empty()) return {};
  if (parts.size() == 1) return parts.front();
  return Mask(std::make_shared<const JoinNode<how>>(std::move(parts)));
}

}  // namespace

Mask join(Join how, const std::vector<Mask>& masks) {
  return how == Join::both ? join_flat<Join::both>(masks) : join_flat<Join::any>(masks);
}

}  // namespace detail

Mask operator&(const Mask& a, const Mask& b) { return detail::join(detail::Join::both, {a, b}); }
Mask operator|(const Mask& a, const Mask& b) { return detail::join(detail::Join::any, {a, b}); }

Mask operator~(const Mask& a) {
  if (!a.bias().empty()) {
    throw std::invalid_argument("mask: ~ of a mask that carries a bias has no meaning: " + a.text() +
                                "; negate a boolean table instead");
  }
  if (const auto* inner = dynamic_cast<const detail::NotNode*>(a.node().get())) return inner->part();
  return Mask(std::make_shared<const detail::NotNode>(a));
}

void Mask::rows(const Tile& tile, std::uint64_t* out) const {
  if (node_) {
    node_->rows(tile, out);
  } else {
    std::fill_n(out, tile.i1 - tile.i0, detail::kEveryKey);
  }
}

std::string draw(const Mask& mask, std::int64_t queries, std::int64_t keys, std::int64_t b, std::int64_t h) {
  std::string picture;
  for (std::int64_t i = 0; i < queries; ++i) {
    for (std::int64_t j = 0; j < keys; ++j) {
      picture += mask.allows(b, h, i, j) ? "■" : "·";
      picture += j + 1 < keys ? " " : "";
    }
    picture += '\n';
  }
  return picture;
}

}  // namespace attn
