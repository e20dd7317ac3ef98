// Recordings that are broken in one place: each gives a one-line attn::Error that says what is wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "model/files/safetensors.h"
#include "model/recording/recording.h"
#include "model/recording/recording_file.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

namespace attn::model {
namespace {

using nlohmann::json;
using test::error_of;
using testing::HasSubstr;

// The parts of a recording, to be put together differently.
struct Parts {
  std::map<std::string, std::string, std::less<>> metadata;
  json contents;
  std::map<std::string, TensorToStore> tensors;
  std::map<std::string, std::vector<float>> numbers;
};

class SpoiltRecording : public testing::Test {
 protected:
  explicit SpoiltRecording(const std::string& model = "bert") {
    const Reader reader = Reader::load(std::filesystem::path(ATTNSCOPE_GOLDEN) / "models" / model);
    Text text;
    text.text = "The fox.";
    if (reader.model->facts().form == Form::encoder_decoder) text.target = "It jumps.";
    const Keep keep{.values = true, .inputs = true, .value_norms = true, .hidden = true};
    save_recording(read(reader, text, keep, pool_), folder_ / "good.attn");
    take_apart();
  }

  void write(const Parts& parts, const std::string& name) const {
    std::vector<TensorToStore> tensors;
    for (const auto& [key, tensor] : parts.tensors) tensors.push_back(tensor);
    auto metadata = parts.metadata;
    if (!parts.contents.is_null()) metadata["recording"] = parts.contents.dump();
    write_safetensors(folder_ / name, tensors, metadata);
  }

  // The error for a recording after `spoil`.
  std::string refusal(const std::function<void(Parts&)>& spoil) {
    Parts parts = good_;
    spoil(parts);
    write(parts, "bad.attn");
    return error_of([&] { load_recording(folder_ / "bad.attn"); }).what();
  }
  std::string refusal_of_attention(const char* key, const json& value) {
    return refusal([&](Parts& p) { p.contents["attentions"][1][key] = value; });
  }

  ThreadPool pool_{1};
  test::TemporaryFolder folder_;
  Parts good_;

 private:
  void take_apart() {
    const SafeTensors file = SafeTensors::open(folder_ / "good.attn");
    good_.metadata = file.metadata();
    good_.contents = json::parse(good_.metadata.at("recording"));
    for (const auto& [name, tensor] : file.tensors()) {
      std::vector<float>& copy = good_.numbers[name];
      copy.resize(static_cast<std::size_t>(tensor.bytes) / sizeof(float));
      std::memcpy(copy.data(), tensor.data, static_cast<std::size_t>(tensor.bytes));
      good_.tensors[name] = {name, Dtype::f32, tensor.shape, nullptr};
    }
    for (auto& [name, tensor] : good_.tensors) tensor.data = good_.numbers[name].data();
  }
};

class SpoiltT5Recording : public SpoiltRecording {
 protected:
  SpoiltT5Recording() : SpoiltRecording("t5") {}
};

TEST_F(SpoiltRecording, LoadsWhenNothingIsSpoilt) {
  write(good_, "same.attn");
  EXPECT_EQ(load_recording(folder_ / "same.attn").log.layers(Kind::self), 3);
}

TEST_F(SpoiltRecording, ANewerVersionIsReportedAsNewer) {
  EXPECT_THAT(refusal([](Parts& p) { p.metadata["format_version"] = "4"; }),
              HasSubstr("bad.attn: was written by a newer attnscope (format 4); this one reads up to 3"));
  EXPECT_THAT(refusal([](Parts& p) { p.metadata["format_version"] = "99999999999999999999"; }), HasSubstr("newer"));
}

TEST_F(SpoiltRecording, AVersionThatIsNotANumberIsNamed) {
  for (const char* version : {"", "one", "1.5", "-1", "1 "})
    EXPECT_THAT(refusal([&](Parts& p) { p.metadata["format_version"] = version; }),
                HasSubstr("format_version is '" + std::string(version) + "'"));
  EXPECT_THAT(refusal([](Parts& p) { p.metadata.erase("format_version"); }), HasSubstr("'format_version'"));
}

TEST_F(SpoiltRecording, AnotherSafetensorsFileIsNotARecording) {
  EXPECT_THAT(refusal([](Parts& p) { p.metadata.erase("format"); }), HasSubstr("is not a recording"));
  EXPECT_THAT(refusal([](Parts& p) { p.metadata["format"] = "pt"; }), HasSubstr("create one with attnscope record"));
  EXPECT_THAT(error_of([&] { load_recording(folder_.write("x.attn", "hello there, all of you")); }).what(),
              HasSubstr("not a safetensors file"));
  EXPECT_THAT(error_of([&] { load_recording(folder_ / "none.attn"); }).what(), HasSubstr("cannot be opened"));
}

TEST_F(SpoiltRecording, MetadataThatIsNotJsonIsNamed) {
  const auto with = [&](const std::string& text) {
    return refusal([&](Parts& p) {
      p.metadata["recording"] = text;
      p.contents = nullptr;
    });
  };
  EXPECT_THAT(with("{\"model\": "), HasSubstr("metadata 'recording', byte 10: not JSON"));
  EXPECT_THAT(with("[]"), HasSubstr("a JSON object is needed"));
  EXPECT_THAT(with("{}"), HasSubstr("form is missing"));
}

TEST_F(SpoiltRecording, FactsOfTheWrongTypeAreNamed) {
  const auto with = [&](const char* key, const json& value) {
    return refusal([&](Parts& p) { p.contents[key] = value; });
  };
  EXPECT_THAT(with("form", "decoderencoder"), HasSubstr("form is 'decoderencoder'"));
  EXPECT_THAT(with("model", 5), HasSubstr("model is 5; a string is needed"));
  EXPECT_THAT(with("text", json::array()), HasSubstr("text is a list"));
  EXPECT_THAT(with("pair", false), HasSubstr("pair is false"));
  EXPECT_THAT(with("kept", {"vlaues"}), HasSubstr("kept has the unknown name 'vlaues'"));
  EXPECT_THAT(with("attentions", json::array()), HasSubstr("attentions are missing"));
  EXPECT_THAT(with("attentions", {1}), HasSubstr("attentions[0] is 1; an object is needed"));
  EXPECT_THAT(with("tokens", "abc"), HasSubstr("tokens is \"abc\"; a list is needed"));
}

TEST_F(SpoiltRecording, TokenCountsMustMatchRows) {
  EXPECT_THAT(refusal([](Parts& p) { p.contents["tokens"].erase(0); }),
              HasSubstr("self layer 0 has 7 queries; its tokens are 6"));
}

TEST_F(SpoiltRecording, ATokensFieldsAreChecked) {
  const auto with = [&](const char* key, const json& value) {
    return refusal([&](Parts& p) { p.contents["tokens"][2][key] = value; });
  };
  EXPECT_THAT(with("id", 3000000000), HasSubstr("tokens[2].id is 3000000000"));
  EXPECT_THAT(with("id", "x"), HasSubstr("tokens[2].id is \"x\""));
  EXPECT_THAT(with("span", {1}), HasSubstr("tokens[2].span is not [from, to]"));
  EXPECT_THAT(with("span", {5, 3}), HasSubstr("tokens[2].span is not [from, to]"));
  EXPECT_THAT(with("word", -2), HasSubstr("tokens[2].word is -2"));
  EXPECT_THAT(with("piece", nullptr), HasSubstr("tokens[2].piece is missing"));
  EXPECT_THAT(with("special", 1), HasSubstr("tokens[2].special is 1; true or false"));
}

TEST_F(SpoiltRecording, AnAttentionsNumbersAreChecked) {
  EXPECT_THAT(refusal_of_attention("kind", "itself"), HasSubstr("attentions[1].kind is 'itself'"));
  EXPECT_THAT(refusal_of_attention("layer", 0), HasSubstr("self layer 0 found where layer 1 was expected"));
  EXPECT_THAT(refusal_of_attention("layer", 2), HasSubstr("self layer 2 found where layer 1 was expected"));
  EXPECT_THAT(refusal_of_attention("heads", 0), HasSubstr("attentions[1].heads is 0; 1 to"));
  EXPECT_THAT(refusal_of_attention("heads", 1e18), HasSubstr("attentions[1].heads is 1000000000000000000"));
  EXPECT_THAT(refusal_of_attention("key_heads", 3), HasSubstr("4 query heads cannot share 3 key heads"));
  EXPECT_THAT(refusal_of_attention("width", 513), HasSubstr("attentions[1].width is 513; 1 to 512"));
  EXPECT_THAT(refusal_of_attention("width", 7), HasSubstr("'self.1.q' is [7, 40]; the metadata requires [7, 28]"));
  EXPECT_THAT(refusal_of_attention("queries", 5), HasSubstr("'self.1.q' is [7, 40]; the metadata requires [5, 40]"));
  EXPECT_THAT(refusal_of_attention("keys", 8), HasSubstr("'self.1.k' is [7, 40]; the metadata requires [8, 40]"));
  EXPECT_THAT(refusal_of_attention("scale", "big"), HasSubstr("attentions[1].scale is \"big\""));
  EXPECT_THAT(refusal_of_attention("scale", 1e300), HasSubstr("attentions[1].scale is not finite"));
  EXPECT_THAT(refusal_of_attention("scale", nullptr), HasSubstr("attentions[1].scale is missing"));
}

TEST_F(SpoiltRecording, MaskAndRuleMustAgree) {
  EXPECT_THAT(refusal_of_attention("mask", "causal"), HasSubstr("mask is 'causal', but causal and window say 'ever"));
  EXPECT_THAT(refusal_of_attention("causal", true), HasSubstr("mask is 'everything', but causal and window say 'caus"));
  EXPECT_THAT(refusal_of_attention("window", 4), HasSubstr("attentions[1].window is 4; only a causal mask has one"));
  EXPECT_THAT(refusal_of_attention("window", -4), HasSubstr("attentions[1].window is -4"));
}

TEST_F(SpoiltRecording, MissingAndExtraTensorsAreNamed) {
  for (const char* name :
       {"self.0.q", "self.1.k", "self.2.lse", "self.0.v", "self.1.x", "self.2.value_norms", "hidden.0", "hidden.3"})
    EXPECT_THAT(refusal([&](Parts& p) { p.tensors.erase(name); }),
                HasSubstr("tensor '" + std::string(name) + "' is missing"));
  EXPECT_THAT(refusal([](Parts& p) { p.tensors["z"] = {"z", Dtype::f32, {0, 0}, nullptr}; }),
              HasSubstr("tensor 'z' is not mentioned"));
}

TEST_F(SpoiltRecording, TensorsOfTheWrongShapeOrTypeAreNamed) {
  EXPECT_THAT(refusal([](Parts& p) { p.tensors["self.0.lse"].shape = {7, 4}; }),
              HasSubstr("tensor 'self.0.lse' is [7, 4]; the metadata requires [4, 7]"));
  EXPECT_THAT(refusal([](Parts& p) { p.tensors["hidden.1"].shape = {2, 140}; }),
              HasSubstr("tensor 'hidden.1' is [2, 140]; the metadata requires [7, any]"));
  EXPECT_THAT(refusal([](Parts& p) { p.tensors["output"].shape = {7 * 40}; }), HasSubstr("tensor 'output' is [280]"));
  EXPECT_THAT(refusal([](Parts& p) { p.tensors["self.0.q"].dtype = Dtype::i32; }),
              HasSubstr("tensor 'self.0.q' holds I32; F32 is needed"));
}

TEST_F(SpoiltT5Recording, BiasesAreChecked) {
  const auto with = [&](const char* key, const json& value) {
    return refusal([&](Parts& p) { p.contents["attentions"][1]["bias"][key] = value; });
  };
  EXPECT_THAT(with("tensor", "none"), HasSubstr("tensor 'none' is missing"));
  EXPECT_THAT(with("max_distance", 9999), HasSubstr("describe it differently"));
  EXPECT_THAT(with("buckets", 1), HasSubstr("attentions[1].bias.buckets"));
  EXPECT_THAT(refusal([](Parts& p) { p.contents["attentions"][0]["bias"]["max_distance"] = 0; }),
              HasSubstr("attentions[0].bias.buckets"));
  EXPECT_THAT(refusal([](Parts& p) { p.contents["attentions"][0]["bias"] = 3; }),
              HasSubstr("attentions[0].bias is 3; an object is needed"));
}

TEST_F(SpoiltT5Recording, EachRowOfTheDecoderNeedsWhatItWrites) {
  EXPECT_THAT(refusal([](Parts& p) { p.contents["written_tokens"].erase(0); }),
              HasSubstr("target_tokens; each decoder row"));
  EXPECT_THAT(refusal([](Parts& p) { p.contents.erase("written_tokens"); }), HasSubstr("there are 0 written_tokens"));
  EXPECT_THAT(refusal([](Parts& p) { p.contents["written_tokens"][0]["id"] = "a"; }),
              HasSubstr("written_tokens[0].id"));
}

// Version 1 does not store what the decoder writes; the rows' inputs give all of it but the last token.
TEST_F(SpoiltT5Recording, VersionOneDoesNotKnowTheLastWrittenToken) {
  const Recording now = load_recording(folder_ / "good.attn");
  Parts parts = good_;
  parts.metadata["format_version"] = "1";
  parts.contents.erase("written_tokens");
  write(parts, "old.attn");
  const Recording old = load_recording(folder_ / "old.attn");
  ASSERT_EQ(old.written.size(), now.written.size());
  ASSERT_GT(old.written.size(), 2U);
  for (std::size_t i = 0; i + 1 < old.written.size(); ++i) {
    EXPECT_EQ(old.written[i].id, now.written[i].id);
    EXPECT_EQ(old.written[i].text, now.written[i].text);
  }
  EXPECT_EQ(now.written.back().text, "</s>");
  EXPECT_EQ(old.written.back().text, "?");
  EXPECT_EQ(old.written.back().id, -1);
  EXPECT_TRUE(old.written.back().special);
}

TEST_F(SpoiltRecording, TruncationAnywhereIsAnError) {
  const std::string whole = folder_.read("good.attn");
  for (std::size_t size = 0; size < whole.size(); size += size < 64 ? 1 : 997) {
    const std::filesystem::path cut = folder_.write("cut.attn", whole.substr(0, size));
    EXPECT_NE(std::string(error_of([&] { load_recording(cut); }).what()), "") << size;
  }
}

TEST_F(SpoiltRecording, AChangedByteOfTheHeaderIsAnErrorOrARecording) {
  const std::string whole = folder_.read("good.attn");
  std::uint64_t length = 0;
  std::memcpy(&length, whole.data(), sizeof length);
  int refused = 0;
  for (std::size_t at = 0; at < 8 + length; at += 11) {
    for (const char change : {'\x01', '\x10', '\x7f'}) {
      std::string bad = whole;
      bad[at] = static_cast<char>(bad[at] ^ change);
      const std::filesystem::path file = folder_.write("bad.attn", bad);
      try {
        const Recording recording = load_recording(file);
        EXPECT_EQ(recording.tokens.size(), 7U);
      } catch (const Error& error) {
        ++refused;
        EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
      }
    }
  }
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace attn::model
