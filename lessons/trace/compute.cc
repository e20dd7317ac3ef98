// lessons/trace/compute.cc - a small input through attention, every array on the way.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <stdexcept>

#include "course/compute/attend.h"
#include "course/compute/lesson_parts.h"
#include "course/course.h"

namespace attn::lesson {

namespace {

constexpr std::int64_t kMostOnASide = 32;

// Names of the reader's rows, else the lesson's words if there are as many, else numbers.
std::vector<std::string> names_of_rows(const Array& x, const std::vector<std::string>& words) {
  if (std::ssize(x.rows) == x.height()) return x.rows;
  return std::ssize(words) == x.height() ? words : numbered("word ", x.height());
}

void check_small(const Array& x) {
  if (x.rank() != 2 || x.height() > kMostOnASide || x.width() > kMostOnASide)
    throw std::invalid_argument(
        fmt::format("X must be a table of at most {0} x {0} numbers, not {1}", kMostOnASide, shape_text(x.shape)));
  for (const double number : x.numbers)
    if (!std::isfinite(number)) throw std::invalid_argument("X must have finite numbers only");
}

}  // namespace

Told trace(const Given& given, const Work& work) {
  Told told;
  const Array& x = given.array("X");
  check_small(x);
  const std::vector<std::string> words = names_of_rows(x, given.words("words"));
  const auto width = static_cast<double>(x.width());
  told.words.add("sentence", fmt::format("{}", fmt::join(words, " ")));
  told.words.add("example", R"({"X": [[1, 0], [0, 1]], "words": ["a", "b"]})");
  told.arrays.add("count", Array::scalar(static_cast<double>(x.height())));
  told.arrays.add("width", Array::scalar(width));
  told.arrays.add("root", Array::scalar(std::sqrt(width)));
  told.arrays.add("seed", Array::scalar(given.real("seed")));
  told.arrays.add("X", Array(x).named(words, x.columns));

  nn::NumpyRandom random(static_cast<std::uint32_t>(given.whole("seed")));
  std::vector<Array> projected;
  for (const std::string letter : {"q", "k", "v"}) {
    const Array w = normal({x.width(), x.width()}, random);
    projected.push_back(product(x, w));
    told.arrays.add("W_" + letter, w);
  }
  const char* const roles[] = {"Q", "K", "V"};
  const char* const tables[] = {"W_q", "W_k", "W_v"};
  for (std::size_t n = 0; n < projected.size(); ++n)
    told.arrays.add(roles[n], Array(projected[n]).named(words, {}).from({Made::By::product, "X", tables[n]}));
  add(told, attend(projected[0], projected[1], projected[2], {}, work.pool), {.queries = words, .keys = words});
  const Array& weights = *told.arrays.find("weights");
  figure::Heatmap picture = heatmap_of(weights, *told.words.find("sentence"));
  picture.values = true;
  told.figures.add("weights_map", std::move(picture));
  told.arrays.add("row_sums", row_sums(weights));
  return told;
}

}  // namespace attn::lesson
