// tests/engine/mask/mask_text_test.cc - masks to text and back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "attn/mask.h"
#include "tests/engine/mask/mask_trees.h"

namespace attn {
namespace {

using test::MaskSample;
using test::MaskTrees;

std::string error_of(const std::string& text) {
  try {
    parse_mask(text);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "no error";
}

TEST(MaskText, OfAnyMaskIsReadBackAsTheSameMask) {
  MaskTrees trees(11);
  for (int k = 0; k < 300; ++k) {
    const Extent e = trees.extent(20);
    const MaskSample sample = trees.tree(e, 4);
    const std::string text = sample.mask.text();
    const Mask read = parse_mask(text);
    ASSERT_EQ(read.text(), text);
    ASSERT_NO_THROW(read.check(e)) << text;
    std::int64_t wrong = 0;
    for (std::int64_t b = 0; b < e.batch; ++b) {
      for (std::int64_t h = 0; h < e.heads; ++h) {
        for (std::int64_t p = 0; p < e.queries * e.keys; ++p) {
          wrong += read.allows(b, h, p / e.keys, p % e.keys) != sample.truth(b, h, p / e.keys, p % e.keys);
        }
      }
    }
    ASSERT_EQ(wrong, 0) << text;
  }
}

TEST(MaskText, IsWrittenWithAsFewParenthesesAsItNeeds) {
  const Mask a = Causal{}, b = Window{2}, c = Block{3};
  const std::vector<std::pair<Mask, std::string>> cases = {
      {a & b & c, "causal & window(2) & block(3)"},
      {a & (b & c), "causal & window(2) & block(3)"},
      {(a & b) | c, "causal & window(2) | block(3)"},
      {a | (b & c), "causal | window(2) & block(3)"},
      {(a | b) & c, "(causal | window(2)) & block(3)"},
      {~a & b, "~causal & window(2)"},
      {~(a & b), "~(causal & window(2))"},
      {~(a | b) | ~~c, "~(causal | window(2)) | block(3)"},
      {~Mask{}, "~everything"},
      {Mask{}, "everything"},
  };
  for (const auto& [mask, text] : cases) {
    EXPECT_EQ(mask.text(), text);
    EXPECT_EQ(parse_mask(text).text(), text);
  }
}

TEST(MaskText, OfEachRuleIsItsShortestForm) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"everything", "everything"},
      {"everything()", "everything"},
      {"causal", "causal"},
      {"causal ( )", "causal"},
      {"causal(0)", "causal"},
      {"causal( 3 )", "causal(3)"},
      {"causal(-3)", "causal(-3)"},
      {"causal(3, -5)", "causal(3,-5)"},
      {"window(256)", "window(256)"},
      {"window(256,256)", "window(256)"},
      {" window\t(256,\n0)", "window(256,0)"},
      {"window(inf,0)", "window(inf,0)"},
      {"window(inf)", "window(inf)"},
      {"padding(3,5)", "padding(3,5)"},
      {"prefix(4)", "prefix(4)"},
      {"prefix(4,6)", "prefix(4,6)"},
      {"document(0,0,-1,1)", "document(0,0,-1,1)"},
      {"document(0,0,1; 0,1,1)", "document(0,0,1;0,1,1)"},
      {"document(1 / 0,1)", "document(1/0,1)"},
      {"document(1/0,1;0/1,1)", "document(1/0,1;0/1,1)"},
      {"dilated(6, 2)", "dilated(6,2)"},
      {"dilated(inf,2)", "dilated(inf,2)"},
      {"natten(9, 3)", "natten(9,3)"},
      {"natten(9,1,3,1)", "natten(9,3)"},
      {"natten(6,4,3,1)", "natten(6,4,3,1)"},
      {"sparse(4)", "sparse(4)"},
      {"global(0)", "global(0)"},
      {"block(64)", "block(64)"},
      {"table(110, 011)", "table(110,011)"},
      {"table(1,0/1,1;0,0/0,1)", "table(1,0/1,1;0,0/0,1)"},
      {"table(11 / 10)", "table(11/10)"},
      {"table()", "table()"},
      {"((causal))&(window(1))", "causal & window(1)"},
      {"~~~causal", "~causal"},
      {"causal & everything", "causal"},
      {"causal | everything", "everything"},
  };
  for (const auto& [given, written] : cases) {
    Mask mask;
    ASSERT_NO_THROW(mask = parse_mask(given)) << given;
    EXPECT_EQ(mask.text(), written);
  }
}

TEST(MaskText, ReadsTablesBySequenceHeadAndRow) {
  const Mask mask = parse_mask("table(100,010/001,111;000,110/101,011)");
  EXPECT_NO_THROW(mask.check({2, 2, 2, 3}));
  EXPECT_EQ(draw(mask, 2, 3, 0, 1), "· · ■\n■ ■ ■\n");
  EXPECT_EQ(draw(mask, 2, 3, 1, 0), "· · ·\n■ ■ ·\n");
}

TEST(MaskText, ErrorShowsTheTextAndACaretBelowTheColumn) {
  EXPECT_EQ(error_of("causal & widnow(3)"),
            "mask: column 10: unknown name 'widnow'; known: everything, causal, window, padding, prefix, document, "
            "dilated, natten, sparse, global, block, table\n"
            "  causal & widnow(3)\n"
            "           ^");
}

TEST(MaskText, ErrorNamesTheColumnAndWhatIsWrong) {
  struct Case {
    std::string text;
    int column;
    std::string what;
  };
  const std::vector<Case> cases = {
      {"", 1, "the text is empty"},
      {"dilated(3)", 1, "dilated takes two numbers, not 1"},
      {"dilated(3,0)", 1, "the dilation of dilated is 0, but must be at least 1"},
      {"causal | natten(5,4,3)", 10, "natten takes two numbers (length, kernel) or four"},
      {"natten(9,4)", 1, "the kernel of natten has the width 4, but it must be odd and from 1 to 9"},
      {"natten(9,2,3,3)", 1, "the kernel of natten has the height 3, but it must be odd and from 1 to 2"},
      {"natten(99999999999,3)", 1, "the canvas of natten has the width 99999999999"},
      {"   ", 4, "the text is empty"},
      {"causal &", 9, "expected a name, '~' or '(', not the end"},
      {"& causal", 1, "expected a name, '~' or '(', not '&'"},
      {"causal window(3)", 8, "expected '&', '|' or the end, not 'w'"},
      {"causal && causal", 9, "expected a name, '~' or '(', not '&'"},
      {"(causal", 8, "expected ')' to close the '(' of column 1, not the end"},
      {"causal)", 7, "')' without '('"},
      {"()", 2, "expected a name, '~' or '(', not ')'"},
      {"window", 1, "window takes one or two numbers, not 0"},
      {"window()", 1, "window takes one or two numbers, not 0"},
      {"window(1,2,3)", 12, "window takes one or two numbers, not 3"},
      {"everything(1)", 12, "everything takes no number, not 1"},
      {"sparse(1,2)", 10, "sparse takes one number, not 2"},
      {"padding()", 1, "padding takes at least one number, not 0"},
      {"window(-1)", 8, "window takes numbers from 0 on, not -1"},
      {"sparse(0)", 8, "sparse takes numbers from 1 on, not 0"},
      {"padding(3,-5)", 11, "padding takes numbers from 0 on, not -5"},
      {"block(x)", 7, "expected a whole number, not 'x'"},
      {"block(1.5)", 8, "expected ',' or ')' in the numbers of block, not '.'"},
      {"block(inf)", 7, "expected a whole number, not 'i'"},
      {"window(info)", 8, "expected a whole number, not 'i'"},
      {"window(1,)", 10, "expected a whole number, not ')'"},
      {"window(3", 9, "expected ',' or ')' in the numbers of window, not the end"},
      {"causal(-)", 8, "expected a whole number, not '-'"},
      {"block(9223372036854775808)", 7, "the number 9223372036854775808 does not fit 64 bits"},
      {"causal(-9223372036854775809)", 8, "the number -9223372036854775809 does not fit 64 bits"},
      {"document", 9, "document needs its values in parentheses; expected '(', not the end"},
      {"document()", 10, "expected a whole number, not ')'"},
      {"document(0,0,1;0,1)", 16, "this sequence has 2 ids, the one before 3"},
      {"document(0/0,1;0/1)", 18, "this sequence has 1 ids, the one before 2"},
      {"document(0/0,1;0)", 17, "expected ids of keys in every sequence or in none"},
      {"document(0;0/1)", 13, "expected ids of keys in every sequence or in none"},
      {"table(110,01)", 11, "this row has 2 keys, the first one 3"},
      {"table(102)", 9, "expected 0, 1, ',', '/', ';' or ')', not '2'"},
      {"table(1,,1)", 9, "expected a row of 0 and 1, not ','"},
      {"table(1,0/1)", 11, "1 rows in this head, but 2 before"},
      {"table(1/0;1)", 11, "1 heads in this sequence, but 2 before"},
      {"table(10", 9, "expected 0, 1, ',', '/', ';' or ')', not the end"},
      {"additive[1,1,3,3]", 1, "'additive' has no text form"},
      {"causal & custom", 10, "'custom' has no text form"},
      {"causal & é", 10, "expected a name, '~' or '(', not 'é'"},
      {"é & ü", 1, "not 'é'"},
  };
  for (const Case& c : cases) {
    const std::string error = error_of(c.text);
    EXPECT_THAT(error, testing::StartsWith("mask: column " + std::to_string(c.column) + ": ")) << c.text;
    EXPECT_THAT(error.substr(0, error.find('\n')), testing::HasSubstr(c.what)) << c.text;
    const std::size_t caret = error.size() - error.rfind('\n') - 1;  // two spaces before column 1
    EXPECT_EQ(caret, c.column + 2) << error;
  }
}

TEST(MaskText, ErrorInALongTextShowsOnlyThePlace) {
  std::string text = "causal";
  for (int k = 0; k < 10000; ++k) text += " & causal";
  text += " & $";
  const std::string error = error_of(text);
  EXPECT_LT(error.size(), 300U);
  const std::size_t shown = error.find('\n') + 1, caret = error.rfind('\n') + 1;
  EXPECT_EQ(error[shown + (error.size() - 1 - caret)], '$') << error;
}

TEST(MaskText, HostileInputNeverOverflowsTheStack) {
  const int many = 1'000'000;
  EXPECT_THAT(error_of(std::string(many, '(')), testing::StartsWith("mask: column 200: nested deeper than 200"));
  std::string negations;
  for (int k = 0; k < many; ++k) negations += "~(";
  EXPECT_THAT(error_of(negations), testing::HasSubstr("nested deeper than 200"));
  EXPECT_EQ(parse_mask(std::string(many, '~') + "causal").text(), "causal");
  EXPECT_THAT(error_of("block(" + std::string(many, '9') + ")"), testing::HasSubstr("does not fit 64 bits"));

  std::string chain = "window(0)";
  for (int k = 0; k < 100'000; ++k) chain += "|window(0)&causal";
  const Mask mask = parse_mask(chain);
  EXPECT_EQ(draw(mask, 2, 2), "■ ·\n· ■\n");
}

TEST(MaskText, NestedThroughEveryOperatorIsLimitedToo) {
  std::string text = "causal";
  for (int k = 0; k < 150; ++k) text = "~(block(2) & " + text + ")";
  EXPECT_THAT(error_of(text), testing::HasSubstr("nested deeper than 200"));
}

TEST(MaskText, MadeOfRandomPiecesIsParsedOrRefused) {
  const std::vector<std::string> pieces = {"causal", "window", "table", "document", "padding", "(",  ")",
                                           "&",      "|",      "~",     "1",        "0",       ",",  ";",
                                           "/",      "-",      " ",     "9",        "é",       "inf"};
  std::mt19937 random(5);
  int read = 0;
  for (int k = 0; k < 20000; ++k) {
    std::string text;
    for (auto n = random() % 9; n > 0; --n) text += pieces[random() % pieces.size()];
    try {
      const Mask mask = parse_mask(text);
      ASSERT_EQ(parse_mask(mask.text()).text(), mask.text()) << text;
      ++read;
    } catch (const std::invalid_argument& error) {
      ASSERT_THAT(error.what(), testing::StartsWith("mask: column ")) << text;
    }
  }
  EXPECT_GT(read, 100);
}

}  // namespace
}  // namespace attn
