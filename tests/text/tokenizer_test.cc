#include "text/tokenizer/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "tests/text/golden_tokenizers.h"

namespace attn::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;
using text::SpecialIds;
using text::Tokenizer;
namespace fs = std::filesystem;

Tokenizer load(const char* name) { return Tokenizer::load(tokenizers_folder() / name); }

// The attn::Error on loading the folder: one line, which names the file.
std::string load_error(const TemporaryFolder& folder, const std::string& file) {
  const Error error = error_of([&] { (void)Tokenizer::load(folder.path()); });
  EXPECT_EQ(error.path(), (folder / file).string());
  return error.what();
}

std::vector<std::int32_t> all_of(const SpecialIds& ids) {
  return {ids.mask, ids.unknown, ids.pad, ids.bos, ids.eos, ids.cls, ids.sep};
}

TEST(Tokenizer, KnowsItsSizeAndPieces) {
  const Tokenizer tokenizer = load("wordpiece");
  EXPECT_EQ(tokenizer.size(), 705);
  EXPECT_EQ(tokenizer.id("[MASK]"), 4);
  EXPECT_EQ(tokenizer.id("no such piece"), std::nullopt);
  EXPECT_EQ(tokenizer.id(""), std::nullopt);
  EXPECT_EQ(tokenizer.id("\xFF"), std::nullopt);
}

TEST(Tokenizer, EmptyTextHasOnlySpecialTokens) {
  EXPECT_EQ(load("wordpiece").encode("").ids(), (std::vector<std::int32_t>{2, 3}));
  EXPECT_EQ(load("wordpiece").encode("", "").ids(), (std::vector<std::int32_t>{2, 3, 3}));
  EXPECT_TRUE(load("wordpiece").encode("", true).tokens.empty());
  EXPECT_TRUE(load("bytebpe").encode("").tokens.empty());
  EXPECT_TRUE(load("bytebpe").encode(std::string_view()).tokens.empty());
  EXPECT_EQ(load("bytebpe").decode({}), "");
  EXPECT_TRUE(load("bytebpe").tokens({}).empty());
}

TEST(Tokenizer, TokensOfIdsEqualThoseOfTheText) {
  for (const char* name : {"wordpiece", "bytebpe", "roberta", "spbpe", "unigram"}) {
    const Tokenizer tokenizer = load(name);
    const auto encoded = tokenizer.encode("The 老师 opens größte 🏽 letters").tokens;
    std::vector<std::int32_t> ids;
    for (const auto& token : encoded) ids.push_back(token.id);
    const auto named = tokenizer.tokens(ids);
    ASSERT_EQ(named.size(), encoded.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      EXPECT_EQ(named[i].id, encoded[i].id);
      EXPECT_EQ(named[i].piece, encoded[i].piece);
      EXPECT_EQ(named[i].text, encoded[i].text);
      // An unknown piece is a special token of the vocabulary, though not one that the tokenizer added.
      const bool unknown = named[i].id == tokenizer.special().unknown;
      EXPECT_EQ(named[i].special, encoded[i].special || unknown);
    }
  }
}

TEST(Tokenizer, UnknownIdsHaveEmptyPieces) {
  const Tokenizer tokenizer = load("bytebpe");
  const std::vector<std::int32_t> ids = {-1, 1'000'000, tokenizer.id("The").value_or(0), -2'147'483'647};
  EXPECT_EQ(tokenizer.decode(ids), "The");
  EXPECT_EQ(tokenizer.tokens(ids)[1].piece, "");
}

TEST(Tokenizer, RolesAreFoundInEachFormat) {
  EXPECT_EQ(all_of(load("wordpiece").special()), (std::vector<std::int32_t>{4, 1, 0, -1, -1, 2, 3}));
  EXPECT_EQ(all_of(load("bytebpe").special()), (std::vector<std::int32_t>{-1, 699, -1, 699, 699, -1, -1}));
  EXPECT_EQ(all_of(load("roberta").special()), (std::vector<std::int32_t>{703, 3, 1, 0, 2, 0, 2}));
  EXPECT_EQ(all_of(load("spbpe").special()), (std::vector<std::int32_t>{-1, 0, -1, 1, 2, -1, -1}));
  EXPECT_EQ(all_of(load("unigram").special()), (std::vector<std::int32_t>{-1, 2, 0, -1, 1, -1, -1}));
}

TEST(Tokenizer, RolesComeFromFilesElseFromWellKnownNames) {
  const TemporaryFolder folder;
  fs::copy_file(tokenizers_folder() / "roberta" / "tokenizer.json", folder / "tokenizer.json");
  EXPECT_EQ(all_of(Tokenizer::load(folder.path()).special()), (std::vector<std::int32_t>{703, 3, 1, 0, 2, -1, -1}));
  folder.write("special_tokens_map.json", R"({"cls_token": {"content": "<s>"}, "pad_token": "<unk>"})");
  EXPECT_EQ(all_of(Tokenizer::load(folder.path()).special()), (std::vector<std::int32_t>{703, 3, 3, 0, 2, 0, -1}));
  folder.write("tokenizer_config.json", R"({"pad_token": null, "sep_token": "</s>", "bos_token": "not a piece"})");
  EXPECT_EQ(all_of(Tokenizer::load(folder.path()).special()), (std::vector<std::int32_t>{703, 3, -1, 0, 2, 0, 2}));
}

TEST(Tokenizer, VocabTxtFollowsItsSettings) {
  const TemporaryFolder folder;
  folder.write("vocab.txt", "[UNK]\r\n[CLS]\r\n[SEP]\r\nStra\r\n##ße\r\nstra\r\ncafe\r\ncafé\r\n");
  const auto ids = [&](const std::string& settings, const char* text) {
    folder.write("tokenizer_config.json", settings);
    return Tokenizer::load(folder.path()).encode(text, true).ids();
  };
  using Ids = std::vector<std::int32_t>;
  EXPECT_EQ(ids("{}", "Straße"), (Ids{5, 4}));
  EXPECT_EQ(ids(R"({"do_lower_case": false})", "Straße"), (Ids{3, 4}));
  EXPECT_EQ(ids("{}", "café"), (Ids{6}));
  EXPECT_EQ(ids(R"({"strip_accents": false})", "café"), (Ids{7}));
  EXPECT_EQ(ids(R"({"do_lower_case": false, "strip_accents": true})", "café"), (Ids{6}));
  EXPECT_EQ(ids("{}", "中中"), (Ids{0, 0}));
  EXPECT_EQ(ids(R"({"tokenize_chinese_chars": false})", "中中"), (Ids{0}));
}

TEST(Tokenizer, AddedTokensFollowTheVocabulary) {
  const TemporaryFolder folder;
  for (const char* name : {"vocab.json", "merges.txt"}) {
    fs::copy_file(tokenizers_folder() / "bytebpe" / name, folder / name);
  }
  folder.write("added_tokens.json", R"({"<b>": 701, "<a>": 700})");
  const Tokenizer tokenizer = Tokenizer::load(folder.path());
  EXPECT_EQ(tokenizer.size(), 702);
  EXPECT_EQ(tokenizer.id("<a>"), 700);
  EXPECT_EQ(tokenizer.encode("<b><a>").ids(), (std::vector<std::int32_t>{701, 700}));
  folder.write("added_tokens.json", R"({"<b>": 800})");
  EXPECT_THAT(load_error(folder, "added_tokens.json"), HasSubstr("\"<b>\" must follow"));
}

TEST(Tokenizer, ModelTypeOfTheFolderMakesARoberta) {
  const TemporaryFolder folder;
  for (const char* name : {"vocab.json", "merges.txt"}) {
    fs::copy_file(tokenizers_folder() / "roberta" / name, folder / name);
  }
  EXPECT_EQ(Tokenizer::load(folder.path()).encode("The").tokens.size(), 1u);
  folder.write("config.json", R"({"model_type": "bart"})");
  const auto tokens = Tokenizer::load(folder.path()).encode("The", "a").tokens;
  ASSERT_EQ(tokens.size(), 6u);
  EXPECT_EQ(tokens[0].piece + tokens[2].piece + tokens[3].piece + tokens[5].piece, "<s></s></s></s>");
}

TEST(Tokenizer, EncodesTwoMegabytesCompletely) {
  std::string text;
  while (text.size() < 2'000'000) text += "The teacher öffnet 老师 🏽 the letter. ";
  const std::int64_t length = std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
  for (const char* name : {"wordpiece", "spbpe"}) {  // for spbpe all of it is one word
    const auto tokens = load(name).encode(text, true).tokens;
    EXPECT_GT(tokens.size(), 400'000u) << name;
    EXPECT_GE(tokens.back().span.to, length - 1) << name;
  }
}

TEST(Tokenizer, ManyThreadsMayShareOne) {
  const Tokenizer tokenizer = load("bytebpe");
  const std::vector<std::string> texts = golden_texts();
  std::vector<std::vector<std::int32_t>> alone;
  for (const std::string& text : texts) alone.push_back(tokenizer.encode(text).ids());
  std::vector<int> wrong(4);
  std::vector<std::thread> threads;
  for (int& count : wrong) {
    threads.emplace_back([&] {
      for (std::size_t i = 0; i < texts.size(); ++i) count += tokenizer.encode(texts[i]).ids() != alone[i] ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(wrong, testing::Each(0));
}

TEST(TokenizerBadInput, TextThatIsNotUtf8NamesTheByte) {
  const Tokenizer tokenizer = load("bytebpe");
  EXPECT_THAT(
      [&] { (void)tokenizer.encode("caf\xE9 au lait"); },
      ThrowsMessage<std::invalid_argument>(AllOf(HasSubstr("the text is not UTF-8"), HasSubstr("byte 3 is 0xe9"))));
  EXPECT_THAT([&] { (void)tokenizer.encode("good", "\x80"); },
              ThrowsMessage<std::invalid_argument>(AllOf(HasSubstr("the second text"), HasSubstr("byte 0 is 0x80"))));
}

TEST(TokenizerBadInput, FolderWithoutATokenizerNamesTheMissingFiles) {
  const TemporaryFolder folder;
  EXPECT_THAT(error_of([&] { (void)Tokenizer::load(folder / "nowhere"); }).what(), HasSubstr("no such folder"));
  EXPECT_THAT(error_of([&] { (void)Tokenizer::load(folder.path()); }).what(),
              AllOf(HasSubstr("tokenizer.json"), HasSubstr("vocab.txt"), HasSubstr("merges.txt")));
  folder.write("vocab.json", "{}");
  EXPECT_THAT(error_of([&] { (void)Tokenizer::load(folder.path()); }).what(), HasSubstr("has no tokenizer"));
  folder.write("tokenizer.model", "binary");
  EXPECT_THAT(load_error(folder, "tokenizer.model"), HasSubstr("save_pretrained"));
}

TEST(TokenizerBadInput, BrokenJsonNamesTheFileAndTheByte) {
  const TemporaryFolder folder;
  for (const char* text : {"", "{", "{\"model\": ", "[1, 2", "nonsense"}) {
    folder.write("tokenizer.json", text);
    EXPECT_THAT(load_error(folder, "tokenizer.json"), HasSubstr("not JSON")) << text;
  }
  folder.write("tokenizer.json", "{\"model\": \x01}");
  EXPECT_THAT(load_error(folder, "tokenizer.json"), HasSubstr("byte 10: not JSON"));
  folder.write("tokenizer.json", "{\"model\": \"\xFF\"}");
  EXPECT_THAT(load_error(folder, "tokenizer.json"), HasSubstr("byte 11: not UTF-8"));
}

TEST(TokenizerBadInput, NoNestingReachesTheCrate) {
  const TemporaryFolder folder;
  const std::string open(100'000, '['), close(100'000, ']');
  for (const std::string& text :
       {open, R"({"model": {"type": )" + open + close + "}}", R"({"decoder": )" + open + close + "}"}) {
    folder.write("tokenizer.json", text);
    EXPECT_THAT(load_error(folder, "tokenizer.json"), HasSubstr("nested more than 64 levels deep"));
  }
  folder.write("tokenizer.json", R"({"model": {"type": 1e99999}})");
  EXPECT_THAT(load_error(folder, "tokenizer.json"), HasSubstr("a number that is out of range: '1e99999'"));
}

TEST(TokenizerBadInput, APipeIsNotReadAsAnyOfItsFiles) {
  const fs::path golden = tokenizers_folder() / "bytebpe" / "tokenizer.json";
  for (const char* name : {"tokenizer.json", "vocab.txt", "vocab.json", "tokenizer_config.json"}) {
    const TemporaryFolder folder;
    ASSERT_EQ(::mkfifo((folder / name).c_str(), 0600), 0);
    if (std::string(name) == "vocab.json") folder.write("merges.txt", "");
    if (std::string(name) == "tokenizer_config.json") fs::copy_file(golden, folder / "tokenizer.json");
    EXPECT_THAT(load_error(folder, name), HasSubstr("is not a regular file"));
  }
}

TEST(TokenizerBadInput, WrongContentsNameWhatIsExpected) {
  const TemporaryFolder folder;
  const auto message = [&](const nlohmann::json& file) {
    folder.write("tokenizer.json", file.dump());
    return load_error(folder, "tokenizer.json");
  };
  EXPECT_THAT(message({1, 2}), HasSubstr("must be a JSON object"));
  EXPECT_THAT(message(nlohmann::json::object()), HasSubstr("must have a \"model\""));
  EXPECT_THAT(message({{"model", {{"type", "Hieroglyphs"}}}}),
              AllOf(HasSubstr("unknown model type \"Hieroglyphs\""), HasSubstr("BPE, Unigram, WordLevel, WordPiece")));
  EXPECT_THAT(message({{"model", {{"type", 7}}}}), HasSubstr("unknown model type \"7\""));
  EXPECT_LT(message({{"model", {{"type", "a\n" + std::string(100'000, 'x')}}}}).size(), 400U);
  EXPECT_THAT(message({{"model", {{"type", "BPE"}}}}), HasSubstr("cannot be loaded as a tokenizer"));

  const nlohmann::json good = read_json(tokenizers_folder() / "bytebpe" / "tokenizer.json");
  for (const auto& [path, value] :
       std::vector<std::pair<const char*, nlohmann::json>>{{"/model/vocab/a", "one"},
                                                           {"/model/vocab/a", -1},
                                                           {"/model/vocab", 3},
                                                           {"/model/merges/0", "a"},
                                                           {"/model/merges/0", {"a"}},
                                                           {"/model/merges/0", {"qqq", "zzz"}},
                                                           {"/version", "7.0"},
                                                           {"/added_tokens", 1},
                                                           {"/decoder", {{"type", "Unheard"}}},
                                                           {"/decoder", 1},
                                                           {"/pre_tokenizer", {{"type", "Unheard"}}}}) {
    nlohmann::json bad = good;
    bad[nlohmann::json::json_pointer(path)] = value;
    EXPECT_THAT(message(bad), HasSubstr("cannot be loaded as a tokenizer")) << path << " = " << value;
  }
}

TEST(TokenizerBadInput, FilesNextToTheTokenizerAreCheckedToo) {
  const TemporaryFolder folder;
  fs::copy_file(tokenizers_folder() / "bytebpe" / "tokenizer.json", folder / "tokenizer.json");
  folder.write("tokenizer_config.json", "[");
  EXPECT_THAT(load_error(folder, "tokenizer_config.json"), HasSubstr("not JSON"));
  folder.write("tokenizer_config.json", "[]");
  EXPECT_THAT(load_error(folder, "tokenizer_config.json"), HasSubstr("should hold an object"));
  folder.write("tokenizer_config.json", R"({"mask_token": 7})");
  EXPECT_THAT(load_error(folder, "tokenizer_config.json"), HasSubstr("\"mask_token\" should be a string"));
}

TEST(TokenizerBadInput, OldFilesAreChecked) {
  const TemporaryFolder folder;
  folder.write("vocab.txt", "[CLS]\n[SEP]\n");
  EXPECT_THAT(load_error(folder, "vocab.txt"), HasSubstr("has no \"[UNK]\""));
  folder.write("vocab.txt", "[CLS]\n\xFF\n");
  EXPECT_THAT(load_error(folder, "vocab.txt"), HasSubstr("byte 6: not UTF-8"));
  folder.write("vocab.txt", "[UNK]\n[CLS]\n[SEP]\n");
  folder.write("tokenizer_config.json", R"({"do_lower_case": "yes"})");
  EXPECT_THAT(load_error(folder, "tokenizer_config.json"), HasSubstr("\"do_lower_case\" should be true or false"));

  const TemporaryFolder bpe;
  bpe.write("vocab.json", R"({"a": 0, "b": 1, "ab": 2})");
  bpe.write("merges.txt", "#version: 0.2\na b\nab\n");
  EXPECT_THAT(load_error(bpe, "merges.txt"), HasSubstr("line 3 must be two pieces"));
  bpe.write("merges.txt", "a c\n");
  EXPECT_THAT(load_error(bpe, "vocab.json"), HasSubstr("cannot be loaded as a tokenizer"));
  bpe.write("merges.txt", "a b\n");
  EXPECT_EQ(Tokenizer::load(bpe.path()).encode("ab").ids(), (std::vector<std::int32_t>{2}));
  bpe.write("vocab.json", R"({"a": "zero"})");
  EXPECT_THAT(load_error(bpe, "vocab.json"), HasSubstr("the id of \"a\" must be a number"));
  bpe.write("vocab.json", "[]");
  EXPECT_THAT(load_error(bpe, "vocab.json"), HasSubstr("must be an object"));
}

}  // namespace
}  // namespace attn::test
