// lessons/translation/compute.cc - the cross-attention of a small translator aligns the words of two languages.
#include <algorithm>
#include <stdexcept>

#include "course/compute/attend.h"
#include "course/compute/lesson_parts.h"
#include "course/compute/model_look.h"
#include "course/compute/translate.h"
#include "course/course.h"

namespace attn::course {

namespace {

using insight::Kind;

// The column of the largest weight in each row.
LessonArray picked(const LessonArray& table) {
  LessonArray out = LessonArray::zeros({table.height()});
  for (std::int64_t i = 0; i < table.height(); ++i) {
    const auto row = table.numbers.begin() + i * table.width();
    out.numbers[static_cast<std::size_t>(i)] = static_cast<double>(std::max_element(row, row + table.width()) - row);
  }
  return out;
}

// "我 → I, 爱 → love", for the rows that predict a word.
std::string aligned(const LessonArray& table, const std::vector<text::Token>& written) {
  const LessonArray columns = picked(table);
  std::vector<std::string> pairs;
  for (std::size_t i = 0; i < written.size(); ++i)
    if (!written[i].special)
      pairs.push_back(written[i].text + " → " + table.columns[static_cast<std::size_t>(columns.numbers[i])]);
  return joined(pairs, ", ");
}

// The mean over the heads of the first layer.
LessonArray first_mean(const insight::AttentionTables& tables, ThreadPool& pool) {
  const LessonArray all = layer_tables(tables, Kind::cross, 0, pool);
  LessonArray out = LessonArray::zeros({all.shape[1], all.shape[2]});
  for (std::size_t n = 0; n < all.numbers.size(); ++n)
    out.numbers[n % out.numbers.size()] += all.numbers[n] / static_cast<double>(all.shape[0]);
  return std::move(out).named(all.rows, all.columns);
}

figure::HeadView lines(const LessonArray& table, const std::string& title) {
  LessonArray one = table;
  one.shape.insert(one.shape.begin(), 1);
  figure::HeadView view = lines_of(one, title);
  view.query_label = "Written";
  view.key_label = "Source";
  return view;
}

figure::Heatmap blue(const LessonArray& table, const std::string& title) {
  figure::Heatmap map = heatmap_of(table, title, {.cmap = "Blues", .range = figure::Range{0, 1}});
  map.x_label = "Source";
  map.y_label = "Written";
  map.values = true;
  return map;
}

// Adds one sentence under a prefix: its translation, and the attention of each output word.
LessonArray add_translation(LessonOutput& output, const std::string& prefix, const insight::AttentionTables& tables,
                            const insight::HeadId& head, ThreadPool& pool) {
  const model::Recording& recording = *tables.recording();
  const LessonArray table = table_of(tables, head, pool);
  const auto add = [&](const char* name, std::int64_t number) {
    output.arrays.add(prefix + name, LessonArray::scalar(static_cast<double>(number)));
  };
  output.words.add(prefix + "text", recording.origin.text.text);
  output.words.add(prefix + "translation", recording.origin.text.target.value_or(""));
  output.words.add(prefix + "aligned", aligned(table, recording.written));
  output.arrays.add(prefix + "cross", table);
  output.arrays.add(prefix + "picked", picked(table).named({}, table.rows));
  add("source_tokens", table.width());
  add("written_tokens", table.height());
  output.figures.add(prefix + "heatmap", blue(table, recording.origin.text.target.value_or("")));
  output.figures.add(prefix + "lines", lines(table, recording.origin.text.target.value_or("")));
  return table;
}

}  // namespace

LessonOutput translation(const LessonInput& input, const LessonWork& work) {
  LessonOutput output;
  const model::Reader reader = open_model(input.text("model"));
  const insight::HeadId head{Kind::cross, input.whole("layer"), input.whole("head")};
  const insight::RecordedTables tables(translated(reader, input.text("text"), {}, work.pool));
  const model::Recording& recording = *tables.recording();
  tables.check(head);
  output.words.add("model", short_name(reader));
  output.arrays.add("layer", LessonArray::scalar(static_cast<double>(head.layer)));
  output.arrays.add("head", LessonArray::scalar(static_cast<double>(head.head)));
  output.words.add("source", joined(names_of(recording.tokens)));
  output.words.add("given", joined(names_of(recording.target)));
  output.words.add("written", joined(names_of(recording.written)));

  const LessonArray table = add_translation(output, "", tables, head, work.pool);
  const std::int64_t middle = std::min<std::int64_t>(2, table.height() - 1);
  const auto column = static_cast<std::int64_t>(picked(table).numbers[static_cast<std::size_t>(middle)]);
  output.words.add("row", table.rows[static_cast<std::size_t>(middle)]);
  output.words.add("row_given", recording.target[static_cast<std::size_t>(middle)].text);
  output.words.add("row_looks", table.columns[static_cast<std::size_t>(column)]);
  const std::int64_t asked = std::min<std::int64_t>(1, table.height() - 1);
  const auto asked_column = static_cast<std::int64_t>(picked(table).numbers[static_cast<std::size_t>(asked)]);
  output.words.add("asked", table.rows[static_cast<std::size_t>(asked)]);
  output.words.add("asked_looks", table.columns[static_cast<std::size_t>(asked_column)]);
  output.arrays.add("asked_weight", LessonArray::scalar(table.at(asked, asked_column)));
  output.arrays.add("asked_rest", LessonArray::scalar(1 - table.at(asked, asked_column)));
  const LessonArray mean = first_mean(tables, work.pool);
  output.arrays.add("first_mean", mean);
  output.words.add("first_aligned", aligned(mean, recording.written));

  const insight::RecordedTables longer(translated(reader, input.text("longer"), {}, work.pool));
  add_translation(output, "longer_", longer, head, work.pool);
  return output;
}

}  // namespace attn::course
