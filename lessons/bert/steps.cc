// BERT looks at a sentence, in C++.
#include <vector>

#include "../numbers.h"
#include "builtin/models.h"
#include "insight/tables/attention_tables.h"

int main() {
  attn::ThreadPool pool;
  using attn::insight::Kind;

  // [model]
  const attn::model::Reader reader = attn::model::Reader::load(attn::builtin::folder_of("tiny-bert"));
  const auto layers = reader.model->facts().layers, heads = reader.model->facts().heads.heads;

  // [tokens]
  const auto recorded = [&](const char* text) {
    return attn::insight::RecordedTables(attn::model::read(reader, {.text = text, .pair = {}, .target = {}}, {}, pool));
  };
  const attn::insight::RecordedTables cat = recorded("The cat sat on the mat.");
  const auto tokens = static_cast<std::size_t>(cat.stack(Kind::self).keys);

  // [lines]
  std::vector<float> cat_attention;  // [layers, heads, N, N]
  for (const attn::insight::HeadId& name : cat.heads()) {
    const attn::nn::Matrix weights = cat.weights(name, pool);
    cat_attention.insert(cat_attention.end(), weights.data(), weights.row(weights.rows()));
  }

  // [word]
  std::vector<float> looks(tokens), where(tokens * 2);  // the most, and in which layer and head
  for (const attn::insight::HeadId& name : cat.heads()) {
    const attn::nn::Matrix weights = cat.weights(name, pool);
    for (std::size_t j = 0; j < tokens; ++j) {
      if (weights.row(2)[j] <= looks[j]) continue;
      looks[j] = weights.row(2)[j];
      where[2 * j] = static_cast<float>(name.layer);
      where[2 * j + 1] = static_cast<float>(name.head);
    }
  }

  // [heatmap]
  const attn::insight::RecordedTables fox = recorded("The quick brown fox jumps over the lazy dog.");
  const auto n = fox.stack(Kind::self).keys;
  const attn::nn::Matrix table = fox.weights({Kind::self, layers - 1, 0}, pool);  // [N, N]
  const float first_to_last = table.row(0)[n - 1], noun_to_last = table.row(4)[n - 1];

  // [resting]
  std::vector<float> on_last(static_cast<std::size_t>(layers));
  for (const attn::insight::HeadId& name : fox.heads()) {
    const attn::nn::Matrix weights = fox.weights(name, pool);
    for (std::int64_t i = 0; i < n; ++i)
      on_last[static_cast<std::size_t>(name.layer)] += weights.row(i)[n - 1] / static_cast<float>(n * heads);
  }

  // [exercise]
  const float rest = 1 - noun_to_last;

  // []
  const auto side = static_cast<std::size_t>(n);
  const std::vector<std::size_t> shape = {static_cast<std::size_t>(layers), static_cast<std::size_t>(heads), tokens,
                                          tokens};
  lesson::print({{"cat_attention", shape, cat_attention},
                 {"looks", {tokens, 1}, looks},
                 {"where", {tokens, 2}, where},
                 {"fox_weights", {side, side}, {table.data(), table.data() + n * n}},
                 {"first_to_last", {}, {first_to_last}},
                 {"noun_to_last", {}, {noun_to_last}},
                 {"on_last", {on_last.size()}, on_last},
                 {"rest", {}, {rest}}});
}
