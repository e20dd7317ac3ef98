// A model folder: one file, shards, prefixes, and errors for missing parts.
#include "model/files/weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/support/errors.h"
#include "tests/support/resident.h"
#include "tests/support/safetensors_files.h"
#include "tests/support/temporary_folder.h"

namespace attn::model {
namespace {

using test::error_of;
using test::kSixNumbers;
using test::resident_file_kilobytes;
using test::TemporaryFolder;
using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

TensorToStore floats(const std::string& name, std::vector<std::int64_t> shape) {
  return {name, Dtype::f32, std::move(shape), kSixNumbers.data()};
}

// A folder whose model.safetensors has these tensors.
void fill(const TemporaryFolder& folder, const std::vector<TensorToStore>& tensors) {
  write_safetensors(folder / "model.safetensors", tensors);
}

std::string folder_refusal(const TemporaryFolder& folder) {
  return error_of([&] { (void)Weights(folder.path()); }).what();
}

float number(const AnyView<2>& view, std::int64_t row, std::int64_t column) {
  float x = 0;
  std::memcpy(&x, static_cast<const std::byte*>(view.data) + 4 * (row * view.strides[0] + column), 4);
  return x;
}

TEST(Weights, GivesViewsOfOneFile) {
  const TemporaryFolder folder;
  fill(folder, {floats("x.weight", {2, 3}), floats("x.bias", {2}), floats("norm", {6})});
  const Weights weights(folder.path());
  const AnyView<2> x = weights.matrix("x.weight", 2, 3);
  EXPECT_EQ(x.type, Type::float32);
  EXPECT_THAT(x.shape, ElementsAre(2, 3));
  EXPECT_THAT(x.strides, ElementsAre(3, 1));
  EXPECT_EQ(number(x, 1, 2), 6);
  EXPECT_THAT(weights.matrix("x.weight", -1, 3).shape, ElementsAre(2, 3));
  EXPECT_THAT(weights.vector("norm", 6).shape, ElementsAre(6));
  EXPECT_EQ(weights.parameters(), 14);
  EXPECT_EQ(weights.bytes(), static_cast<std::int64_t>(folder.read("model.safetensors").size()));
}

TEST(Weights, FloatsComeFromEveryTypeAlsoUnaligned) {
  const TemporaryFolder folder;
  const std::vector<std::uint16_t> half = {0x3c00, 0xc000};
  const std::vector<std::uint16_t> bfloat = {0x3f80, 0xc000};
  const std::uint8_t one = 1;
  fill(folder, {{"byte", Dtype::u8, {1}, &one},  // everything after it is at odd addresses
                {"h", Dtype::f16, {2}, half.data()},
                {"b", Dtype::bf16, {2}, bfloat.data()},
                floats("f", {3})});
  const Weights weights(folder.path());
  EXPECT_THAT(weights.floats("h", 2), ElementsAre(1, -2));
  EXPECT_THAT(weights.floats("b", 2), ElementsAre(1, -2));
  EXPECT_THAT(weights.floats("f", 3), ElementsAre(1, 2, 3));
  EXPECT_EQ(weights.vector("h", 2).type, Type::float16);
  EXPECT_EQ(weights.vector("b", 2).type, Type::bfloat16);
}

TEST(Weights, LinearTakesABiasIfThereIsOne) {
  const TemporaryFolder folder;
  fill(folder, {floats("q.weight", {2, 3}), floats("q.bias", {2}), floats("k.weight", {2, 3}),
                floats("c.weight", {3, 2}), floats("c.bias", {2})});
  const Weights weights(folder.path());
  const nn::Weight q = weights.linear("q", 3, 2);
  EXPECT_FALSE(q.input_first);
  EXPECT_THAT(q.bias.shape, ElementsAre(2));
  EXPECT_TRUE(weights.linear("k", 3, 2).bias.empty());
  const nn::Weight c = weights.conv1d("c", 3, 2);
  EXPECT_TRUE(c.input_first);
  EXPECT_THAT(c.matrix.shape, ElementsAre(3, 2));
  EXPECT_THAT(error_of([&] { (void)weights.linear("c", 3, 2); }).what(), HasSubstr("is [3, 2]; [2, 3] is needed"));
}

TEST(Weights, PrefixedNameTakesPrecedence) {
  const TemporaryFolder folder;
  fill(folder, {floats("bert.a", {1}), floats("a", {2}), floats("head", {3})});
  Weights weights(folder.path());
  EXPECT_EQ(weights.vector("a", -1).shape[0], 2);
  weights.set_prefix("bert.");
  EXPECT_EQ(weights.vector("a", -1).shape[0], 1);
  EXPECT_EQ(weights.vector("head", 3).shape[0], 3);
  EXPECT_TRUE(weights.has("a"));
  EXPECT_TRUE(weights.has("head"));
  EXPECT_TRUE(weights.has("bert.a"));
  EXPECT_FALSE(weights.has("b"));
  EXPECT_FALSE(weights.has(""));
}

TEST(Weights, AMissingTensorNamesTheNearestThree) {
  const TemporaryFolder folder;
  fill(folder, {floats("encoder.layer.0.attention.self.query.weight", {1}),
                floats("encoder.layer.0.attention.self.key.weight", {1}),
                floats("encoder.layer.0.attention.self.query.bias", {1}), floats("pooler", {1}), floats("x", {1})});
  Weights weights(folder.path());
  const Error error = error_of([&] { (void)weights.vector("encoder.layer.0.attention.self.qvery.weight", 1); });
  EXPECT_EQ(error.what(),
            folder.path().string() +
                ": no tensor 'encoder.layer.0.attention.self.qvery.weight'; the nearest are "
                "'encoder.layer.0.attention.self.query.weight', 'encoder.layer.0.attention.self.key.weight', "
                "'encoder.layer.0.attention.self.query.bias'");
  weights.set_prefix("bert.");
  EXPECT_THAT(error_of([&] { (void)weights.matrix("pool", 1, 1); }).what(),
              HasSubstr("no tensor 'bert.pool' or 'pool'; the nearest are 'pooler'"));
}

TEST(Weights, AMissingTensorOfAnEmptyFileIsReported) {
  const TemporaryFolder folder;
  fill(folder, {});
  const Weights weights(folder.path());
  EXPECT_THAT(error_of([&] { (void)weights.vector("a", 1); }).what(), EndsWith("no tensor 'a'; there are no tensors"));
}

TEST(Weights, WrongShapeNamesBothShapesAndTheByte) {
  const TemporaryFolder folder;
  fill(folder, {floats("a", {2, 3})});
  const Weights weights(folder.path());
  const Error error = error_of([&] { (void)weights.matrix("a", 3, 2); });
  EXPECT_EQ(error.path(), (folder / "model.safetensors").string());
  EXPECT_EQ(error.offset(), 128);
  EXPECT_THAT(error.what(), EndsWith("tensor 'a' is [2, 3]; [3, 2] is needed"));
  EXPECT_THAT(error_of([&] { (void)weights.matrix("a", -1, 2); }).what(), EndsWith("is [2, 3]; [any, 2] is needed"));
  EXPECT_THAT(error_of([&] { (void)weights.vector("a", 6); }).what(), EndsWith("is [2, 3]; [6] is needed"));
}

TEST(Weights, UnsupportedDtypesAreRefused) {
  const TemporaryFolder folder;
  const std::vector<double> doubles = {1, 2};
  fill(folder, {{"d", Dtype::f64, {2}, doubles.data()}, {"i", Dtype::i32, {2, 2}, doubles.data()}});
  const Weights weights(folder.path());
  EXPECT_THAT(error_of([&] { (void)weights.vector("d", 2); }).what(),
              EndsWith("tensor 'd' is F64; F32, F16 or BF16 is needed"));
  EXPECT_THAT(error_of([&] { (void)weights.matrix("i", 2, 2); }).what(),
              EndsWith("is I32; F32, F16 or BF16 is needed"));
  EXPECT_EQ(weights.parameters(), 2) << "integers are not parameters";
}

TEST(Weights, MovesButDoesNotCopy) {
  static_assert(!std::is_copy_constructible_v<Weights> && !std::is_copy_assignable_v<Weights>);
  const TemporaryFolder folder;
  fill(folder, {floats("a", {2, 3})});
  Weights first(folder.path());
  const Weights second = std::move(first);
  EXPECT_EQ(number(second.matrix("a", 2, 3), 1, 2), 6);
}

// ---- shards ----

void write_index(const TemporaryFolder& folder, const std::string& map) {
  folder.write("model.safetensors.index.json", R"({"metadata": {"total_size": 1}, "weight_map": )" + map + "}");
}

TEST(Weights, ShardsFormOneModel) {
  const TemporaryFolder folder;
  write_safetensors(folder / "m-1.safetensors", {floats("a", {2, 3}), floats("b", {1})});
  write_safetensors(folder / "m-2.safetensors", {floats("c", {3})});
  write_index(folder, R"({"a": "m-1.safetensors", "b": "m-1.safetensors", "c": "m-2.safetensors"})");
  const Weights weights(folder.path());
  EXPECT_EQ(number(weights.matrix("a", 2, 3), 0, 1), 2);
  EXPECT_EQ(weights.vector("c", 3).shape[0], 3);
  EXPECT_EQ(weights.parameters(), 10);
  EXPECT_EQ(weights.bytes(),
            static_cast<std::int64_t>(folder.read("m-1.safetensors").size() + folder.read("m-2.safetensors").size()));
}

TEST(Weights, SingleFileTakesPrecedenceOverAnIndex) {
  const TemporaryFolder folder;
  fill(folder, {floats("a", {1})});
  write_index(folder, R"({"b": "nowhere.safetensors"})");
  EXPECT_TRUE(Weights(folder.path()).has("a"));
}

TEST(Weights, AMissingShardIsNamed) {
  const TemporaryFolder folder;
  write_index(folder, R"({"a": "m-1.safetensors"})");
  EXPECT_THAT(folder_refusal(folder),
              EndsWith("model.safetensors.index.json: tensor 'a' is mapped to 'm-1.safetensors', "
                       "which does not exist"));
}

TEST(Weights, ATensorMissingFromItsShardIsNamed) {
  const TemporaryFolder folder;
  write_safetensors(folder / "m-1.safetensors", {floats("a", {1})});
  write_index(folder, R"({"a": "m-1.safetensors", "b": "m-1.safetensors"})");
  EXPECT_THAT(folder_refusal(folder), HasSubstr("m-1.safetensors: has no tensor 'b', although"));
}

TEST(Weights, AShardOutsideTheFolderIsRefused) {
  const TemporaryFolder outer;
  write_safetensors(outer / "secret.safetensors", {floats("a", {1})});
  for (const std::string& shard : {std::string("../secret.safetensors"), std::string("x/../../secret.safetensors"),
                                   (outer / "secret.safetensors").string(), std::string(), std::string("..")}) {
    outer.write("model/model.safetensors.index.json", R"({"weight_map": {"a": ")" + shard + "\"}}");
    EXPECT_THAT(error_of([&] { (void)Weights(outer / "model"); }).what(),
                EndsWith("a file in the same folder is needed"))
        << shard;
  }
  outer.write("model/model.safetensors.index.json", R"({"weight_map": {"a": "a\u0000b"}})");
  EXPECT_THAT(error_of([&] { (void)Weights(outer / "model"); }).what(),
              EndsWith("a file in the same folder is needed"));
}

TEST(Weights, AnInvalidIndexIsRefused) {
  const TemporaryFolder folder;
  write_index(folder, "[]");
  EXPECT_THAT(folder_refusal(folder), HasSubstr("weight_map is a list; an object is needed"));
  write_index(folder, R"({"a": 3})");
  EXPECT_THAT(folder_refusal(folder), HasSubstr("weight_map.a is 3; a string is needed"));
  folder.write("model.safetensors.index.json", "{}");
  EXPECT_THAT(folder_refusal(folder), HasSubstr("weight_map is missing"));
  folder.write("model.safetensors.index.json", "{");
  EXPECT_THAT(folder_refusal(folder), HasSubstr("index.json, byte 1: not JSON"));
}

// ---- folders without safetensors ----

TEST(Weights, PytorchWeightsExplainHowToConvertThem) {
  const TemporaryFolder folder;
  folder.write("pytorch_model.bin", "x");
  folder.write("config.json", R"({"architectures": ["BertForMaskedLM"]})");
  EXPECT_EQ(folder_refusal(folder),
            folder.path().string() +
                ": has its weights only as pytorch_model.bin; safetensors is needed. To convert them, run this in that "
                "folder (requires transformers and torch): python -c \"from transformers import BertForMaskedLM as M; "
                "M.from_pretrained('.').save_pretrained('.', safe_serialization=True)\"");
}

TEST(Weights, ConversionUsesAutoModelIfNoClassIsConfigured) {
  for (const char* config :
       {"{}", "{", R"({"architectures": []})", R"({"architectures": ["x; import os"]})", R"({"architectures": 3})"}) {
    const TemporaryFolder folder;
    folder.write("pytorch_model.bin.index.json", "x");
    folder.write("config.json", config);
    EXPECT_THAT(folder_refusal(folder), AllOf(HasSubstr("only as pytorch_model.bin.index.json"),
                                              HasSubstr("import AutoModel as M; M.from_pretrained('.')"),
                                              EndsWith("instead keeps a language-model head")))
        << config;
  }
}

TEST(Weights, TensorflowAndFlaxWeightsExplainHowToConvertThem) {
  const TemporaryFolder folder;
  folder.write("flax_model.msgpack", "x");
  EXPECT_THAT(folder_refusal(folder), HasSubstr("from_pretrained('.', from_flax=True)"));
  folder.write("tf_model.h5", "x");
  folder.write("config.json", R"({"architectures": ["TFBertModel"]})");
  EXPECT_THAT(folder_refusal(folder), HasSubstr("import BertModel as M; M.from_pretrained('.', from_tf=True)"));
}

TEST(Weights, MissingWeightsNameTheExpectedFiles) {
  const TemporaryFolder folder;
  EXPECT_EQ(
      folder_refusal(folder),
      folder.path().string() + ": has no weights: neither model.safetensors nor model.safetensors.index.json exists");
  EXPECT_THAT(error_of([&] { (void)Weights(folder / "none"); }).what(), EndsWith("none: no such folder"));
  EXPECT_THAT(error_of([&] { (void)Weights(folder.write("f", "")); }).what(),
              EndsWith("f: is not a folder; a model's folder is needed"));
}

// ---- releasing pages ----

double sum_of(const AnyView<2>& view) {
  double sum = 0;
  for (std::int64_t i = 0; i < view.shape[0]; ++i)
    for (std::int64_t j = 0; j < view.shape[1]; ++j) sum += number(view, i, j);
  return sum;
}

TEST(Weights, ReleaseDropsThePagesOfAMatrixOrPartOfOne) {
  const TemporaryFolder folder;
  const std::vector<float> ones(std::size_t{4} << 20, 1);  // 16 MB
  fill(folder, {floats("before", {6}), {"m", Dtype::f32, {4096, 1024}, ones.data()}, floats("behind", {6})});
  const Weights weights(folder.path());
  const AnyView<2> whole = weights.matrix("m", 4096, 1024);
  EXPECT_EQ(sum_of(whole), 4 << 20);
  const std::int64_t before = resident_file_kilobytes();
  if (before < 0) GTEST_SKIP() << "this system does not report how much of a file is in memory";

  AnyView<2> half = whole;
  half.shape[0] = 2048;
  half.data = static_cast<const std::byte*>(whole.data) + 4 * 1024 * 2048;
  weights.release({half, {}, false});
  const std::int64_t after_half = resident_file_kilobytes();
  EXPECT_LT(after_half, before - 7 * 1024);
  EXPECT_GT(after_half, before - 9 * 1024);
  weights.release({whole, {}, false});
  EXPECT_LT(resident_file_kilobytes(), before - 15 * 1024);
  EXPECT_EQ(sum_of(whole), 4 << 20);
  EXPECT_THAT(weights.floats("before", 6), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(weights.floats("behind", 6), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(Weights, ReleaseIgnoresMemoryOutsideTheFile) {
  const TemporaryFolder folder;
  fill(folder, {floats("a", {2, 3})});
  const Weights weights(folder.path());
  const std::vector<float> mine(1 << 20, 7);
  weights.release({View<const float, 2>(mine.data(), {1024, 1024}), {}, false});
  weights.release({});
  EXPECT_THAT(mine, testing::Each(7));
}

}  // namespace
}  // namespace attn::model
