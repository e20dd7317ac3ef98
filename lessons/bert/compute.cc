// lessons/bert/compute.cc - a model that reads: its heads on two sentences, as lines and as a heatmap.
#include <algorithm>
#include <stdexcept>

#include "course/compute/lesson_parts.h"
#include "course/compute/model_look.h"
#include "course/course.h"

namespace attn::lesson {

namespace {

using insight::Kind;
using insight::RecordedSpecimen;

RecordedSpecimen read_text(const model::Reader& reader, const std::string& text, ThreadPool& pool) {
  return RecordedSpecimen(model::read(reader, {.text = text, .pair = {}, .target = {}}, {}, pool));
}

void add_facts(Told& told, const model::Reader& reader) {
  const model::Facts& facts = reader.model->facts();
  const auto add = [&](const char* name, std::int64_t number) {
    told.arrays.add(name, Array::scalar(static_cast<double>(number)));
  };
  told.words.add("model", short_name(reader));
  if (reader.name == "tiny-bert") told.words.add("is_tiny", reader.name);
  add("layers", facts.layers);
  add("heads", facts.heads.heads);
  add("tables", facts.layers * facts.heads.heads);
  add("width", facts.width);
  add("parameters", facts.parameters);
}

// The most that any head of `all` [L, H, N, N] gives from a token to each, [N, 1], and its layer and head, [N, 2].
struct Strongest {
  Array weights, where;
};
Strongest strongest(const Array& all, std::int64_t from) {
  const std::int64_t heads = all.shape[1], n = all.shape[2];
  Strongest out{.weights = Array::zeros({n, 1}).named(all.columns, {"weight"}),
                .where = Array::zeros({n, 2}).named(all.columns, {"layer", "head"})};
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

// Where a word looks.
void add_word(Told& told, const RecordedSpecimen& cat, const Array& all, std::int64_t word) {
  insight::need_index("word", word, all.shape[2]);
  const auto [looks, where] = strongest(all, word);
  std::int64_t most = -1;
  for (std::int64_t j = 0; j < looks.height(); ++j) {
    if (j == word || cat.keys(Kind::self)[static_cast<std::size_t>(j)].special) continue;
    if (most < 0 || looks.at(j, 0) > looks.at(most, 0)) most = j;
  }
  told.words.add("word", looks.rows[static_cast<std::size_t>(word)]);
  told.arrays.add("looks", looks);
  told.arrays.add("where", where);
  if (most < 0) return;
  told.words.add("most", looks.rows[static_cast<std::size_t>(most)]);
  told.arrays.add("most_weight", Array::scalar(looks.at(most, 0)));
  told.arrays.add("most_layer", Array::scalar(where.at(most, 0)));
  told.arrays.add("most_head", Array::scalar(where.at(most, 1)));
}

// How much of a layer's attention lies on the last token, [SEP]: the mean over heads and words.
Array on_last(const Array& all) {
  const std::int64_t layers = all.shape[0], rows = all.shape[1] * all.shape[2], n = all.shape[3];
  Array out = Array::zeros({layers});
  for (std::int64_t row = 0; row < layers * rows; ++row)
    out.numbers[static_cast<std::size_t>(row / rows)] +=
        all.numbers[static_cast<std::size_t>(row * n + n - 1)] / static_cast<double>(rows);
  return std::move(out).named({}, numbered("layer ", layers));
}

figure::Bars resting_bars(const Array& shares, std::string title) {
  figure::Bars bars{.bars = {}, .title = std::move(title), .x_label = "share of attention", .caption = {}};
  for (std::size_t n = 0; n < shares.numbers.size(); ++n) bars.bars.push_back({shares.columns[n], shares.numbers[n]});
  return bars;
}

// The table of one head, and where its attention rests.
void add_fox(Told& told, const model::Reader& reader, const std::string& text, const insight::HeadName& at,
             ThreadPool& pool) {
  const RecordedSpecimen fox = read_text(reader, text, pool);
  const Array table = table_of(fox, at, pool);
  told.arrays.add("fox_weights", table);
  told.words.add("fox_text", text);
  told.words.add("first", table.rows.front());
  told.words.add("last", table.columns.back());
  const std::int64_t noun = std::min<std::int64_t>(4, table.height() - 1);
  told.words.add("noun", table.rows[static_cast<std::size_t>(noun)]);
  told.arrays.add("first_to_last", Array::scalar(table.at(0, table.width() - 1)));
  told.arrays.add("noun_to_last", Array::scalar(table.at(noun, table.width() - 1)));
  told.arrays.add("rest", Array::scalar(1 - table.at(noun, table.width() - 1)));
  told.figures.add("fox", heatmap_of(table, short_name(reader) + ", " + to_string(at), {.cmap = "Blues"}));

  const Array last = on_last(all_tables(fox, Kind::self, pool));
  told.arrays.add("on_last", last);
  told.figures.add("resting", resting_bars(last, "On " + table.columns.back() + ", the mean of a layer"));
}

}  // namespace

Told bert(const Given& given, const Work& work) {
  Told told;
  const model::Reader reader = open_model(given.text("model"));
  add_facts(told, reader);
  const model::Facts& facts = reader.model->facts();
  if (facts.form != model::Form::encoder)
    throw std::invalid_argument(reader.name + " is no encoder: this lesson looks at models like BERT");
  const insight::HeadName at{Kind::self, std::min(given.whole("layer"), facts.layers - 1), given.whole("head")};
  insight::need_index("head", at.head, facts.heads.heads);
  told.arrays.add("layer", Array::scalar(static_cast<double>(at.layer)));
  told.arrays.add("head", Array::scalar(static_cast<double>(at.head)));
  told.arrays.add("layer_from_1", Array::scalar(static_cast<double>(at.layer + 1)));
  told.arrays.add("head_from_1", Array::scalar(static_cast<double>(at.head + 1)));

  const RecordedSpecimen cat = read_text(reader, given.text("text"), work.pool);
  const Array cat_all = all_tables(cat, Kind::self, work.pool);
  told.arrays.add("cat_attention", cat_all);
  told.words.add("text", given.text("text"));
  told.words.add("tokens", joined(cat_all.columns));
  told.arrays.add("tokens_count", Array::scalar(static_cast<double>(cat_all.shape[3])));
  told.figures.add("lines", lines_of(layer_tables(cat, Kind::self, at.layer, work.pool),
                                     short_name(reader) + ", layer " + std::to_string(at.layer)));
  add_word(told, cat, cat_all, given.whole("word"));

  add_fox(told, reader, given.text("fox"), at, work.pool);
  return told;
}

}  // namespace attn::lesson
