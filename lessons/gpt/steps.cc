// How GPT writes, in C++.
#include <algorithm>
#include <cmath>
#include <vector>

#include "../numbers.h"
#include "builtin/models.h"
#include "insight/tables/attention_tables.h"
#include "model/run/generate.h"

int main() {
  attn::ThreadPool pool;
  const attn::model::Reader reader = attn::model::Reader::load(attn::builtin::folder_of("tiny-gpt"));
  const attn::model::Model& model = *reader.model;

  // [look]
  const attn::insight::RecordedTables tables(attn::model::read(
      reader, {.text = "This movie is one of the best films of the year.", .pair = {}, .target = {}}, {}, pool));
  const attn::nn::Matrix attention = tables.weights({attn::insight::Kind::self, 0, 2}, pool);
  const std::int64_t n = attention.rows();
  float above = 0, before = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = i + 1; j < n; ++j) above = std::max(above, attention.row(i)[j]);
    if (i > 0) before += attention.row(i)[i - 1] / static_cast<float>(n - 1);
  }

  // [next]
  std::vector<std::int32_t> ids = reader.tokenizer.ids("This movie is");
  const auto logits_behind = [&](const std::vector<std::int32_t>& text) {
    const attn::nn::Matrix hidden = model.decode(attn::model::Batch(text), {.pool = pool});
    const attn::nn::Matrix row = model.logits(attn::nn::rows_of(hidden.view(), hidden.rows() - 1, 1), pool);
    return std::vector<float>(row.data(), row.data() + row.columns());
  };
  std::vector<float> next;  // logit and probability of the eight likeliest
  const std::vector<float> first = logits_behind(ids);
  for (const attn::model::Choice& choice : attn::model::likeliest(first, 8)) {
    next.push_back(first[static_cast<std::size_t>(choice.id)]);
    next.push_back(static_cast<float>(choice.probability));
  }

  // [greedy]
  std::vector<float> greedy;
  for (int step = 0; step < 14; ++step) {
    const attn::model::Choice best = attn::model::likeliest(logits_behind(ids), 1)[0];
    ids.push_back(best.id);
    greedy.insert(greedy.end(), 2, static_cast<float>(best.probability));
  }

  // [temperature]
  const auto at_half = attn::model::candidates(first, {.temperature = 0.5});
  std::vector<double> shares;
  for (const attn::model::Choice& choice : at_half) shares.push_back(choice.probability);
  std::partial_sort(shares.begin(), shares.begin() + 2, shares.end(), std::greater<>());
  const float ratio_half = static_cast<float>(shares[0] / shares[1]);

  // []
  const auto side = static_cast<std::size_t>(n);
  lesson::print({{"attention", {side, side}, {attention.data(), attention.data() + n * n}},
                 {"above", {}, {above}},
                 {"before", {}, {before}},
                 {"next", {8, 2}, next},
                 {"greedy", {14, 2}, greedy},
                 {"ratio_half", {}, {ratio_half}}});
}
