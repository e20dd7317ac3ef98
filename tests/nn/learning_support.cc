#include "tests/nn/learning_support.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "nn/learn/dropout.h"
#include "tests/support/exact.h"
#include "tests/support/random.h"

namespace attn::test {
namespace {

constexpr double kTolerance = 2e-5;  // 4e-6 was observed

// Queries or keys of one head, rotated if the configuration has rope.
std::vector<double> head_of(const Table& x, std::int64_t row, std::int64_t head, std::int64_t position,
                            const nn::AttentionConfig& config) {
  const std::int64_t width = config.head_width();
  std::vector<double> answer(static_cast<std::size_t>(width));
  for (std::int64_t d = 0; d < width; ++d) answer[static_cast<std::size_t>(d)] = x(row, head * width + d);
  if (config.relation != nn::Relation::rope) return answer;
  const std::size_t pairs = config.rope.frequencies.size();
  for (std::size_t p = 0; p < pairs; ++p) {
    const double angle = static_cast<double>(position) * static_cast<double>(config.rope.frequencies[p]);
    const double cos = std::cos(angle) * static_cast<double>(config.rope.factor);
    const double sin = std::sin(angle) * static_cast<double>(config.rope.factor);
    const double a = answer[p], b = answer[p + pairs];
    answer[p] = a * cos - b * sin;
    answer[p + pairs] = b * cos + a * sin;
  }
  return answer;
}

double relation_of(const Numbers& from, const std::string& name, const nn::AttentionConfig& config, std::int64_t head,
                   std::int64_t distance) {
  switch (config.relation) {
    case nn::Relation::none:
    case nn::Relation::rope:
      return 0;
    case nn::Relation::alibi:
      return -static_cast<double>(alibi_slopes(config.heads)[static_cast<std::size_t>(head)]) *
             static_cast<double>(std::abs(distance));
    case nn::Relation::relative: {
      const Table& table = from.at(name + "relation");
      const std::int64_t reach = (table.rows - 1) / 2;
      return table(std::clamp(distance, -reach, reach) + reach, head);
    }
    case nn::Relation::buckets:
      return from.at(name + "relation")(t5_bucket(distance, config.bucketing), head);
  }
  return 0;
}

void softmax(std::span<double> scores) {
  double sum = 0;
  const double top = *std::ranges::max_element(scores);
  if (std::isinf(top)) {  // no key is visible
    std::ranges::fill(scores, 0.0);
    return;
  }
  for (double& s : scores) sum += s = std::exp(s - top);
  for (double& s : scores) s /= sum;
}

Table add(Table a, const Table& b) {
  for (std::size_t n = 0; n < a.numbers.size(); ++n) a.numbers[n] += b.numbers[n];
  return a;
}

}  // namespace

Table table_of(View<const float, 2> from) {
  Table table{from.shape[0], from.shape[1]};
  for (std::int64_t i = 0; i < table.rows; ++i)
    for (std::int64_t j = 0; j < table.columns; ++j) table(i, j) = static_cast<double>(from(i, j));
  return table;
}

Numbers numbers_of(const nn::Parameters& parameters) {
  Numbers numbers;
  for (const nn::Parameter& p : parameters.all()) numbers.emplace(p.name, table_of(p.value.view()));
  return numbers;
}

void fill(nn::Parameters& parameters, float factor) {
  std::uint64_t seed = 1000;
  for (nn::Parameter& p : parameters.all()) {
    ++seed;
    const float centre = p.name.find("norm.weight") == std::string::npos ? 0.0F : 1.0F;
    for (std::int64_t n = 0; n < p.size(); ++n) {
      p.value.data()[n] = centre + factor * bell(seed, static_cast<std::uint64_t>(n));
      p.gradient.data()[n] = 0;
    }
  }
}

Table exact_dense(const Numbers& from, const std::string& name, const Table& x) {
  const Table& w = from.at(name + ".weight");
  const auto bias = from.find(name + ".bias");
  Table y{x.rows, w.rows};
  for (std::int64_t i = 0; i < y.rows; ++i) {
    for (std::int64_t o = 0; o < y.columns; ++o) {
      double sum = bias == from.end() ? 0 : bias->second(0, o);
      for (std::int64_t j = 0; j < x.columns; ++j) sum += w(o, j) * x(i, j);
      y(i, o) = sum;
    }
  }
  return y;
}

Table exact_norm(const Numbers& from, const std::string& name, const Table& x, const nn::Norm& how) {
  const Table& weight = from.at(name + ".weight");
  const auto bias = from.find(name + ".bias");
  Table y{x.rows, x.columns};
  for (std::int64_t i = 0; i < x.rows; ++i) {
    double mean = 0, square = 0;
    for (std::int64_t j = 0; j < x.columns && how.centered; ++j) mean += x(i, j) / static_cast<double>(x.columns);
    for (std::int64_t j = 0; j < x.columns; ++j)
      square += (x(i, j) - mean) * (x(i, j) - mean) / static_cast<double>(x.columns);
    for (std::int64_t j = 0; j < x.columns; ++j) {
      y(i, j) = (x(i, j) - mean) / std::sqrt(square + static_cast<double>(how.epsilon)) * weight(0, j) +
                (bias == from.end() ? 0 : bias->second(0, j));
    }
  }
  return y;
}

Table exact_drop(Table x, const Dropout& dropout) {
  if (dropout.rate == 0) return x;
  std::vector<float> kept(x.numbers.size(), 1.0F);
  ThreadPool pool(1);
  nn::drop({kept.data(), {x.rows, x.columns}}, dropout, pool);
  for (std::size_t n = 0; n < kept.size(); ++n) x.numbers[n] *= kept[n] == 0 ? 0 : 1 / (1 - double{dropout.rate});
  return x;
}

ExactAttention exact_attention(const Numbers& from, const std::string& name, const nn::AttentionConfig& config,
                               const ExactAttentionIn& in, const Dropout& dropout) {
  const std::int64_t width = config.head_width(),
                     group = config.heads / (config.key_heads ? config.key_heads : config.heads);
  const Table q = exact_dense(from, name + "q", in.x), k = exact_dense(from, name + "k", in.memory);
  const Table v = exact_dense(from, name + "v", in.memory);
  const double scale = config.scale ? double{*config.scale} : 1 / std::sqrt(static_cast<double>(width));
  const double cap = static_cast<double>(config.softcap);
  Table mixed{q.rows, q.columns};
  ExactAttention answer;
  for (std::size_t s = 0; s + 1 < in.starts.size(); ++s) {
    const std::int64_t first = in.starts[s], n = in.starts[s + 1] - first;
    const std::int64_t first_key = in.memory_starts[s], m = in.memory_starts[s + 1] - first_key;
    const auto batch = static_cast<std::int64_t>(s);
    std::vector<double>& all = answer.weights.emplace_back();
    for (std::int64_t h = 0; h < config.heads; ++h) {
      for (std::int64_t i = 0; i < n; ++i) {
        const std::vector<double> query = head_of(q, first + i, h, i, config);
        std::vector<double> scores(static_cast<std::size_t>(m), -std::numeric_limits<double>::infinity());
        for (std::int64_t j = 0; j < m; ++j) {
          if (!config.mask.allows(batch, h, i, j)) continue;
          const std::vector<double> key = head_of(k, first_key + j, h / group, j, config);
          double score = 0;
          for (std::size_t d = 0; d < key.size(); ++d) score += scale * query[d] * key[d];
          if (cap > 0) score = cap * std::tanh(score / cap);
          scores[static_cast<std::size_t>(j)] = score + relation_of(from, name, config, h, j - i);
        }
        softmax(scores);
        all.insert(all.end(), scores.begin(), scores.end());
        for (std::int64_t j = 0; j < m; ++j) {
          double weight = scores[static_cast<std::size_t>(j)];
          if (dropout.rate > 0) weight *= dropout_keeps(dropout, batch, h, i, j) ? 1 / (1 - double{dropout.rate}) : 0;
          for (std::int64_t d = 0; d < width; ++d)
            mixed(first + i, h * width + d) += weight * v(first_key + j, h / group * width + d);
        }
      }
    }
  }
  answer.y = exact_dense(from, name + "out", mixed);
  return answer;
}

Table exact_feed(const Numbers& from, const std::string& name, nn::Activation f, const Table& x) {
  Table wide = exact_dense(from, name + "up", x);
  if (from.contains(name + "gate.weight")) {
    const Table gate = exact_dense(from, name + "gate", x);
    for (std::size_t n = 0; n < wide.numbers.size(); ++n) wide.numbers[n] *= exact(f, gate.numbers[n]);
  } else {
    for (double& one : wide.numbers) one = exact(f, one);
  }
  return exact_dense(from, name + "down", wide);
}

Table exact_block(const Numbers& from, const ExactBlock& block, const ExactAttentionIn& in, const nn::LearnPass& pass) {
  const nn::BlockConfig& config = block.config;
  const std::uint64_t places = config.place * 8;
  const auto part = [&](const Table& x, const std::string& norm, std::uint64_t place, const auto& f) {
    const auto normed = [&](const Table& t) { return exact_norm(from, block.name + norm, t, block.norm); };
    const Table given = f(config.norm_first ? normed(x) : x);
    const Table sum = add(exact_drop(given, pass.dropout(config.dropout, places + place)), x);
    return config.norm_first ? sum : normed(sum);
  };
  Table x = part(in.x, "self_norm", 0, [&](const Table& t) {
    return exact_attention(from, block.name + "self.", config.self, {t, t, in.starts, in.starts},
                           pass.dropout(config.self.dropout, places + 3))
        .y;
  });
  if (block.cross) {
    x = part(x, "cross_norm", 1, [&](const Table& t) {
      return exact_attention(from, block.name + "cross.", config.cross, {t, in.memory, in.starts, in.memory_starts},
                             pass.dropout(config.cross.dropout, places + 4))
          .y;
    });
  }
  return part(x, "feed_norm", 2, [&](const Table& t) { return exact_feed(from, block.name, config.activation, t); });
}

void add_gradients(Numbers& to, const nn::Parameters& parameters) {
  for (const nn::Parameter& p : parameters.all()) to.emplace(p.name, table_of(p.gradient.view()));
}

void expect_slopes(Numbers numbers, const std::function<double(const Numbers&)>& loss, const Numbers& got) {
  Numbers want;
  double largest = 0;
  for (const auto& [name, gradient] : got) {
    Table& table = numbers.at(name);
    ASSERT_EQ(table.numbers.size(), gradient.numbers.size()) << name;
    want[name] = {table.rows, table.columns, slopes_of(table.numbers, [&] { return loss(numbers); })};
    for (const double one : want[name].numbers) largest = std::max(largest, std::abs(one));
  }
  for (const auto& [name, gradient] : got) EXPECT_LE(distance(gradient, want[name], largest / 20), kTolerance) << name;
}

double product(const Table& a, const Table& b) {
  double sum = 0;
  for (std::size_t n = 0; n < a.numbers.size(); ++n) sum += a.numbers[n] * b.numbers[n];
  return sum;
}

double distance(const Table& got, const Table& want, double least) {
  if (got.rows != want.rows || got.columns != want.columns) return std::numeric_limits<double>::infinity();
  double off = 0;
  for (std::size_t n = 0; n < got.numbers.size(); ++n) {
    const double difference = std::abs(got.numbers[n] - want.numbers[n]);
    off = std::isfinite(difference) ? std::max(off, difference) : std::numeric_limits<double>::infinity();
    least = std::max(least, std::abs(want.numbers[n]));
  }
  return off == 0 ? 0 : off / least;
}

}  // namespace attn::test
