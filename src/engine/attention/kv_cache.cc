// engine/attention/kv_cache.cc - one memory mapping: the keys of all heads one after the other, then their values.
#include "attn/kv_cache.h"

#include <algorithm>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "engine/attention/problem.h"
#include "engine/runtime/copy_bytes.h"
#include "engine/runtime/pages.h"
#include "engine/runtime/sixteen_bit.h"

namespace attn {
namespace {

constexpr std::int64_t kPage = 4096;
// Extra space per head, a page and a cache line, so that the heads' first tokens do not compete for the same cache
// sets.
constexpr std::int64_t kStagger = kPage + 64;
// From this many bytes per head, use huge pages: reading is 1.15 times and the first write 2.5 times as fast (64 MiB),
// and the 2 MiB that the last page may waste are little in comparison.
constexpr std::int64_t kHugeFrom = 4 << 20;
// Returning less than this to the system is not worth the call.
constexpr std::int64_t kGiveBackFrom = 1 << 20;

constexpr std::int64_t round_up(std::int64_t x, std::int64_t step) { return (x + step - 1) / step * step; }

std::int64_t checked_product(std::int64_t a, std::int64_t b) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max() / 4;
  if (a > kMost / b) throw std::bad_alloc();
  return a * b;
}

// The keys or the values of all heads.
struct Plane {
  std::byte* data;
  std::int64_t heads;       // B G
  std::int64_t row_bytes;   // one token of one head
  std::int64_t head_bytes;  // from one head to the next

  [[nodiscard]] std::byte* head(std::int64_t h) const { return data + h * head_bytes; }
};

Plane plane_of(const KvCache::Config& c, std::byte* data, std::int64_t width) {
  const auto row = width * static_cast<std::int64_t>(size_of(c.type));
  return {data, c.batch * c.heads, row, round_up(c.max_tokens * row, kPage) + kStagger};
}

std::int64_t plane_bytes(const KvCache::Config& c, std::int64_t width) {
  const auto row = checked_product(width, static_cast<std::int64_t>(size_of(c.type)));
  const auto head = round_up(checked_product(c.max_tokens, row), kPage) + kStagger;
  return checked_product(head, checked_product(c.batch, c.heads));
}

std::size_t mapping_size(const KvCache::Config& c) {
  const auto bytes = round_up(plane_bytes(c, c.width) + plane_bytes(c, c.value_width), kPage);
  if (!std::in_range<std::size_t>(bytes)) throw std::bad_alloc();
  return static_cast<std::size_t>(bytes);
}

KvCache::Config checked(KvCache::Config c) {
  const auto check = [](const char* name, std::int64_t value, std::int64_t least) {
    if (value < least)
      throw std::invalid_argument(std::string("KvCache: ") + name + " is " + std::to_string(value) +
                                  "; it must be at least " + std::to_string(least));
  };
  check("batch", c.batch, 1);
  check("heads", c.heads, 1);
  check("width", c.width, 1);
  check("value_width", c.value_width, 0);
  check("max_tokens", c.max_tokens, 1);
  if (c.value_width == 0) c.value_width = c.width;
  return c;
}

void use_huge_pages_for(const Plane& p) {
  for (std::int64_t h = 0; h < p.heads; ++h) use_huge_pages(p.head(h), p.head(h) + p.head_bytes - kStagger);
}

template <typename From, typename To>
void convert_rows(const AnyView<4>& from, std::int64_t b, std::int64_t g, std::byte* to) {
  const auto rows = from.shape[2];
  const auto width = from.shape[3];
  const From* source = static_cast<const From*>(from.data) + b * from.strides[0] + g * from.strides[1];
  for (std::int64_t i = 0; i < rows; ++i, source += from.strides[2], to += width * std::int64_t{sizeof(To)}) {
    if constexpr (std::is_same_v<From, To>) {
      copy_bytes(to, source, static_cast<std::size_t>(width) * sizeof(To));
    } else {
      To* target = reinterpret_cast<To*>(to);
      for (std::int64_t d = 0; d < width; ++d) target[d] = narrow(widen(source[d]), To{});
    }
  }
}

using Convert = void (*)(const AnyView<4>&, std::int64_t, std::int64_t, std::byte*);

template <typename To>
Convert converter_to(Type from) {
  switch (from) {
    case Type::float16:
      return convert_rows<Half, To>;
    case Type::bfloat16:
      return convert_rows<Bfloat, To>;
    default:
      return convert_rows<float, To>;
  }
}

Convert converter(Type from, Type to) {
  switch (to) {
    case Type::float16:
      return converter_to<Half>(from);
    case Type::bfloat16:
      return converter_to<Bfloat>(from);
    default:
      return converter_to<float>(from);
  }
}

void write_tokens(const Plane& p, std::int64_t at, const AnyView<4>& from, Type type) {
  const auto before = at * p.row_bytes;
  const auto after = before + from.shape[2] * p.row_bytes;
  if (before < kHugeFrom && after >= kHugeFrom) use_huge_pages_for(p);
  const auto convert = converter(from.type, type);
  for (std::int64_t b = 0; b < from.shape[0]; ++b)
    for (std::int64_t g = 0; g < from.shape[1]; ++g) convert(from, b, g, p.head(b * from.shape[1] + g) + before);
}

void forget_tokens(const Plane& p, std::int64_t dropout, std::int64_t size) {
  if ((size - dropout) * p.row_bytes < kGiveBackFrom) return;
  for (std::int64_t h = 0; h < p.heads; ++h)
    return_pages(p.head(h) + dropout * p.row_bytes, p.head(h) + size * p.row_bytes);
}

void check_tokens(const char* name, const AnyView<4>& x, const Shape<4>& right) {
  if (x.shape != right || x.shape[2] < 0)
    throw std::invalid_argument(std::string("KvCache: ") + name + " is " + text_of(x.shape) + "; this cache and the" +
                                " other input ask for " + text_of(right) + " ([B, G, tokens, width])");
  if (x.shape[2] == 0) return;
  if (x.empty()) throw std::invalid_argument(std::string("KvCache: ") + name + " has no data");
  if (x.strides[3] != 1 && x.shape[3] > 1)
    throw std::invalid_argument(std::string("KvCache: the last axis of ") + name + " has stride " +
                                std::to_string(x.strides[3]) + "; it must be dense (stride 1)");
}

AnyView<4> view_of(const KvCache::Config& c, const Plane& p, std::int64_t size, std::int64_t width) {
  const auto head = p.head_bytes / static_cast<std::int64_t>(size_of(c.type));
  return {p.data, c.type, {c.batch, c.heads, size, width}, {c.heads * head, head, width, 1}};
}

}  // namespace

KvCache::KvCache(const Config& config) : config_(checked(config)) {
  k_ = reserve_pages(mapping_size(config_));
  v_ = k_ + plane_bytes(config_, config_.width);
}

KvCache::~KvCache() {
  if (k_ != nullptr) free_pages(k_, mapping_size(config_));
}

KvCache::KvCache(KvCache&& other) noexcept
    : config_(other.config_),
      size_(std::exchange(other.size_, 0)),
      k_(std::exchange(other.k_, nullptr)),
      v_(std::exchange(other.v_, nullptr)) {
  other.config_.max_tokens = 0;
}

KvCache& KvCache::operator=(KvCache&& other) noexcept {
  KvCache taken(std::move(other));
  std::swap(config_, taken.config_);
  std::swap(size_, taken.size_);
  std::swap(k_, taken.k_);
  std::swap(v_, taken.v_);
  return *this;
}

void KvCache::append(const AnyView<4>& k, const AnyView<4>& v) {
  const auto tokens = k.shape[2];
  check_tokens("k", k, {config_.batch, config_.heads, tokens, config_.width});
  check_tokens("v", v, {config_.batch, config_.heads, tokens, config_.value_width});
  if (tokens > config_.max_tokens - size_)
    throw std::length_error("KvCache: " + std::to_string(size_) + " tokens and " + std::to_string(tokens) +
                            " more are beyond max_tokens, " + std::to_string(config_.max_tokens));
  if (tokens == 0) return;
  write_tokens(plane_of(config_, k_, config_.width), size_, k, config_.type);
  write_tokens(plane_of(config_, v_, config_.value_width), size_, v, config_.type);
  size_ += tokens;
}

void KvCache::truncate(std::int64_t tokens) {
  if (tokens < 0 || tokens > size_)
    throw std::invalid_argument("KvCache: cannot keep the first " + std::to_string(tokens) + " of " +
                                std::to_string(size_) + " tokens");
  forget_tokens(plane_of(config_, k_, config_.width), tokens, size_);
  forget_tokens(plane_of(config_, v_, config_.value_width), tokens, size_);
  size_ = tokens;
}

AnyView<4> KvCache::k() const noexcept {
  return view_of(config_, plane_of(config_, k_, config_.width), size_, config_.width);
}

AnyView<4> KvCache::v() const noexcept {
  return view_of(config_, plane_of(config_, v_, config_.value_width), size_, config_.value_width);
}

}  // namespace attn
