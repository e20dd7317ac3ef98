// Preparing texts for a model. Python tests check words and labels against transformers.
#include "model/run/prepare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace attn::test {
namespace {

using model::Reader;
using model::Text;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::ThrowsMessage;

Reader reader_of(const std::string& name) { return Reader::load(std::string(ATTNSCOPE_GOLDEN "/models/") + name); }

class Prepare : public testing::Test {
 protected:
  [[nodiscard]] Text prepared(const Reader& reader, const Text& text) { return model::prepared(text, reader, pool_); }

  ThreadPool pool_{2};
};

TEST_F(Prepare, GapsBecomeTheModelsMaskToken) {
  EXPECT_EQ(model::with_own_mask("a [MASK] b [MASK]", reader_of("bert").tokenizer), "a [MASK] b [MASK]");
  EXPECT_EQ(model::with_own_mask("a [MASK] b [MASK]", reader_of("roberta").tokenizer), "a <mask> b <mask>");
  EXPECT_EQ(model::with_own_mask("a [MASK]", reader_of("gpt2").tokenizer), "a [MASK]");
}

TEST_F(Prepare, AnEncodersPairStaysItsPair) {
  const Text text = prepared(reader_of("bert"), {.text = "a", .pair = "b", .target = {}});
  EXPECT_EQ(text.pair, "b");
  EXPECT_EQ(text.target, std::nullopt);
}

TEST_F(Prepare, ThePairOfAnEncoderDecoderIsItsTarget) {
  const Text text = prepared(reader_of("bart"), {.text = "a", .pair = "b", .target = {}});
  EXPECT_EQ(text.pair, std::nullopt);
  EXPECT_EQ(text.target, "b");
  EXPECT_THAT(text.target_ids, IsEmpty());
}

TEST_F(Prepare, AnEncoderDecoderWithoutATargetGeneratesOne) {
  const Reader reader = reader_of("bart");
  const Text text = prepared(reader, {.text = "a", .pair = {}, .target = {}});
  const auto ids = model::generate(*reader.model, reader.tokenizer.encode("a").ids(),
                                   {.tokens = model::kMostSaid, .sampling = {}}, {.pool = pool_});
  EXPECT_EQ(text.target_ids, ids);
  EXPECT_EQ(text.target, reader.tokenizer.decode(ids));
}

TEST_F(Prepare, EveryGapGetsTheRequestedNumberOfWords) {
  const Reader reader = reader_of("bert");
  const model::Filled filled = model::fill(reader, "the [MASK] is [MASK]", 3, pool_);
  ASSERT_THAT(filled.gaps, SizeIs(2));
  for (const auto& gap : filled.gaps) {
    EXPECT_EQ(filled.tokens[static_cast<std::size_t>(gap.token)].id, reader.tokenizer.special().mask);
    EXPECT_THAT(gap.choices, SizeIs(3));
  }
  EXPECT_THAT(model::fill(reader, "the end", 3, pool_).gaps, IsEmpty());
}

TEST_F(Prepare, UnsupportedModelsAreRefused) {
  EXPECT_THAT([&] { model::fill(reader_of("gpt2"), "a [MASK]", 1, pool_); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("cannot fill gaps")));
  EXPECT_THAT([&] { model::prompt_ids(reader_of("bert"), "a"); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("is an encoder")));
  EXPECT_THAT([&] { model::check_labels(reader_of("bert").model->facts()); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("gives no labels")));
}

TEST_F(Prepare, AnEmptyTextIsRefused) {
  const Reader reader = reader_of("bert");
  EXPECT_THAT([&] { model::check_not_empty(model::read(reader, {.text = " ", .pair = {}, .target = {}}, {}, pool_)); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("the text is empty")));
}

}  // namespace
}  // namespace attn::test
