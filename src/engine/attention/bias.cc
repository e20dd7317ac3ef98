// engine/attention/bias.cc - tables of biases by distance.
#include "attn/bias.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

namespace attn {
namespace {

void check_heads(std::int64_t heads) {
  if (heads < 1)
    throw std::invalid_argument("DistanceBias: " + std::to_string(heads) + " heads; there must be at least 1");
}

Shape<2> checked_shape(std::int64_t heads, const Positions& p) {
  check_heads(heads);
  if (p.queries < 0 || p.keys < 0)
    throw std::invalid_argument("DistanceBias: " + std::to_string(p.queries) + " queries and " +
                                std::to_string(p.keys) + " keys; neither may be negative");
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max() / 16;
  if (p.queries > kMost || p.keys > kMost || std::max<std::int64_t>(p.queries + p.keys, 1) > kMost / heads)
    throw std::invalid_argument("DistanceBias: " + std::to_string(heads) + " heads, " + std::to_string(p.queries) +
                                " queries and " + std::to_string(p.keys) + " keys need more numbers than memory holds");
  if (p.query_offset > kMost || p.query_offset < -kMost)
    throw std::invalid_argument("DistanceBias: no position can be at an offset of " + std::to_string(p.query_offset));
  return {heads, std::max<std::int64_t>(p.queries + p.keys - 1, 0)};
}

void check_table(const char* name, const View<const float, 2>& table) {
  if (table.empty() || table.shape[0] < 1 || table.shape[1] < 1 || table.strides[1] != 1)
    throw std::invalid_argument(std::string(name) + ": the table is [" + std::to_string(table.shape[0]) + ", " +
                                std::to_string(table.shape[1]) + "]; it must have rows, a column for each head, and " +
                                "a dense last axis");
}

// Fills a table by distance: row_of(distance) is the row of table [rows, H] that holds the biases of that distance.
template <typename RowOf>
DistanceBias look_up(const View<const float, 2>& table, const Positions& positions, const RowOf& row_of) {
  DistanceBias bias(table.shape[1], positions);
  const auto out = bias.view();
  for (std::int64_t x = 0; x < out.shape[1]; ++x) {
    const float* row = table.at(row_of(bias.distance(x)));
    for (std::int64_t h = 0; h < out.shape[0]; ++h) out(h, x) = row[h];
  }
  return bias;
}

// Distances below this have a bucket of their own.
std::int64_t exact_buckets(const T5Buckets& rule) { return (rule.bidirectional ? rule.buckets / 2 : rule.buckets) / 2; }

void check_rule(const T5Buckets& rule) {
  const std::int64_t least = rule.bidirectional ? 4 : 2;
  if (rule.buckets < least)
    throw std::invalid_argument("T5Buckets: " + std::to_string(rule.buckets) + " buckets; there must be at least " +
                                std::to_string(least));
  if (rule.max_distance <= exact_buckets(rule))
    throw std::invalid_argument("T5Buckets: max_distance is " + std::to_string(rule.max_distance) + "; with " +
                                std::to_string(rule.buckets) + " buckets it must be above " +
                                std::to_string(exact_buckets(rule)));
}

// The order of operations and their precision follow the reference, T5Attention._relative_position_bucket in
// transformers: if a distance lies exactly on a boundary, rounding decides.
std::int64_t bucket_of(std::int64_t distance, const T5Buckets& rule) {
  const std::int64_t buckets = rule.bidirectional ? rule.buckets / 2 : rule.buckets;
  const std::int64_t first = rule.bidirectional && distance > 0 ? buckets : 0;
  const std::int64_t away = rule.bidirectional ? std::abs(distance) : -std::min<std::int64_t>(distance, 0);
  const std::int64_t exact = exact_buckets(rule);
  if (away < exact) return first + away;
  const auto octaves =
      static_cast<float>(std::log(static_cast<double>(rule.max_distance) / static_cast<double>(exact)));
  const float step =
      std::log(static_cast<float>(away) / static_cast<float>(exact)) / octaves * static_cast<float>(buckets - exact);
  const auto last = buckets - 1 - exact;
  return first + exact + (step < static_cast<float>(last) ? static_cast<std::int64_t>(step) : last);
}

}  // namespace

DistanceBias::DistanceBias(std::int64_t heads, const Positions& positions)
    : shape_(checked_shape(heads, positions)),
      zero_(positions.queries - 1 + positions.query_offset),
      values_(static_cast<std::size_t>(shape_[0] * shape_[1])) {}

View<const float, 2> DistanceBias::view() const& noexcept { return {values_.data(), shape_}; }
View<float, 2> DistanceBias::view() & noexcept { return {values_.data(), shape_}; }

std::vector<float> alibi_slopes(std::int64_t heads) {
  check_heads(heads);
  const auto power = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(heads)));
  std::vector<float> slopes;
  for (std::int64_t h = 0; h < heads; ++h) {
    // Every second slope of 2 * power, starting with the first, lies half a step before those of power.
    const double step = h < power ? static_cast<double>(h + 1) : static_cast<double>(h - power) + 0.5;
    slopes.push_back(static_cast<float>(std::exp2(-8.0 * step / static_cast<double>(power))));
  }
  return slopes;
}

DistanceBias alibi(std::int64_t heads, const Positions& positions) {
  DistanceBias bias(heads, positions);
  const auto slopes = alibi_slopes(heads);
  const auto out = bias.view();
  for (std::int64_t h = 0; h < heads; ++h)
    for (std::int64_t x = 0; x < out.shape[1]; ++x)
      out(h, x) = -slopes[static_cast<std::size_t>(h)] * static_cast<float>(std::abs(bias.distance(x)));
  return bias;
}

std::int64_t t5_bucket(std::int64_t distance, const T5Buckets& rule) {
  check_rule(rule);
  return bucket_of(std::max(distance, -std::numeric_limits<std::int64_t>::max()), rule);
}

DistanceBias t5_bias(View<const float, 2> table, const Positions& positions, const T5Buckets& rule) {
  check_table("t5_bias", table);
  check_rule(rule);
  if (table.shape[0] != rule.buckets)
    throw std::invalid_argument("t5_bias: the table has " + std::to_string(table.shape[0]) + " rows, the rule " +
                                std::to_string(rule.buckets) + " buckets; they must agree");
  return look_up(table, positions, [&](std::int64_t distance) { return bucket_of(distance, rule); });
}

DistanceBias clamped_relative(View<const float, 2> table, const Positions& positions) {
  check_table("clamped_relative", table);
  if (table.shape[0] % 2 == 0)
    throw std::invalid_argument("clamped_relative: the table has " + std::to_string(table.shape[0]) +
                                " rows; 2 R + 1 are needed, for distances from -R to R");
  const auto reach = table.shape[0] / 2;
  return look_up(table, positions, [&](std::int64_t distance) { return std::clamp(distance, -reach, reach) + reach; });
}

}  // namespace attn
