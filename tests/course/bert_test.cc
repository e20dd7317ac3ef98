// Checks published numbers of bert-base-uncased. The model is large and not part of the project: the environment
// variable ATTNSCOPE_MODELS names the folder that holds it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "course/course.h"

namespace attn::course {
namespace {

TEST(Bert, BaseUncasedMatchesTransformers) {
  const char* const models = std::getenv("ATTNSCOPE_MODELS");
  const std::filesystem::path folder = std::filesystem::path(models == nullptr ? "" : models) / "bert-base-uncased";
  if (models == nullptr || !std::filesystem::exists(folder / "config.json"))
    GTEST_SKIP() << "set ATTNSCOPE_MODELS to a folder that holds bert-base-uncased to run this";
  LessonInput input = find_lesson("bert")->input;
  input.texts["model"] = folder.string();
  ThreadPool pool(2);
  const LessonOutput output = find_lesson("bert")->tell(input, {.pool = pool});
  const auto number = [&](const char* reference) { return number_at(reference, output); };
  EXPECT_EQ(number("layer"), 5);
  EXPECT_EQ(number("head"), 0);
  EXPECT_EQ(output.arrays.find("fox_weights")->shape, (std::vector<std::int64_t>{12, 12}));
  EXPECT_NEAR(number("first_to_last"), 0.5971, 5e-5);
  EXPECT_EQ(*output.words.find("noun"), "fox");
  EXPECT_NEAR(number("noun_to_last"), 0.8083, 5e-5);
  EXPECT_EQ(*output.words.find("word"), "cat");
  EXPECT_EQ(*output.words.find("most"), "sat");
  EXPECT_NEAR(number("looks[3,0]"), 0.9998, 5e-5);
  EXPECT_EQ(number("where[3,0]"), 2);
  EXPECT_EQ(number("where[3,1]"), 9);
  EXPECT_NEAR(number("looks[6,0]"), 0.4126, 5e-5);
  EXPECT_EQ(number("where[6,0]"), 1);
  EXPECT_EQ(number("where[6,1]"), 3);
  for (std::size_t layer = 4; layer < 12; ++layer) EXPECT_GT(output.arrays.find("on_last")->numbers[layer], 0.5);
  EXPECT_EQ(output.words.find("is_tiny"), nullptr);
}

}  // namespace
}  // namespace attn::course
