// Cross-attention lines up words, in C++.
#include <algorithm>
#include <vector>

#include "../numbers.h"
#include "builtin/models.h"
#include "insight/tables/attention_tables.h"
#include "model/run/prepare.h"

int main() {
  attn::ThreadPool pool;
  using attn::insight::Kind;

  // [pair]
  const attn::model::Reader reader = attn::model::Reader::load(attn::builtin::folder_of("tiny-translate"));
  const attn::model::Text text =
      attn::model::prepared({.text = "I love you", .pair = {}, .target = {}}, reader, pool);  // text.target: 我爱你
  const attn::insight::RecordedTables tables(attn::model::read(reader, text, {}, pool));

  // [read]
  const std::int64_t source = tables.stack(Kind::cross).keys;

  // [write]
  const std::int64_t written = tables.stack(Kind::cross).queries;

  // [cross]
  const attn::nn::Matrix cross = tables.weights({Kind::cross, 1, 0}, pool);  // [written, source]
  std::vector<float> picked;
  for (std::int64_t i = 0; i < written; ++i)
    picked.push_back(static_cast<float>(std::max_element(cross.row(i), cross.row(i) + source) - cross.row(i)));

  // [wrong]
  std::vector<float> mean(static_cast<std::size_t>(written * source));
  const attn::insight::AttentionStack& stack = tables.stack(Kind::cross);
  for (const attn::insight::HeadId& head : tables.heads()) {
    if (head.kind != Kind::cross || head.layer != 0) continue;
    const attn::nn::Matrix table = tables.weights(head, pool);
    for (std::size_t n = 0; n < mean.size(); ++n) mean[n] += table.data()[n] / static_cast<float>(stack.heads);
  }

  // [exercise]
  const float rest = 1 - *std::max_element(cross.row(1), cross.row(2));

  // []
  const std::vector<std::size_t> shape = {static_cast<std::size_t>(written), static_cast<std::size_t>(source)};
  lesson::print({{"cross", shape, {cross.data(), cross.data() + written * source}},
                 {"picked", {picked.size()}, picked},
                 {"first_mean", shape, mean},
                 {"asked_rest", {}, {rest}}});
}
