// Attention over film reviews, in C++.
#include <attn/attn.h>

#include <algorithm>
#include <vector>

#include "../numbers.h"
#include "nn/infer/embedding.h"
#include "nn/infer/matrix.h"
#include "nn/infer/numpy_random.h"
#include "text/datasets/examples.h"
#include "text/tokenizer/train_tokenizer.h"

int main() {
  constexpr std::int64_t kLength = 20, kWidth = 64;

  // [data]
  const std::vector<attn::text::Example> reviews = attn::text::read_examples("reviews.csv", attn::text::Wanted::label);
  const std::int64_t samples = std::ssize(reviews);

  // [words]
  std::size_t next = 0;
  const auto text = [&] { return next == reviews.size() ? std::nullopt : std::optional(reviews[next++].text); };
  const attn::text::Tokenizer tokenizer = attn::text::load_tokenizer(
      attn::text::trained_tokenizer({.scheme = attn::text::Scheme::split, .vocabulary = 0, .least_count = 1}, text));
  std::vector<std::int32_t> ids(static_cast<std::size_t>(samples * kLength));  // 0 is <pad>
  std::vector<std::int64_t> lengths;
  for (std::int64_t s = 0; s < samples; ++s) {
    std::vector<std::int32_t> words = tokenizer.ids(reviews[static_cast<std::size_t>(s)].text);
    words.resize(std::min<std::size_t>(words.size(), kLength));
    std::ranges::copy(words, ids.begin() + s * kLength);
    lengths.push_back(std::ssize(words));
  }

  // [embed]
  attn::nn::NumpyRandom random(42);
  attn::nn::Matrix embedding(tokenizer.size(), kWidth), x(samples * kLength, kWidth);
  for (std::int64_t n = 0; n < embedding.rows() * kWidth; ++n)
    embedding.data()[n] = static_cast<float>(random.normal());
  attn::nn::embed(embedding.view(), ids, x.view());

  // [attention]
  attn::ThreadPool pool;
  const attn::Shape<4> shape = {samples, 1, kLength, kWidth}, square = {samples, 1, kLength, kLength};
  const attn::View<float, 4> rows(x.data(), shape);
  attn::nn::Matrix result(x.rows(), kWidth), weights(x.rows(), kLength), masked(x.rows(), kLength);
  attn::attention({rows, rows, rows}, {}, {result.data(), shape}, {}, {weights.data(), square}, pool);

  // [diagonal]
  float diagonal = 0, words = 0;
  for (std::int64_t s = 0; s < samples; ++s) {
    for (std::int64_t i = 0; i < lengths[static_cast<std::size_t>(s)]; ++i) diagonal += weights.row(s * kLength + i)[i];
    words += static_cast<float>(lengths[static_cast<std::size_t>(s)]);
  }

  // [pads]
  attn::Options options;
  options.mask = attn::Padding{lengths};
  attn::attention({rows, rows, rows}, options, {result.data(), shape}, {}, {masked.data(), square}, pool);

  // []
  lesson::print({{"vocabulary", {}, {static_cast<float>(tokenizer.size())}},
                 {"ids", {kLength, 1}, {ids.begin(), ids.begin() + kLength}},
                 {"weights", {kLength, kLength}, {weights.data(), weights.row(kLength)}},
                 {"masked_weights", {kLength, kLength}, {masked.data(), masked.row(kLength)}},
                 {"diagonal", {}, {diagonal / words}}});
}
