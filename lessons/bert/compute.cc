// lessons/bert/compute.cc - the heads of an encoder on two sentences, as lines and as a heatmap.
#include <algorithm>
#include <stdexcept>

#include "course/compute/lesson_parts.h"
#include "course/compute/model_look.h"
#include "course/course.h"

namespace attn::course {

namespace {

using insight::Kind;
using insight::RecordedTables;

RecordedTables read_text(const model::Reader& reader, const std::string& text, ThreadPool& pool) {
  return RecordedTables(model::read(reader, {.text = text, .pair = {}, .target = {}}, {}, pool));
}

void add_facts(LessonOutput& output, const model::Reader& reader) {
  const model::Facts& facts = reader.model->facts();
  const auto add = [&](const char* name, std::int64_t number) {
    output.arrays.add(name, LessonArray::scalar(static_cast<double>(number)));
  };
  output.words.add("model", short_name(reader));
  if (reader.name == "tiny-bert") output.words.add("is_tiny", reader.name);
  add("layers", facts.layers);
  add("heads", facts.heads.heads);
  add("tables", facts.layers * facts.heads.heads);
  add("width", facts.width);
  add("parameters", facts.parameters);
}

// The largest weight from a token to each token over all heads of `all` [L, H, N, N]: [N, 1]; its layer and head: [N,
// 2].
struct Strongest {
  LessonArray weights, where;
};
Strongest strongest(const LessonArray& all, std::int64_t from) {
  const std::int64_t heads = all.shape[1], n = all.shape[2];
  Strongest out{.weights = LessonArray::zeros({n, 1}).named(all.columns, {"weight"}),
                .where = LessonArray::zeros({n, 2}).named(all.columns, {"layer", "head"})};
  for (std::int64_t table = 0; table < all.shape[0] * heads; ++table) {
    const double* const row = all.numbers.data() + (table * n + from) * n;
    for (std::int64_t j = 0; j < n; ++j) {
      if (row[j] <= out.weights.at(j, 0)) continue;
      out.weights.at(j, 0) = row[j];
      const std::int64_t layer = table / heads;
      out.where.at(j, 0) = static_cast<double>(layer);
      out.where.at(j, 1) = static_cast<double>(table % heads);
    }
  }
  return out;
}

// The attention of one word.
void add_word(LessonOutput& output, const RecordedTables& cat, const LessonArray& all, std::int64_t word) {
  insight::need_index("word", word, all.shape[2]);
  const auto [looks, where] = strongest(all, word);
  std::int64_t most = -1;
  for (std::int64_t j = 0; j < looks.height(); ++j) {
    if (j == word || cat.keys(Kind::self)[static_cast<std::size_t>(j)].special) continue;
    if (most < 0 || looks.at(j, 0) > looks.at(most, 0)) most = j;
  }
  output.words.add("word", looks.rows[static_cast<std::size_t>(word)]);
  output.arrays.add("looks", looks);
  output.arrays.add("where", where);
  if (most < 0) return;
  output.words.add("most", looks.rows[static_cast<std::size_t>(most)]);
  output.arrays.add("most_weight", LessonArray::scalar(looks.at(most, 0)));
  output.arrays.add("most_layer", LessonArray::scalar(where.at(most, 0)));
  output.arrays.add("most_head", LessonArray::scalar(where.at(most, 1)));
}

// The share of a layer's attention on the last token, [SEP]: the mean over heads and words.
LessonArray on_last(const LessonArray& all) {
  const std::int64_t layers = all.shape[0], rows = all.shape[1] * all.shape[2], n = all.shape[3];
  LessonArray out = LessonArray::zeros({layers});
  for (std::int64_t row = 0; row < layers * rows; ++row)
    out.numbers[static_cast<std::size_t>(row / rows)] +=
        all.numbers[static_cast<std::size_t>(row * n + n - 1)] / static_cast<double>(rows);
  return std::move(out).named({}, numbered("layer ", layers));
}

figure::Bars resting_bars(const LessonArray& shares, std::string title) {
  figure::Bars bars{.bars = {}, .title = std::move(title), .x_label = "share of attention", .caption = {}};
  for (std::size_t n = 0; n < shares.numbers.size(); ++n) bars.bars.push_back({shares.columns[n], shares.numbers[n]});
  return bars;
}

// The table of one head, and the tokens with most of its attention.
void add_fox(LessonOutput& output, const model::Reader& reader, const std::string& text, const insight::HeadId& at,
             ThreadPool& pool) {
  const RecordedTables fox = read_text(reader, text, pool);
  const LessonArray table = table_of(fox, at, pool);
  output.arrays.add("fox_weights", table);
  output.words.add("fox_text", text);
  output.words.add("first", table.rows.front());
  output.words.add("last", table.columns.back());
  const std::int64_t noun = std::min<std::int64_t>(4, table.height() - 1);
  output.words.add("noun", table.rows[static_cast<std::size_t>(noun)]);
  output.arrays.add("first_to_last", LessonArray::scalar(table.at(0, table.width() - 1)));
  output.arrays.add("noun_to_last", LessonArray::scalar(table.at(noun, table.width() - 1)));
  output.arrays.add("rest", LessonArray::scalar(1 - table.at(noun, table.width() - 1)));
  output.figures.add("fox", heatmap_of(table, short_name(reader) + ", " + to_string(at), {.cmap = "Blues"}));

  const LessonArray last = on_last(all_tables(fox, Kind::self, pool));
  output.arrays.add("on_last", last);
  output.figures.add("resting", resting_bars(last, "On " + table.columns.back() + ", the mean of a layer"));
}

}  // namespace

LessonOutput bert(const LessonInput& input, const LessonWork& work) {
  LessonOutput output;
  const model::Reader reader = open_model(input.text("model"));
  add_facts(output, reader);
  const model::Facts& facts = reader.model->facts();
  if (facts.form != model::Form::encoder)
    throw std::invalid_argument(reader.name + " is not an encoder: this lesson needs a model like BERT");
  const insight::HeadId at{Kind::self, std::min(input.whole("layer"), facts.layers - 1), input.whole("head")};
  insight::need_index("head", at.head, facts.heads.heads);
  output.arrays.add("layer", LessonArray::scalar(static_cast<double>(at.layer)));
  output.arrays.add("head", LessonArray::scalar(static_cast<double>(at.head)));
  output.arrays.add("layer_from_1", LessonArray::scalar(static_cast<double>(at.layer + 1)));
  output.arrays.add("head_from_1", LessonArray::scalar(static_cast<double>(at.head + 1)));

  const RecordedTables cat = read_text(reader, input.text("text"), work.pool);
  const LessonArray cat_all = all_tables(cat, Kind::self, work.pool);
  output.arrays.add("cat_attention", cat_all);
  output.words.add("text", input.text("text"));
  output.words.add("tokens", joined(cat_all.columns));
  output.arrays.add("tokens_count", LessonArray::scalar(static_cast<double>(cat_all.shape[3])));
  output.figures.add("lines", lines_of(layer_tables(cat, Kind::self, at.layer, work.pool),
                                       short_name(reader) + ", layer " + std::to_string(at.layer)));
  add_word(output, cat, cat_all, input.whole("word"));

  add_fox(output, reader, input.text("fox"), at, work.pool);
  return output;
}

}  // namespace attn::course
