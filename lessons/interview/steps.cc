// Questions and proofs, in C++.
#include <attn/attn.h>

#include <cmath>
#include <vector>

#include "../numbers.h"
#include "builtin/models.h"
#include "insight/statistics/statistics.h"
#include "nn/infer/numpy_random.h"

namespace {

using Numbers = std::vector<float>;

struct Result {
  Numbers result, weights;
};

// Rows of `width` numbers.
Result attend(const Numbers& q, const Numbers& k, const Numbers& v, std::int64_t width) {
  static attn::ThreadPool pool;
  const std::int64_t n = std::ssize(q) / width, m = std::ssize(k) / width;
  const attn::Shape<4> queries = {1, 1, n, width}, keys = {1, 1, m, width};
  Result result{Numbers(q.size()), Numbers(static_cast<std::size_t>(n * m))};
  attn::attention({attn::View(q.data(), queries), attn::View(k.data(), keys), attn::View(v.data(), keys)}, {},
                  attn::View(result.result.data(), queries), {},
                  attn::View(result.weights.data(), attn::Shape<4>{1, 1, n, m}), pool);
  return result;
}

Numbers normal(attn::nn::NumpyRandom& random, std::size_t count) {
  Numbers out(count);
  for (float& number : out) number = static_cast<float>(random.normal());
  return out;
}

}  // namespace

int main() {
  // [formula]
  const Result library = attend({1, 0}, {1, 0, 0, 1, 1, 0}, {10, 0, 0, 20, 30, 0}, 2);

  // [scale]
  attn::nn::NumpyRandom random(42);
  const Numbers q = normal(random, 1000 * 512), k = normal(random, 1000 * 512);
  double variance = 0;
  for (std::size_t pair = 0; pair < 1000; ++pair) {
    double product = 0;
    for (std::size_t c = 0; c < 512; ++c) product += static_cast<double>(q[pair * 512 + c]) * k[pair * 512 + c];
    variance += product * product / 1000;
  }

  // [softmax]
  const double sum = std::exp(3) + std::exp(1) + std::exp(1), share = std::exp(3) / sum;
  const double slope = share * (1 - share);

  // [cross]
  attn::nn::NumpyRandom again(42);
  const Numbers own = normal(again, 3 * 4), other = normal(again, 5 * 4);
  const Result self = attend(own, own, own, 4), cross = attend(own, other, other, 4);

  // [heads]
  attn::ThreadPool pool;
  const attn::model::Reader bert = attn::model::Reader::load(attn::builtin::folder_of("tiny-bert"));
  const attn::insight::RecordedTables tables(
      attn::model::read(bert, {.text = "The film was good", .pair = {}, .target = {}}, {}, pool));
  Numbers learned;
  for (const auto& head : attn::insight::statistics(tables, {}, pool))
    for (int offset = -1; head.name.layer == 1 && offset <= 1; ++offset)
      learned.push_back(static_cast<float>(head.shares.offset(offset)));

  // [checklist]
  const Result answer53 = attend({1, 0, 0, 1}, {1, 0, 0, 1}, {1, 2, 3, 4}, 2);

  // []
  lesson::print({{"weights", {1, 3}, library.weights},
                 {"output", {1, 2}, library.result},
                 {"variance", {}, {static_cast<float>(variance)}},
                 {"slope", {}, {static_cast<float>(slope)}},
                 {"self_weights", {3, 3}, self.weights},
                 {"cross_weights", {3, 5}, cross.weights},
                 {"learned", {4, 3}, learned},
                 {"answer53", {2, 2}, answer53.result}});
}
