// lessons/trace/compute.cc - follows a small input through attention, with every array on the way.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <stdexcept>

#include "course/compute/attend.h"
#include "course/compute/lesson_parts.h"
#include "course/course.h"

namespace attn::course {

namespace {

constexpr std::int64_t kMostOnASide = 32;

// The names of the reader's rows; without them the lesson's words if there are as many, else numbers.
std::vector<std::string> names_of_rows(const LessonArray& x, const std::vector<std::string>& words) {
  if (std::ssize(x.rows) == x.height()) return x.rows;
  return std::ssize(words) == x.height() ? words : numbered("word ", x.height());
}

void check_small(const LessonArray& x) {
  if (x.rank() != 2 || x.height() > kMostOnASide || x.width() > kMostOnASide)
    throw std::invalid_argument(
        fmt::format("X must be a table of at most {0} x {0} numbers, not {1}", kMostOnASide, shape_text(x.shape)));
  for (const double number : x.numbers)
    if (!std::isfinite(number)) throw std::invalid_argument("X must have finite numbers only");
}

}  // namespace

LessonOutput trace(const LessonInput& input, const LessonWork& work) {
  LessonOutput output;
  const LessonArray& x = input.array("X");
  check_small(x);
  const std::vector<std::string> words = names_of_rows(x, input.words("words"));
  const auto width = static_cast<double>(x.width());
  output.words.add("sentence", fmt::format("{}", fmt::join(words, " ")));
  output.words.add("example", R"({"X": [[1, 0], [0, 1]], "words": ["a", "b"]})");
  output.arrays.add("count", LessonArray::scalar(static_cast<double>(x.height())));
  output.arrays.add("width", LessonArray::scalar(width));
  output.arrays.add("root", LessonArray::scalar(std::sqrt(width)));
  output.arrays.add("seed", LessonArray::scalar(input.real("seed")));
  output.arrays.add("X", LessonArray(x).named(words, x.columns));

  nn::NumpyRandom random(static_cast<std::uint32_t>(input.whole("seed")));
  std::vector<LessonArray> projected;
  for (const std::string letter : {"q", "k", "v"}) {
    const LessonArray w = normal({x.width(), x.width()}, random);
    projected.push_back(product(x, w));
    output.arrays.add("W_" + letter, w);
  }
  const char* const roles[] = {"Q", "K", "V"};
  const char* const tables[] = {"W_q", "W_k", "W_v"};
  for (std::size_t n = 0; n < projected.size(); ++n)
    output.arrays.add(roles[n],
                      LessonArray(projected[n]).named(words, {}).from({MadeFrom::By::product, "X", tables[n]}));
  add(output, attend(projected[0], projected[1], projected[2], {}, work.pool), {.queries = words, .keys = words});
  const LessonArray& weights = *output.arrays.find("weights");
  figure::Heatmap picture = heatmap_of(weights, *output.words.find("sentence"));
  picture.values = true;
  output.figures.add("weights_map", std::move(picture));
  output.arrays.add("row_sums", row_sums(weights));
  return output;
}

}  // namespace attn::course
