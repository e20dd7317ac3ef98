#include "text/datasets/examples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

namespace attn::text {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class Examples : public testing::Test {
 protected:
  // "text|label" of each.
  std::vector<std::string> read(const std::string& name, Wanted wanted, const ExampleColumns& columns = {}) {
    std::vector<std::string> all;
    for (const auto& [text, label] : read_examples(folder_ / name, wanted, columns)) {
      all.push_back(wanted == Wanted::text ? text : text + "|" + label);
    }
    return all;
  }
  std::vector<std::string> read(const std::string& name, const std::string& content, Wanted wanted,
                                const ExampleColumns& columns = {}) {
    folder_.write(name, content);
    return read(name, wanted, columns);
  }
  std::string problem(const std::string& name, const std::string& content, Wanted wanted,
                      const ExampleColumns& columns = {}) {
    folder_.write(name, content);
    return problem(name, wanted, columns);
  }
  std::string problem(const std::string& name, Wanted wanted, const ExampleColumns& columns = {}) {
    return test::error_of([&] { read(name, wanted, columns); }).what();
  }

  test::TemporaryFolder folder_;
};

TEST_F(Examples, BlankLinesAreSkipped) {
  EXPECT_THAT(read("a.txt", "one\n\n \t\r\ntwo", Wanted::text), ElementsAre("one", "two"));
  EXPECT_THAT(read("a.csv", "text,x\none,1\n,2\ntwo,3\n", Wanted::text), ElementsAre("one", "two"));
}

TEST_F(Examples, LabelIsInTheRequestedOrAUsualColumn) {
  EXPECT_THAT(read("a.csv", "review,sentiment\ngood,positive\n\"b, ad\",negative\n", Wanted::label),
              ElementsAre("good|positive", "b, ad|negative"));
  EXPECT_THAT(read("a.csv", "label,text\n1,good\n0,bad\n", Wanted::label), ElementsAre("good|1", "bad|0"));
  EXPECT_THAT(read("a.csv", "text,label,stars\ngood,x,5\n", Wanted::label, {.text = {}, .label = "stars"}),
              ElementsAre("good|5"));
  EXPECT_THAT(read("a.tsv", "text\tclass\na, b\tx\n\"c\td\"\ty\n", Wanted::label), ElementsAre("a, b|x", "c\td|y"));
}

TEST_F(Examples, LabelOfAJsonLineMayBeANumber) {
  EXPECT_THAT(
      read("a.jsonl", "{\"text\": \"good\", \"label\": 1}\n{\"text\": \"bad\", \"label\": \"no\"}\n", Wanted::label),
      ElementsAre("good|1", "bad|no"));
  EXPECT_THAT(
      read("a.jsonl", "{\"body\": \"good\", \"stars\": 4.5}\n", Wanted::label, {.text = "body", .label = "stars"}),
      ElementsAre("good|4.5"));
}

TEST_F(Examples, TranslationIsNamedOrTheSecondOfTwoColumns) {
  EXPECT_THAT(read("a.csv", "text,target\nI love you,我爱你\n", Wanted::translation), ElementsAre("I love you|我爱你"));
  EXPECT_THAT(read("a.csv", "id,translation,source\n1,我爱你,I love you\n", Wanted::translation),
              ElementsAre("I love you|我爱你"));
  EXPECT_THAT(read("a.csv", "english,chinese\nme,非常非常长的句子\n", Wanted::translation),
              ElementsAre("me|非常非常长的句子"));
  EXPECT_THAT(read("a.jsonl", "{\"text\": \"a\", \"translation\": \"b\"}", Wanted::translation), ElementsAre("a|b"));
}

TEST_F(Examples, FolderHasOneTextPerFileLabelledByItsFolder) {
  folder_.write("train/pos/1_9.txt", "good\nindeed\n");
  folder_.write("train/neg/0_1.txt", "bad");
  folder_.write("train/unsup/2_0.txt", "who knows");
  folder_.write("train/urls.txt", "not a review");
  folder_.write("train/pos/words.feat", "1:2");
  EXPECT_THAT(read("train", Wanted::label), ElementsAre("bad|neg", "good\nindeed\n|pos"));
  EXPECT_THAT(read("", Wanted::label), ElementsAre("bad|neg", "good\nindeed\n|pos"));
  EXPECT_THAT(read("train", Wanted::text), ElementsAre("bad", "good\nindeed\n", "who knows", "not a review"));
}

TEST_F(Examples, DataWithoutATextIsRefused) {
  for (const char* name : {"a.txt", "a.jsonl"}) EXPECT_THAT(problem(name, "", Wanted::text), HasSubstr("has no texts"));
  EXPECT_THAT(problem("a.txt", "\n \n", Wanted::text), HasSubstr("has no texts"));
  EXPECT_THAT(problem("a.csv", "", Wanted::text), HasSubstr("is empty"));
  EXPECT_THAT(problem("a.csv", "text,label\n", Wanted::label), HasSubstr("has no texts"));
  folder_.write("empty/none.bin", "x");
  EXPECT_THAT(problem("empty", Wanted::text), HasSubstr("has no .txt or .md file with a text"));
  folder_.write("flat/a.txt", "x");
  EXPECT_THAT(problem("flat", Wanted::label), HasSubstr("in a folder named after its label"));
  EXPECT_THAT(problem("nothing.txt", Wanted::text), HasSubstr("not a file"));
}

TEST_F(Examples, MissingTextOrLabelIsRefusedWithItsLine) {
  EXPECT_THAT(problem("a.csv", "text,label\n\"a\nb\",1\nc,\n", Wanted::label), HasSubstr("line 4 has no label"));
  EXPECT_THAT(problem("a.csv", "text,label\na,1\n ,0\n", Wanted::label), HasSubstr("line 3 has no text"));
  EXPECT_THAT(problem("a.csv", "text,target\na,\n", Wanted::translation), HasSubstr("line 2 has no translation"));
  EXPECT_THAT(problem("a.csv", "text,label\na\n", Wanted::label),
              HasSubstr("line 2 has 1 cells, but the label is in number 2"));
  EXPECT_THAT(problem("a.jsonl", "{\"text\": \"a\", \"label\": 1}\n{\"text\": \"b\"}\n", Wanted::label),
              HasSubstr("line 2 has no label under \"label\""));
  EXPECT_THAT(problem("a.jsonl", "{\"text\": \"a\", \"label\": null}\n", Wanted::label),
              HasSubstr("line 1 has no label"));
  EXPECT_THAT(problem("a.jsonl", "{\"text\": \"a\", \"label\": [1]}\n", Wanted::label),
              HasSubstr("line 1 has no label"));
  folder_.write("f/pos/a.txt", "\n");
  EXPECT_THAT(problem("f", Wanted::label), AllOf(HasSubstr("a.txt"), HasSubstr("has no text")));
}

TEST_F(Examples, MissingColumnIsRefusedWithTheExistingOnes) {
  EXPECT_THAT(problem("a.csv", "text,stars\na,1\n", Wanted::label),
              HasSubstr("no column named label, sentiment, class, category or target, only: text, stars"));
  EXPECT_THAT(problem("a.csv", "text,stars\na,1\n", Wanted::label, {.text = {}, .label = "grade"}),
              HasSubstr("has no column 'grade', only: text, stars"));
  EXPECT_THAT(problem("a.csv", "text,a,b\nx,y,z\n", Wanted::translation),
              HasSubstr("no column named target or translation, only: text, a, b"));
  EXPECT_THAT(problem("a.jsonl", "{\"text\": \"a\", \"stars\": 1}\n", Wanted::label), HasSubstr("only: stars, text"));
  EXPECT_THAT(problem("a.csv", "text,label\na,1\n", Wanted::label, {.text = "label", .label = {}}),
              HasSubstr("both in column 'label'"));
}

TEST_F(Examples, ColumnsOfAFileWithoutColumnsAreRefused) {
  EXPECT_THAT(problem("a.txt", "x\n", Wanted::label), HasSubstr("has no labels"));
  EXPECT_THAT(problem("a.txt", "x\n", Wanted::translation), HasSubstr("has no translations"));
  EXPECT_THAT(problem("a.txt", "x\n", Wanted::text, {.text = "text", .label = {}}), HasSubstr("has no columns"));
  folder_.write("f/pos/a.txt", "x");
  EXPECT_THAT(problem("f", Wanted::translation), HasSubstr("is a folder; translations must be in"));
  EXPECT_THAT(problem("f", Wanted::label, {.text = {}, .label = "label"}), HasSubstr("is a folder; only"));
}

TEST_F(Examples, InvalidUtf8IsRefusedWithItsPosition) {
  EXPECT_THAT(problem("a.csv", "text,label\na,\xFF\n", Wanted::label), HasSubstr("line 2 is not UTF-8"));
  EXPECT_THAT(problem("a.tsv", "text\tlabel\na\xC3\t1\n", Wanted::label), HasSubstr("line 2 is not UTF-8"));
  folder_.write("f/pos/a.txt", "ab\xFF");
  EXPECT_THAT(problem("f", Wanted::label), HasSubstr("byte 2: not UTF-8"));
}

TEST(HeldOut, DependsOnTheTextAloneAndHasTheRequestedShare) {
  int held = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::string text = "review number " + std::to_string(i);
    held += held_out(text, 0.1) ? 1 : 0;
    EXPECT_FALSE(held_out(text, 0));
    EXPECT_TRUE(held_out(text, 1));
    EXPECT_LE(held_out(text, 0.1), held_out(text, 0.2));
  }
  EXPECT_NEAR(held, 2000, 130);  // three standard deviations
}

TEST(HeldOut, IsTheSameOnEveryMachine) {
  // FNV-1a 64 of "foobar" is 0x85944171f73967e8 (published test vectors); its last digits in base ten are 968.
  EXPECT_EQ(0x85944171f73967e8U % 1000, 968U);
  EXPECT_FALSE(held_out("foobar", 0.968));
  EXPECT_TRUE(held_out("foobar", 0.969));
}

TEST(HeldOut, ShareOutsideZeroToOneIsRefused) {
  for (const double share : {-0.1, 1.1, std::nan("")}) EXPECT_THROW((void)held_out("a", share), std::invalid_argument);
}

TEST(Fingerprint, ChangesWithTextLabelAndOrder) {
  const std::vector<Example> examples = {{"a", "1"}, {"b", "2"}};
  const std::uint64_t first = fingerprint(examples);
  EXPECT_EQ(first, fingerprint(std::vector<Example>(examples)));
  for (const std::vector<Example>& other : {std::vector<Example>{{"b", "2"}, {"a", "1"}},
                                            {{"a", "1"}},
                                            {{"a", "1"}, {"b", "3"}},
                                            {{"a1", ""}, {"b", "2"}}}) {
    EXPECT_NE(first, fingerprint(other));
  }
}

}  // namespace
}  // namespace attn::text
