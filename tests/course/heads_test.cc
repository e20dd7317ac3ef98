#include <gtest/gtest.h>

#include "course/course.h"

namespace attn::course {
namespace {

TEST(Heads, CanBeAnyNumber) {
  const Lesson& lesson = *find_lesson("heads");
  ThreadPool pool(2);
  for (const int count : {1, 3, 12, 64}) {
    LessonInput input = lesson.input;
    input.set("heads=" + std::to_string(count));
    const LessonOutput output = lesson.tell(input, {.pool = pool});
    EXPECT_EQ(output.arrays.find("attention")->shape, (std::vector<std::int64_t>{count, 5, 5}));
    EXPECT_EQ(output.arrays.find("received")->shape, (std::vector<std::int64_t>{count, 5}));
    for (const double sum : output.arrays.find("outgoing")->numbers) EXPECT_NEAR(sum, 1, 1e-5);
    const auto& grid = std::get<figure::Grid>(*output.figures.find("heads"));
    EXPECT_EQ(std::ssize(grid.panels), count);
    EXPECT_EQ(grid.shade.cmap, "Blues");
    EXPECT_EQ(grid.shade.range->from, 0);
    EXPECT_EQ(grid.shade.range->to, 1);
  }
}

}  // namespace
}  // namespace attn::course
