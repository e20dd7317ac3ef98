#include <gtest/gtest.h>

#include "course/course.h"

namespace attn::lesson {
namespace {

TEST(Heads, ThereMayBeAnyNumberOfThem) {
  const Lesson& lesson = *find_lesson("heads");
  ThreadPool pool(2);
  for (const int count : {1, 3, 12, 64}) {
    Given given = lesson.given;
    given.set("heads=" + std::to_string(count));
    const Told told = lesson.tell(given, {.pool = pool});
    EXPECT_EQ(told.arrays.find("attention")->shape, (std::vector<std::int64_t>{count, 5, 5}));
    EXPECT_EQ(told.arrays.find("received")->shape, (std::vector<std::int64_t>{count, 5}));
    for (const double sum : told.arrays.find("outgoing")->numbers) EXPECT_NEAR(sum, 1, 1e-5);
    const auto& grid = std::get<figure::Grid>(*told.figures.find("heads"));
    EXPECT_EQ(std::ssize(grid.panels), count);
    EXPECT_EQ(grid.shade.cmap, "Blues");
    EXPECT_EQ(grid.shade.range->from, 0);
    EXPECT_EQ(grid.shade.range->to, 1);
  }
}

}  // namespace
}  // namespace attn::lesson
