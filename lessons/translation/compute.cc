// lessons/translation/compute.cc - cross-attention of a small translator lines up the words of two languages.
#include <algorithm>
#include <stdexcept>

#include "course/compute/attend.h"
#include "course/compute/lesson_parts.h"
#include "course/compute/model_look.h"
#include "course/compute/translate.h"
#include "course/course.h"

namespace attn::lesson {

namespace {

using insight::Kind;

// Which column of each row is largest.
Array picked(const Array& table) {
  Array out = Array::zeros({table.height()});
  for (std::int64_t i = 0; i < table.height(); ++i) {
    const auto row = table.numbers.begin() + i * table.width();
    out.numbers[static_cast<std::size_t>(i)] = static_cast<double>(std::max_element(row, row + table.width()) - row);
  }
  return out;
}

// "我 → I, 爱 → love", of the rows that write a word.
std::string aligned(const Array& table, const std::vector<text::Token>& written) {
  const Array columns = picked(table);
  std::vector<std::string> pairs;
  for (std::size_t i = 0; i < written.size(); ++i)
    if (!written[i].special)
      pairs.push_back(written[i].text + " → " + table.columns[static_cast<std::size_t>(columns.numbers[i])]);
  return joined(pairs, ", ");
}

// Of the first layer, the mean of its heads.
Array first_mean(const insight::Specimen& specimen, ThreadPool& pool) {
  const Array all = layer_tables(specimen, Kind::cross, 0, pool);
  Array out = Array::zeros({all.shape[1], all.shape[2]});
  for (std::size_t n = 0; n < all.numbers.size(); ++n)
    out.numbers[n % out.numbers.size()] += all.numbers[n] / static_cast<double>(all.shape[0]);
  return std::move(out).named(all.rows, all.columns);
}

figure::HeadView lines(const Array& table, const std::string& title) {
  Array one = table;
  one.shape.insert(one.shape.begin(), 1);
  figure::HeadView view = lines_of(one, title);
  view.query_label = "Written";
  view.key_label = "Source";
  return view;
}

figure::Heatmap blue(const Array& table, const std::string& title) {
  figure::Heatmap map = heatmap_of(table, title, {.cmap = "Blues", .range = figure::Range{0, 1}});
  map.x_label = "Source";
  map.y_label = "Written";
  map.values = true;
  return map;
}

// One sentence, under a prefix: what it becomes, and where each written word looks.
Array add_translation(Told& told, const std::string& prefix, const insight::Specimen& specimen,
                      const insight::HeadName& head, ThreadPool& pool) {
  const model::Reading& reading = *specimen.reading();
  const Array table = table_of(specimen, head, pool);
  const auto add = [&](const char* name, std::int64_t number) {
    told.arrays.add(prefix + name, Array::scalar(static_cast<double>(number)));
  };
  told.words.add(prefix + "text", reading.origin.text.text);
  told.words.add(prefix + "translation", reading.origin.text.target.value_or(""));
  told.words.add(prefix + "aligned", aligned(table, reading.written));
  told.arrays.add(prefix + "cross", table);
  told.arrays.add(prefix + "picked", picked(table).named({}, table.rows));
  add("source_tokens", table.width());
  add("written_tokens", table.height());
  told.figures.add(prefix + "heatmap", blue(table, reading.origin.text.target.value_or("")));
  told.figures.add(prefix + "lines", lines(table, reading.origin.text.target.value_or("")));
  return table;
}

}  // namespace

Told translation(const Given& given, const Work& work) {
  Told told;
  const model::Reader reader = open_model(given.text("model"));
  const insight::HeadName head{Kind::cross, given.whole("layer"), given.whole("head")};
  const insight::RecordedSpecimen specimen(translated(reader, given.text("text"), {}, work.pool));
  const model::Reading& reading = *specimen.reading();
  specimen.check(head);
  told.words.add("model", short_name(reader));
  told.arrays.add("layer", Array::scalar(static_cast<double>(head.layer)));
  told.arrays.add("head", Array::scalar(static_cast<double>(head.head)));
  told.words.add("source", joined(names_of(reading.tokens)));
  told.words.add("given", joined(names_of(reading.target)));
  told.words.add("written", joined(names_of(reading.written)));

  const Array table = add_translation(told, "", specimen, head, work.pool);
  const std::int64_t middle = std::min<std::int64_t>(2, table.height() - 1);
  const auto column = static_cast<std::int64_t>(picked(table).numbers[static_cast<std::size_t>(middle)]);
  told.words.add("row", table.rows[static_cast<std::size_t>(middle)]);
  told.words.add("row_given", reading.target[static_cast<std::size_t>(middle)].text);
  told.words.add("row_looks", table.columns[static_cast<std::size_t>(column)]);
  const std::int64_t asked = std::min<std::int64_t>(1, table.height() - 1);
  const auto asked_column = static_cast<std::int64_t>(picked(table).numbers[static_cast<std::size_t>(asked)]);
  told.words.add("asked", table.rows[static_cast<std::size_t>(asked)]);
  told.words.add("asked_looks", table.columns[static_cast<std::size_t>(asked_column)]);
  told.arrays.add("asked_weight", Array::scalar(table.at(asked, asked_column)));
  told.arrays.add("asked_rest", Array::scalar(1 - table.at(asked, asked_column)));
  const Array mean = first_mean(specimen, work.pool);
  told.arrays.add("first_mean", mean);
  told.words.add("first_aligned", aligned(mean, reading.written));

  const insight::RecordedSpecimen longer(translated(reader, given.text("longer"), {}, work.pool));
  add_translation(told, "longer_", longer, head, work.pool);
  return told;
}

}  // namespace attn::lesson
