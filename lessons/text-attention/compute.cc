// lessons/text-attention/compute.cc - sentences of words with vectors, and the attention of each word.
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

namespace attn::course {

namespace {

struct Vocabulary {
  std::vector<std::string> words;
  LessonArray vectors;  // [words, width]

  Vocabulary(const std::vector<std::string>& names, const LessonArray& rows) : words(names), vectors(rows) {
    if (vectors.rank() != 2 || vectors.height() != std::ssize(words))
      throw std::invalid_argument(
          fmt::format("{} words need as many vectors, not {}", words.size(), shape_text(vectors.shape)));
  }
  // Adds words; a known word keeps its vector.
  void add(const std::vector<std::string>& names, const LessonArray& rows) {
    words.insert(words.end(), names.begin(), names.end());
    vectors.numbers.insert(vectors.numbers.end(), rows.numbers.begin(), rows.numbers.end());
    vectors.shape[0] += rows.height();
  }

  // The vectors of words. Throws std::invalid_argument that lists the words without one.
  [[nodiscard]] LessonArray of(const std::vector<std::string>& sentence) const {
    if (sentence.empty()) throw std::invalid_argument("the text has no words");
    std::vector<std::string> unknown;
    LessonArray out = LessonArray::zeros({std::ssize(sentence), vectors.width()});
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
          fmt::format("there is no vector for {} (separate words by spaces)", fmt::join(unknown, ", ")));
    return out;
  }
};

std::vector<std::string> sentence_words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// The reader's sentence, step by step.
void add_text(LessonOutput& output, const LessonInput& input, ThreadPool& pool) {
  const Vocabulary vocabulary(input.words("words"), input.array("vectors"));
  const std::vector<std::string> words = sentence_words(input.text("text"));
  const LessonArray x = vocabulary.of(words);
  output.words.add("text", fmt::format("{}", fmt::join(words, " ")));
  output.arrays.add("known", LessonArray::scalar(static_cast<double>(vocabulary.words.size())));
  output.arrays.add("width", LessonArray::scalar(static_cast<double>(x.width())));
  output.arrays.add("X", LessonArray(x).named(words, {}));
  add(output, attend(x, x, x, {}, pool), {.q = "X", .k = "X", .v = "X", .queries = words, .keys = words});
  const LessonArray& weights = *output.arrays.find("weights");
  output.words.add("top", top_lines(weights));
  figure::Heatmap picture = heatmap_of(weights, *output.words.find("text"));
  picture.values = true;
  output.figures.add("text", std::move(picture));
}

// Another sentence: its weights, and the largest of each word.
void add_sentence(LessonOutput& output, const std::string& name, const std::string& text, const Vocabulary& vocabulary,
                  ThreadPool& pool) {
  const std::vector<std::string> words = sentence_words(text);
  const LessonArray x = vocabulary.of(words);
  LessonArray weights = attend(x, x, x, {}, pool).weights.named(words, words);
  output.words.add(name + "_text", text);
  output.words.add(name + "_top", top_lines(weights));
  output.arrays.add(name + "_weights", std::move(weights));
}

LessonArray lengths_of(const LessonArray& x) {
  LessonArray out = LessonArray::zeros({x.height()});
  for (std::int64_t i = 0; i < x.height(); ++i) {
    double sum = 0;
    for (std::int64_t j = 0; j < x.width(); ++j) sum += x.at(i, j) * x.at(i, j);
    out.numbers[static_cast<std::size_t>(i)] = std::sqrt(sum);
  }
  return out;
}

// The length of each vector, the attention it receives, and the weights if all vectors had length 1.
void add_lengths(LessonOutput& output, const std::string& text, const Vocabulary& vocabulary, ThreadPool& pool) {
  const std::vector<std::string> words = sentence_words(text);
  LessonArray x = vocabulary.of(words);
  const LessonArray lengths = lengths_of(x);
  const LessonArray& weights = *output.arrays.find("first_weights");
  LessonArray table = LessonArray::zeros({x.height(), 2});
  for (std::int64_t i = 0; i < x.height(); ++i) {
    table.at(i, 0) = lengths.numbers[static_cast<std::size_t>(i)];
    for (std::int64_t n = 0; n < x.height(); ++n) table.at(i, 1) += weights.at(n, i);
    for (std::int64_t j = 0; j < x.width(); ++j) x.at(i, j) /= lengths.numbers[static_cast<std::size_t>(i)];
  }
  output.arrays.add("lengths", std::move(table).named(words, {"length", "received"}));
  output.arrays.add("even_weights", attend(x, x, x, {}, pool).weights.named(words, words));
}

std::string complaint_of(const Vocabulary& vocabulary, const std::string& text) {
  try {
    const LessonArray x = vocabulary.of(sentence_words(text));
  } catch (const std::invalid_argument& wrong) {
    return wrong.what();
  }
  return {};
}

}  // namespace

LessonOutput text_attention(const LessonInput& input, const LessonWork& work) {
  LessonOutput output;
  add_text(output, input, work.pool);
  // The numbers in the text come from the lesson's own words, whatever the reader's are.
  const LessonInput& own = find_lesson("text-attention")->input;
  Vocabulary vocabulary(own.words("words"), own.array("vectors"));
  const std::vector<std::string>& sentences = own.words("sentences");
  add_sentence(output, "first", sentences.at(0), vocabulary, work.pool);
  add_sentence(output, "second", sentences.at(1), vocabulary, work.pool);
  add_sentence(output, "third", sentences.at(2), vocabulary, work.pool);
  add_sentence(output, "turned", sentences.at(3), vocabulary, work.pool);
  output.arrays.add("given_away", LessonArray::scalar(1 - output.arrays.find("second_weights")->at(1, 1)));
  add_lengths(output, sentences.at(0), vocabulary, work.pool);

  const std::string& longer = own.text("longer");
  vocabulary.add(own.words("more_words"), own.array("more_vectors"));
  output.arrays.add("more_known", LessonArray::scalar(static_cast<double>(vocabulary.words.size())));
  output.words.add("complaint", complaint_of(vocabulary, longer));
  vocabulary.add(own.words("missing_words"), own.array("missing_vectors"));
  output.arrays.add("missing", LessonArray(own.array("missing_vectors")).named(own.words("missing_words"), {}));
  add_sentence(output, "longer", longer, vocabulary, work.pool);
  return output;
}

}  // namespace attn::course
