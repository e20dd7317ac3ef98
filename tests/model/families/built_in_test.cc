// Models whose files are in memory behave like models in folders.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <fstream>
#include <iterator>

#include "model/recording/recording.h"
#include "tests/model/families/golden_support.h"
#include "tests/model/families/small_model.h"
#include "tests/support/errors.h"

namespace attn::test {
namespace {

using model::Kind;
using model::Reader;
using model::Recording;
using model::SafeTensors;
using testing::HasSubstr;
using testing::StartsWith;

// A folder's files, read into memory, as cmake/builtin.cmake embeds models/.
class InMemory {
 public:
  explicit InMemory(const std::filesystem::path& folder) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      std::ifstream in(entry.path(), std::ios::binary);
      put(entry.path().filename().string(), {std::istreambuf_iterator<char>(in), {}});
    }
  }
  InMemory() = default;

  void put(const std::string& name, std::string bytes) {
    remove(name);
    contents_.push_back(std::move(bytes));
    names_.push_back(name);
    files_.push_back({names_.back(), contents_.back()});
  }
  void remove(const std::string& name) {
    std::erase_if(files_, [&](const base::BuiltInFile& file) { return file.name == name; });
  }
  [[nodiscard]] std::string_view bytes(const std::string& name) const { return *folder().bytes(name); }
  [[nodiscard]] base::Folder folder() const { return base::Folder(base::BuiltInFolder{"tiny", files_}); }

 private:
  std::deque<std::string> names_, contents_;  // deques keep addresses valid
  std::vector<base::BuiltInFile> files_;
};

const model::Text kText = {.text = "The quick brown fox jumps over the lazy dog.", .pair = {}, .target = {}};

class BuiltIn : public testing::TestWithParam<std::string> {
 protected:
  Recording read(const Reader& reader) {
    model::Text text = kText;
    if (reader.model->facts().form == model::Form::encoder_decoder) text.target = "a dog";
    return model::read(reader, text, {}, pool_);
  }
  std::vector<float> weights(const Recording& recording, Kind kind) {
    return numbers_of(recording.log.weights({kind, 1, 1}, pool_));
  }

  ThreadPool pool_{2};
};

TEST_P(BuiltIn, GivesTheSameBitsFromMemoryAsFromItsFolder) {
  const std::filesystem::path folder = GoldenModel(GetParam()).folder();
  const InMemory files(folder);
  const Reader from_disk = Reader::load(folder), from_memory = Reader::load(files.folder());
  EXPECT_EQ(from_memory.name, "tiny");
  const Recording expected = read(from_disk), got = read(from_memory);
  EXPECT_EQ(got.tokens.size(), expected.tokens.size());
  EXPECT_EQ(numbers_of(got.hidden), numbers_of(expected.hidden));
  EXPECT_EQ(numbers_of(got.target_hidden), numbers_of(expected.target_hidden));
  EXPECT_EQ(weights(got, Kind::self), weights(expected, Kind::self));
  // The second pass uses packed matrices.
  EXPECT_EQ(numbers_of(read(from_memory).hidden), numbers_of(read(from_disk).hidden));
}

TEST_P(BuiltIn, HasTheSameFacts) {
  const std::filesystem::path folder = GoldenModel(GetParam()).folder();
  const InMemory files(folder);
  for (const auto& [got, expected] :
       {std::pair(model::read_facts(files.folder()), model::read_facts(folder)),
        std::pair(model::load_model(files.folder())->facts(), model::load_model(folder)->facts())}) {
    EXPECT_EQ(got.type, expected.type);
    EXPECT_EQ(got.vocabulary, expected.vocabulary);
    EXPECT_EQ(got.parameters, expected.parameters);
    EXPECT_EQ(got.bytes, expected.bytes);
    EXPECT_EQ(got.eos, expected.eos);  // from generation_config.json, next to config.json
    EXPECT_EQ(got.rules.no_repeat, expected.rules.no_repeat);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, BuiltIn, testing::Values("bert", "bert-half", "gpt2", "bart", "llama-shards", "t5"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(BuiltInFiles, GenerationConfigOverridesConfig) {
  InMemory files(GoldenModel("gpt2").folder());
  files.put("generation_config.json", R"({"eos_token_id": [7, 9]})");
  EXPECT_EQ(model::read_facts(files.folder()).eos, (std::vector<std::int32_t>{7, 9}));
}

TEST(BuiltInFiles, OldTokenizersLoadFromMemoryToo) {
  const std::filesystem::path folder = std::filesystem::path(ATTNSCOPE_GOLDEN) / "tokenizers" / "wordpiece";
  InMemory files(folder);
  files.remove("tokenizer.json");
  ASSERT_TRUE(files.folder().has("vocab.txt"));
  EXPECT_EQ(text::Tokenizer::load(files.folder()).encode(kText.text).ids(),
            text::Tokenizer::load(folder).encode(kText.text).ids());
}

TEST(BuiltInFiles, ProblemsNameTheBuiltInFile) {
  const std::filesystem::path bert = GoldenModel("bert").folder();
  const auto said = [](const InMemory& files) {
    return std::string(error_of([&] { (void)Reader::load(files.folder()); }).what());
  };
  InMemory files(bert);
  files.put("model.safetensors", std::string(files.bytes("model.safetensors").substr(0, 100)));
  EXPECT_THAT(said(files), StartsWith("tiny/model.safetensors (built in)"));
  files.put("model.safetensors", "x");
  EXPECT_THAT(said(files), HasSubstr("has 1 bytes"));
  files.remove("model.safetensors");
  EXPECT_THAT(said(files), StartsWith("tiny (built in): has no weights"));

  InMemory broken(bert);
  broken.put("tokenizer.json", "{");
  EXPECT_THAT(said(broken), StartsWith("tiny/tokenizer.json (built in)"));
  broken.remove("tokenizer.json");
  EXPECT_THAT(said(broken), StartsWith("tiny (built in): has no tokenizer"));
  broken.put("config.json", "[]");
  EXPECT_THAT(said(broken), StartsWith("tiny/config.json (built in)"));
  broken.remove("config.json");
  EXPECT_THAT(said(broken), StartsWith("tiny/config.json (built in): there is no such file"));
}

// MADV_DONTNEED would zero memory like this.
TEST(BuiltInFiles, ReleaseLeavesForeignBytesAlone) {
  const std::string name = R"({"a":{"dtype":"U8","shape":[1048576],"data_offsets":[0,1048576]}})";
  const std::uint64_t length = name.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  bytes += name + std::string(1048576, 'x');
  const SafeTensors file = SafeTensors::of(bytes, "here");
  EXPECT_EQ(file.bytes(), static_cast<std::int64_t>(bytes.size()));
  file.release(file.tensors().at("a"));
  EXPECT_EQ(std::ranges::count(bytes, 'x'), 1048576);
  EXPECT_EQ(static_cast<const void*>(file.tensors().at("a").data), bytes.data() + 8 + length);
}

}  // namespace
}  // namespace attn::test
