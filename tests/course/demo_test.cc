#include <gtest/gtest.h>

#include "course/course.h"

namespace attn::course {
namespace {

TEST(Demo, EndsWithAPictureOfRandomRows) {
  ThreadPool pool(2);
  const LessonOutput output = find_lesson("demo")->tell(find_lesson("demo")->input, {.pool = pool});
  const auto& picture = std::get<figure::Heatmap>(*output.figures.find("picture"));
  EXPECT_EQ(picture.cells.rows(), 5);
  EXPECT_EQ(picture.cells.columns(), 5);
  EXPECT_EQ(picture.shade.cmap, "viridis");
  EXPECT_EQ(picture.x_label, "Key Position");
  EXPECT_EQ(picture.y_label, "Query Position");
}

TEST(Demo, HeadsMustFitTheWidth) {
  ThreadPool pool(1);
  LessonInput input = find_lesson("demo")->input;
  input.set("heads=3");
  try {
    static_cast<void>(find_lesson("demo")->tell(input, {.pool = pool}));
    FAIL() << "three heads of eight numbers";
  } catch (const std::invalid_argument& wrong) {
    EXPECT_STREQ(wrong.what(), "d_model 8 is not a multiple of 3 heads");
  }
}

}  // namespace
}  // namespace attn::course
