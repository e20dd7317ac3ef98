// lessons/text-attention/compute.cc - sentences of words that have vectors, and whom each word looks at.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>

#include "course/compute/attend.h"
#include "course/compute/lesson_parts.h"
#include "course/compute/shares.h"
#include "course/course.h"

namespace attn::lesson {

namespace {

struct Vocabulary {
  std::vector<std::string> words;
  Array vectors;  // [words, width]

  Vocabulary(const std::vector<std::string>& names, const Array& rows) : words(names), vectors(rows) {
    if (vectors.rank() != 2 || vectors.height() != std::ssize(words))
      throw std::invalid_argument(
          fmt::format("{} words need as many vectors, not {}", words.size(), shape_text(vectors.shape)));
  }
  // More words; a word that is there already keeps its vector.
  void add(const std::vector<std::string>& names, const Array& rows) {
    words.insert(words.end(), names.begin(), names.end());
    vectors.numbers.insert(vectors.numbers.end(), rows.numbers.begin(), rows.numbers.end());
    vectors.shape[0] += rows.height();
  }

  // The words' vectors. Throws std::invalid_argument that names the words without one.
  [[nodiscard]] Array of(const std::vector<std::string>& sentence) const {
    if (sentence.empty()) throw std::invalid_argument("there is no word in the text");
    std::vector<std::string> unknown;
    Array out = Array::zeros({std::ssize(sentence), vectors.width()});
    for (std::size_t n = 0; n < sentence.size(); ++n) {
      const auto found = std::ranges::find(words, sentence[n]) - words.begin();
      if (found == std::ssize(words)) {
        if (std::ranges::find(unknown, sentence[n]) == unknown.end()) unknown.push_back(sentence[n]);
        continue;
      }
      const auto from = vectors.numbers.begin() + found * vectors.width();
      std::copy_n(from, vectors.width(), out.numbers.begin() + static_cast<std::int64_t>(n) * vectors.width());
    }
    if (!unknown.empty())
      throw std::invalid_argument(
          fmt::format("there is no vector for {} (words stand apart by spaces)", fmt::join(unknown, ", ")));
    return out;
  }
};

std::vector<std::string> sentence_words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// The reader's sentence, every step of it.
void add_text(Told& told, const Given& given, ThreadPool& pool) {
  const Vocabulary vocabulary(given.words("words"), given.array("vectors"));
  const std::vector<std::string> words = sentence_words(given.text("text"));
  const Array x = vocabulary.of(words);
  told.words.add("text", fmt::format("{}", fmt::join(words, " ")));
  told.arrays.add("known", Array::scalar(static_cast<double>(vocabulary.words.size())));
  told.arrays.add("width", Array::scalar(static_cast<double>(x.width())));
  told.arrays.add("X", Array(x).named(words, {}));
  add(told, attend(x, x, x, {}, pool), {.q = "X", .k = "X", .v = "X", .queries = words, .keys = words});
  const Array& weights = *told.arrays.find("weights");
  told.words.add("top", top_lines(weights));
  figure::Heatmap picture = heatmap_of(weights, *told.words.find("text"));
  picture.values = true;
  told.figures.add("text", std::move(picture));
}

// Another sentence: its weights and whom its words look at.
void add_sentence(Told& told, const std::string& name, const std::string& text, const Vocabulary& vocabulary,
                  ThreadPool& pool) {
  const std::vector<std::string> words = sentence_words(text);
  const Array x = vocabulary.of(words);
  Array weights = attend(x, x, x, {}, pool).weights.named(words, words);
  told.words.add(name + "_text", text);
  told.words.add(name + "_top", top_lines(weights));
  told.arrays.add(name + "_weights", std::move(weights));
}

Array lengths_of(const Array& x) {
  Array out = Array::zeros({x.height()});
  for (std::int64_t i = 0; i < x.height(); ++i) {
    double sum = 0;
    for (std::int64_t j = 0; j < x.width(); ++j) sum += x.at(i, j) * x.at(i, j);
    out.numbers[static_cast<std::size_t>(i)] = std::sqrt(sum);
  }
  return out;
}

// How long each vector is, what it receives, and the weights of vectors that are all of length 1.
void add_lengths(Told& told, const std::string& text, const Vocabulary& vocabulary, ThreadPool& pool) {
  const std::vector<std::string> words = sentence_words(text);
  Array x = vocabulary.of(words);
  const Array lengths = lengths_of(x);
  const Array& weights = *told.arrays.find("first_weights");
  Array table = Array::zeros({x.height(), 2});
  for (std::int64_t i = 0; i < x.height(); ++i) {
    table.at(i, 0) = lengths.numbers[static_cast<std::size_t>(i)];
    for (std::int64_t n = 0; n < x.height(); ++n) table.at(i, 1) += weights.at(n, i);
    for (std::int64_t j = 0; j < x.width(); ++j) x.at(i, j) /= lengths.numbers[static_cast<std::size_t>(i)];
  }
  told.arrays.add("lengths", std::move(table).named(words, {"length", "received"}));
  told.arrays.add("even_weights", attend(x, x, x, {}, pool).weights.named(words, words));
}

std::string complaint_of(const Vocabulary& vocabulary, const std::string& text) {
  try {
    const Array x = vocabulary.of(sentence_words(text));
  } catch (const std::invalid_argument& wrong) {
    return wrong.what();
  }
  return {};
}

}  // namespace

Told text_attention(const Given& given, const Work& work) {
  Told told;
  add_text(told, given, work.pool);
  // What the text speaks of is computed from the lesson's own words, whatever the reader's are.
  const Given& own = find_lesson("text-attention")->given;
  Vocabulary vocabulary(own.words("words"), own.array("vectors"));
  const std::vector<std::string>& sentences = own.words("sentences");
  add_sentence(told, "first", sentences.at(0), vocabulary, work.pool);
  add_sentence(told, "second", sentences.at(1), vocabulary, work.pool);
  add_sentence(told, "third", sentences.at(2), vocabulary, work.pool);
  add_sentence(told, "turned", sentences.at(3), vocabulary, work.pool);
  told.arrays.add("given_away", Array::scalar(1 - told.arrays.find("second_weights")->at(1, 1)));
  add_lengths(told, sentences.at(0), vocabulary, work.pool);

  const std::string& longer = own.text("longer");
  vocabulary.add(own.words("more_words"), own.array("more_vectors"));
  told.arrays.add("more_known", Array::scalar(static_cast<double>(vocabulary.words.size())));
  told.words.add("complaint", complaint_of(vocabulary, longer));
  vocabulary.add(own.words("missing_words"), own.array("missing_vectors"));
  told.arrays.add("missing", Array(own.array("missing_vectors")).named(own.words("missing_words"), {}));
  add_sentence(told, "longer", longer, vocabulary, work.pool);
  return told;
}

}  // namespace attn::lesson
