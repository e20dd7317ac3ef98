// Checks the published shares, the reader's own sentence and words, and words without a vector.
#include <gmock/gmock.h>

#include "course/course.h"
#include "tests/course/tell.h"

namespace attn::course {
namespace {

using testing::HasSubstr;

LessonInput own() { return find_lesson("text-attention")->input; }

TEST(TextAttentionLesson, HasThePublishedShares) {
  const LessonOutput output = tell_input("text-attention", own());
  EXPECT_THAT(*output.words.find("top"),
              HasSubstr("我   →  🎯 我 0.2408 (24.1%)  👀 学习 0.2083 (20.8%)  📌 AI 0.1903 (19.0%)"));
  EXPECT_THAT(*output.words.find("top"), HasSubstr("技术 →  🎯 学习 0.2114 (21.1%)"));
  EXPECT_THAT(*output.words.find("complaint"), HasSubstr("no vector for 的 "));
  EXPECT_EQ(output.arrays.find("more_known")->numbers[0], 11);
  EXPECT_EQ(output.arrays.find("longer_weights")->height(), 7);
}

TEST(TextAttentionLesson, TakesTheReadersSentenceAndWords) {
  LessonInput input = own();
  input.read_vectors("cat 1 0\ndog 0 1\nfish 1 1\n");
  input.texts["text"] = "dog  cat dog";
  const LessonOutput output = tell_input("text-attention", input);
  EXPECT_EQ(*output.words.find("text"), "dog cat dog");
  EXPECT_EQ(output.arrays.find("X")->numbers, (std::vector<double>{0, 1, 1, 0, 0, 1}));
  EXPECT_THAT(*output.words.find("second_top"), HasSubstr("有趣"));  // the lesson's own sentences stay
}

TEST(TextAttentionLesson, NamesEveryWordWithoutAVectorInOneLine) {
  LessonInput input = own();
  input.texts["text"] = "我 爱 编程 吗 爱";
  try {
    tell_input("text-attention", input);
    FAIL() << "unknown words were taken";
  } catch (const std::invalid_argument& wrong) {
    EXPECT_THAT(wrong.what(), HasSubstr("no vector for 爱, 吗 "));
    EXPECT_THAT(wrong.what(), testing::Not(HasSubstr("\n")));
  }
  input.texts["text"] = " ";
  EXPECT_THROW(tell_input("text-attention", input), std::invalid_argument);
  input.lists["words"].pop_back();
  EXPECT_THROW(tell_input("text-attention", input), std::invalid_argument);
}

}  // namespace
}  // namespace attn::course
