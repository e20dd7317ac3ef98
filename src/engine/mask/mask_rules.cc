// engine/mask/mask_rules.cc - masks defined by positions and lengths.
#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "attn/mask.h"
#include "engine/mask/mask_bits.h"

namespace attn {
namespace {

using detail::bits_between;
using detail::kEveryKey;
using detail::kNoKey;
using detail::reach;

Cover cover_of(bool none, bool all) { return none ? Cover::none : all ? Cover::all : Cover::some; }

std::int64_t at_least(std::int64_t lowest, std::int64_t value, const char* what) {
  if (value < lowest) {
    throw std::invalid_argument(std::string("mask: ") + what + " is " + std::to_string(value) +
                                ", but must be at least " + std::to_string(lowest));
  }
  return value;
}

std::string call(const char* name, std::int64_t argument) {
  return std::string(name) + "(" + std::to_string(argument) + ")";
}

std::string side_text(std::int64_t width) { return width == kUnlimited ? "inf" : std::to_string(width); }

// The distance from n to the first multiple of `of` at or after n.
std::int64_t to_multiple(std::int64_t n, std::int64_t of) {
  const std::int64_t over = n % of;
  return over == 0 ? 0 : of - over;
}

// Bits 0, step, 2 step ...
std::uint64_t comb_of(std::int64_t step) {
  std::uint64_t bits = 1;
  for (std::int64_t t = step; t < 64; t += step) bits |= std::uint64_t{1} << t;
  return bits;
}

// ---- lengths, for Padding and Prefix ----

std::vector<std::int64_t> checked_lengths(std::vector<std::int64_t> lengths, const char* name) {
  if (lengths.empty()) throw std::invalid_argument(std::string("mask: ") + name + " needs at least one length");
  for (const std::int64_t length : lengths) at_least(0, length, name);
  return lengths;
}

std::int64_t length_of(const std::vector<std::int64_t>& lengths, std::int64_t b) {
  return lengths.size() == 1 ? lengths.front() : lengths[b];
}

Cover cover_lengths(const std::vector<std::int64_t>& lengths, const Tile& tile) {
  const std::int64_t length = length_of(lengths, tile.b);
  return cover_of(tile.j0 >= length, tile.j1 <= length);
}

void check_lengths(const std::vector<std::int64_t>& lengths, const Extent& extent, const char* name,
                   const std::string& what = "length") {
  if (lengths.size() == 1 || std::cmp_equal(lengths.size(), extent.batch)) return;
  throw std::invalid_argument(std::string("mask: ") + name + " has " + std::to_string(lengths.size()) + " " + what +
                              "s, but there are " + std::to_string(extent.batch) + " sequences; pass one " + what +
                              " for all or one for each");
}

// ---- offsets, for CausalPerSequence ----

std::int64_t last_key(const std::vector<std::int64_t>& offsets, std::int64_t b, std::int64_t i) {
  return reach(i, length_of(offsets, b));
}

std::string lengths_text(const std::vector<std::int64_t>& lengths, const char* name) {
  std::string text = call(name, lengths.front());
  for (std::size_t k = 1; k < lengths.size(); ++k) {
    text.back() = ',';
    text += std::to_string(lengths[k]) + ")";
  }
  return text;
}

}  // namespace

// ---- causal ----

std::uint64_t Causal::row(std::int64_t, std::int64_t, std::int64_t i, std::int64_t j) const {
  return bits_between(j, 0, reach(i, offset));
}

Cover Causal::cover(const Tile& tile) const {
  return cover_of(tile.j0 > reach(tile.i1 - 1, offset), tile.j1 - 1 <= reach(tile.i0, offset));
}

std::string Causal::text() const { return offset == 0 ? "causal" : call("causal", offset); }

CausalPerSequence::CausalPerSequence(std::vector<std::int64_t> o) : offsets(std::move(o)) {
  if (offsets.empty()) throw std::invalid_argument("mask: causal needs at least one offset");
}

std::uint64_t CausalPerSequence::row(std::int64_t b, std::int64_t, std::int64_t i, std::int64_t j) const {
  return bits_between(j, 0, last_key(offsets, b, i));
}

Cover CausalPerSequence::cover(const Tile& tile) const {
  return cover_of(tile.j0 > last_key(offsets, tile.b, tile.i1 - 1), tile.j1 - 1 <= last_key(offsets, tile.b, tile.i0));
}

void CausalPerSequence::check(const Extent& extent) const { check_lengths(offsets, extent, "causal", "offset"); }
std::string CausalPerSequence::text() const {
  return offsets.size() == 1 ? Causal{offsets.front()}.text() : lengths_text(offsets, "causal");
}

// ---- window ----

Window::Window(std::int64_t l, std::int64_t r)
    : left(at_least(0, l, "the left side of a window")), right(at_least(0, r, "the right side of a window")) {}

std::uint64_t Window::row(std::int64_t, std::int64_t, std::int64_t i, std::int64_t j) const {
  return bits_between(j, i - left, reach(i, right));
}

Cover Window::cover(const Tile& tile) const {
  const std::int64_t i_last = tile.i1 - 1, j_last = tile.j1 - 1;
  return cover_of(j_last < tile.i0 - left || tile.j0 > reach(i_last, right),
                  tile.j0 >= i_last - left && j_last <= reach(tile.i0, right));
}

std::string Window::text() const {
  std::string text = "window(" + side_text(left);
  if (left != right) text.append(",").append(side_text(right));
  return text + ")";
}

// ---- dilated ----

Dilated::Dilated(std::int64_t w, std::int64_t d)
    : width(at_least(0, w, "the width of dilated")),
      dilation(at_least(1, d, "the dilation of dilated")),
      comb(comb_of(dilation)) {}

std::uint64_t Dilated::row(std::int64_t, std::int64_t, std::int64_t i, std::int64_t j) const {
  const std::int64_t first = j >= i ? to_multiple(j - i, dilation) : (i - j) % dilation;
  if (first >= 64) return kNoKey;
  return (comb << first) & bits_between(j, i - width, reach(i, width));
}

Cover Dilated::cover(const Tile& tile) const {
  const std::int64_t least = std::max(tile.j0 - (tile.i1 - 1), -width);
  const std::int64_t most = std::min(tile.j1 - 1 - tile.i0, width);
  if (least > most) return Cover::none;
  const std::int64_t multiple = least >= 0 ? to_multiple(least, dilation) : -least % dilation;  // from least on
  if (multiple > most - least) return Cover::none;
  return dilation == 1 ? Window(width).cover(tile) : Cover::some;
}

std::string Dilated::text() const { return "dilated(" + side_text(width) + "," + std::to_string(dilation) + ")"; }

// ---- sparse ----

Sparse::Sparse(std::int64_t s) : stride(at_least(1, s, "the stride of sparse")), comb(comb_of(stride)) {}

std::uint64_t Sparse::row(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
  std::uint64_t bits = kNoKey;
  rows({b, h, i, i + 1, j, j + 64}, &bits);
  return bits;
}

void Sparse::rows(const Tile& tile, std::uint64_t* out) const {
  const std::int64_t j_next = to_multiple(tile.j0, stride);
  const std::uint64_t multiples = j_next < 64 ? comb << j_next : kNoKey;
  std::int64_t i_next = to_multiple(tile.i0, stride);
  for (std::int64_t i = tile.i0; i < tile.i1; ++i, --i_next) {
    const bool whole = i_next == 0;
    *out++ = whole ? kEveryKey : bits_between(tile.j0, i - stride, reach(i, stride)) | multiples;
    if (whole) i_next = stride;
  }
}

Cover Sparse::cover(const Tile& tile) const {
  const std::int64_t height = tile.i1 - tile.i0, width = tile.j1 - tile.j0;
  const std::int64_t i_last = tile.i1 - 1, j_last = tile.j1 - 1;
  const std::int64_t nearest = std::max(tile.j0 - i_last, tile.i0 - j_last);
  const std::int64_t farthest = std::max(j_last - tile.i0, i_last - tile.j0);
  if (farthest <= stride || stride == 1) return Cover::all;
  if ((height == 1 && tile.i0 % stride == 0) || (width == 1 && tile.j0 % stride == 0)) return Cover::all;
  if (nearest <= stride || height >= stride || width >= stride) return Cover::some;  // before the divisions
  const bool crossed = to_multiple(tile.i0, stride) < height || to_multiple(tile.j0, stride) < width;
  return crossed ? Cover::some : Cover::none;
}

std::string Sparse::text() const { return call("sparse", stride); }

// ---- global ----

Global::Global(std::int64_t n) : count(at_least(0, n, "the count of global")) {}

std::uint64_t Global::row(std::int64_t, std::int64_t, std::int64_t i, std::int64_t j) const {
  return i < count ? kEveryKey : bits_between(j, 0, count - 1);
}

Cover Global::cover(const Tile& tile) const {
  return cover_of(tile.i0 >= count && tile.j0 >= count, tile.i1 <= count || tile.j1 <= count);
}

std::string Global::text() const { return call("global", count); }

// ---- block ----

Block::Block(std::int64_t s) : size(at_least(1, s, "the size of block")) {}

std::uint64_t Block::row(std::int64_t, std::int64_t, std::int64_t i, std::int64_t j) const {
  const std::int64_t first = i - i % size;
  return bits_between(j, first, reach(first, size - 1));
}

Cover Block::cover(const Tile& tile) const {
  const std::int64_t i_first = tile.i0 / size, i_last = (tile.i1 - 1) / size;
  const std::int64_t j_first = tile.j0 / size, j_last = (tile.j1 - 1) / size;
  return cover_of(i_last < j_first || j_last < i_first, i_first == i_last && j_first == j_last && i_first == j_first);
}

std::string Block::text() const { return call("block", size); }

// ---- padding, prefix ----

Padding::Padding(std::vector<std::int64_t> l) : lengths(checked_lengths(std::move(l), "padding")) {}

std::uint64_t Padding::row(std::int64_t b, std::int64_t, std::int64_t, std::int64_t j) const {
  return bits_between(j, 0, length_of(lengths, b) - 1);
}

Cover Padding::cover(const Tile& tile) const { return cover_lengths(lengths, tile); }
void Padding::check(const Extent& extent) const { check_lengths(lengths, extent, "padding"); }
std::string Padding::text() const { return lengths_text(lengths, "padding"); }

Prefix::Prefix(std::vector<std::int64_t> l) : lengths(checked_lengths(std::move(l), "prefix")) {}

std::uint64_t Prefix::row(std::int64_t b, std::int64_t, std::int64_t, std::int64_t j) const {
  return bits_between(j, 0, length_of(lengths, b) - 1);
}

Cover Prefix::cover(const Tile& tile) const { return cover_lengths(lengths, tile); }
void Prefix::check(const Extent& extent) const { check_lengths(lengths, extent, "prefix"); }
std::string Prefix::text() const { return lengths_text(lengths, "prefix"); }

template struct detail::RuleNode<Causal>;
template struct detail::RuleNode<CausalPerSequence>;
template struct detail::RuleNode<Window>;
template struct detail::RuleNode<Dilated>;
template struct detail::RuleNode<Sparse>;
template struct detail::RuleNode<Global>;
template struct detail::RuleNode<Block>;
template struct detail::RuleNode<Padding>;
template struct detail::RuleNode<Prefix>;

}  // namespace attn
