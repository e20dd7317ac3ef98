#include <gtest/gtest.h>

#include "course/course.h"

namespace attn::course {
namespace {

TEST(Translation, LargestWeightOfEachWordIsOnTheWordItTranslates) {
  ThreadPool pool(2);
  const Lesson& lesson = *find_lesson("translation");
  const LessonOutput output = lesson.tell(lesson.input, {.pool = pool});
  EXPECT_EQ(*output.words.find("translation"), "我爱你");
  EXPECT_EQ(*output.words.find("aligned"), "我 → I, 爱 → love, 你 → you");
}

TEST(Translation, NamesWordsThatTheModelDoesNotKnow) {
  ThreadPool pool(1);
  const Lesson& lesson = *find_lesson("translation");
  LessonInput input = lesson.input;
  input.texts["text"] = "I love Ünïversities and you";
  try {
    static_cast<void>(lesson.tell(input, {.pool = pool}));
    FAIL() << "no word was refused";
  } catch (const std::invalid_argument& wrong) {
    EXPECT_NE(std::string(wrong.what()).find("'Ünïversities', 'and'"), std::string::npos) << wrong.what();
  }
}

}  // namespace
}  // namespace attn::course
