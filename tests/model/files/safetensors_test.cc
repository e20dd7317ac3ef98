// One safetensors file: reading it, and releasing its pages.
#include "model/files/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "tests/support/resident.h"
#include "tests/support/safetensors_files.h"
#include "tests/support/temporary_folder.h"

namespace attn::model {
namespace {

using test::entry;
using test::file_of_entries;
using test::raw_file;
using test::resident_file_kilobytes;
using test::TemporaryFolder;
using testing::ElementsAre;
using testing::IsEmpty;

template <typename T>
T first_of(const StoredTensor& tensor, std::size_t index = 0) {
  T value;
  std::memcpy(&value, tensor.data + index * sizeof(T), sizeof(T));
  return value;
}

TEST(SafeTensors, ReadsAFileOfTheReferenceLibrary) {
  const std::string header = R"({"__metadata__":{"format":"pt"},"n":{"dtype":"I64","shape":[],"data_offsets":[0,8]},)"
                             R"("a.weight":{"dtype":"F32","shape":[2,3],"data_offsets":[8,32]},)"
                             R"("none":{"dtype":"F32","shape":[0,4],"data_offsets":[32,32]},)"
                             R"("b":{"dtype":"F16","shape":[2],"data_offsets":[32,36]}}  )";
  const std::string data(
      "\x07\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80?\x00\x00\x00@\x00\x00@@\x00\x00\x80@\x00\x00\xa0@"
      "\x00>\x00\xc0",
      36);
  const TemporaryFolder folder;
  const SafeTensors file = SafeTensors::open(folder.write("m", raw_file(header, data)));
  ASSERT_EQ(file.tensors().size(), 4);
  EXPECT_EQ(file.metadata().at("format"), "pt");
  EXPECT_EQ(file.bytes(), 308);
  EXPECT_THAT(file.tensors().at("n").shape, IsEmpty());
  EXPECT_EQ(first_of<std::int64_t>(file.tensors().at("n")), 7);
  const StoredTensor& a = file.tensors().at("a.weight");
  EXPECT_THAT(a.shape, ElementsAre(2, 3));
  EXPECT_EQ(a.dtype, Dtype::f32);
  EXPECT_EQ(a.bytes, 24);
  EXPECT_EQ(a.offset, 280);
  EXPECT_EQ(first_of<float>(a, 5), 5.0F);
  EXPECT_EQ(file.tensors().at("none").bytes, 0);
  EXPECT_EQ(first_of<std::uint16_t>(file.tensors().at("b"), 1), 0xc000);
}

TEST(SafeTensors, EveryDtypeHasItsNameAndSize) {
  std::string entries;
  std::int64_t end = 0;
  for (int d = 0; d < 15; ++d) {
    const auto dtype = static_cast<Dtype>(d);
    EXPECT_EQ(parse_dtype(name_of(dtype)), dtype);
    entries += (d == 0 ? "" : ",") +
               entry("t" + std::to_string(d), "[3]", end, end + 3 * size_of(dtype), std::string(name_of(dtype)));
    end += 3 * size_of(dtype);
  }
  EXPECT_EQ(end, 3 * (8 + 4 + 2 + 2 + 8 + 4 + 2 + 1 + 8 + 4 + 2 + 1 + 1 + 1 + 1));
  const TemporaryFolder folder;
  EXPECT_EQ(
      SafeTensors::open(folder.write("m", file_of_entries(entries, static_cast<std::size_t>(end)))).tensors().size(),
      15);
  EXPECT_EQ(name_of(Dtype::boolean), "BOOL");
  EXPECT_EQ(parse_dtype("f32"), std::nullopt);
  EXPECT_EQ(parse_dtype(""), std::nullopt);
}

TEST(SafeTensors, AFileWithoutTensorsIsValid) {
  const TemporaryFolder folder;
  EXPECT_THAT(SafeTensors::open(folder.write("m", raw_file("{}"))).tensors(), IsEmpty());
  EXPECT_THAT(SafeTensors::open(folder.write("m", raw_file("{\"__metadata__\":{}}   \n"))).metadata(), IsEmpty());
}

TEST(SafeTensors, TensorsMayComeInAnyOrderAndEmptyOnesAnywhere) {
  const std::string entries = entry("z", "[2]", 0, 8) + "," + entry("b", "[0]", 8, 8) + "," + entry("c", "[1]", 8, 12) +
                              "," + entry("a", "[3,0,2]", 0, 0) + "," + entry("d", "[0]", 12, 12);
  const TemporaryFolder folder;
  const SafeTensors file = SafeTensors::open(folder.write("m", file_of_entries(entries, 12)));
  EXPECT_EQ(file.tensors().size(), 5);
  EXPECT_EQ(file.tensors().at("c").data - file.tensors().at("z").data, 8);
}

TEST(SafeTensors, ACopyKeepsTheMappingAlive) {
  const TemporaryFolder folder;
  const auto copy = [&] {
    const SafeTensors file =
        SafeTensors::open(folder.write("m", raw_file("{" + entry("a", "[1]", 0, 4) + "}", "abcd")));
    return SafeTensors(file);
  }();
  EXPECT_EQ(std::memcmp(copy.tensors().at("a").data, "abcd", 4), 0);
}

TEST(SafeTensors, MappingKeepsAFileThatIsReplaced) {
  const TemporaryFolder folder;
  const auto path = folder.write("m", raw_file("{" + entry("a", "[1]", 0, 4) + "}", "abcd"));
  const SafeTensors file = SafeTensors::open(path);
  const float one = 1;
  write_safetensors(path, {{"b", Dtype::f32, {1}, &one}});
  EXPECT_EQ(std::memcmp(file.tensors().at("a").data, "abcd", 4), 0);
  EXPECT_EQ(first_of<float>(SafeTensors::open(path).tensors().at("b")), 1);
}

std::uint64_t sum_of(const StoredTensor& tensor) {
  std::uint64_t sum = 0;
  for (std::int64_t i = 0; i < tensor.bytes; ++i) sum += static_cast<std::uint64_t>(tensor.data[i]);
  return sum;
}

TEST(SafeTensors, ReleasedPagesLeaveMemoryAndCanBeReadAgain) {
  const TemporaryFolder folder;
  constexpr std::int64_t kBytes = std::int64_t{16} << 20;
  const std::vector<std::uint8_t> middle(kBytes, 3);
  const std::vector<std::uint8_t> ends(100, 5);
  write_safetensors(folder / "m", {{"a", Dtype::u8, {100}, ends.data()},
                                   {"m", Dtype::u8, {kBytes}, middle.data()},
                                   {"z", Dtype::u8, {100}, ends.data()}});
  const SafeTensors file = SafeTensors::open(folder / "m");
  const StoredTensor& m = file.tensors().at("m");
  EXPECT_EQ(sum_of(m), 3 * kBytes);
  const std::int64_t before = resident_file_kilobytes();
  if (before < 0) GTEST_SKIP() << "this system does not report how much of a file is in memory";
  file.release(m);
  EXPECT_LT(resident_file_kilobytes(), before - 15 * 1024);
  EXPECT_EQ(sum_of(m), 3 * kBytes);
  EXPECT_EQ(sum_of(file.tensors().at("a")), 500);
  EXPECT_EQ(sum_of(file.tensors().at("z")), 500);
}

TEST(SafeTensors, ReleaseTouchesNothingOutsideTheMapping) {
  const TemporaryFolder folder;
  const SafeTensors file = SafeTensors::open(folder.write("m", file_of_entries(entry("a", "[1]", 0, 4), 4)));
  std::vector<std::byte> mine(1 << 20, std::byte{7});
  StoredTensor foreign;
  foreign.data = mine.data();
  foreign.bytes = static_cast<std::int64_t>(mine.size());
  file.release(foreign);
  file.release(file.tensors().at("a"));
  EXPECT_THAT(mine, testing::Each(std::byte{7}));
}

}  // namespace
}  // namespace attn::model
