// Files that we write: read back, readable for others, and complete or absent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "model/files/safetensors.h"
#include "tests/support/errors.h"
#include "tests/support/safetensors_files.h"
#include "tests/support/small_disk.h"
#include "tests/support/temporary_folder.h"

namespace attn::model {
namespace {

using test::error_of;
using test::kSixNumbers;
using test::SmallDisk;
using test::TemporaryFolder;
using testing::ElementsAre;
using testing::HasSubstr;

void write_six(const std::filesystem::path& file) {
  write_safetensors(file, {{"a", Dtype::f32, {2, 3}, kSixNumbers.data()}});
}

TEST(WriteSafeTensors, WhatIsWrittenIsReadBack) {
  const TemporaryFolder folder;
  const std::vector<std::uint16_t> halves = {0x3c00, 0x4000, 0x4200};
  const std::int64_t step = -5;
  write_safetensors(folder / "m",
                    {{"z.weight", Dtype::f32, {2, 3}, kSixNumbers.data()},
                     {"half", Dtype::bf16, {3}, halves.data()},
                     {"none", Dtype::f32, {0, 7}, nullptr},
                     {"step", Dtype::i64, {}, &step}},
                    {{"made by", "a \"test\"\n"}, {"\u6ce8", "\u610f"}});
  const SafeTensors file = SafeTensors::open(folder / "m");
  EXPECT_EQ(file.tensors().size(), 4);
  EXPECT_EQ(file.metadata().at("made by"), "a \"test\"\n");
  EXPECT_EQ(file.metadata().at("\u6ce8"), "\u610f");
  const StoredTensor& z = file.tensors().at("z.weight");
  EXPECT_THAT(z.shape, ElementsAre(2, 3));
  std::vector<float> numbers(6);
  std::memcpy(numbers.data(), z.data, 24);
  EXPECT_EQ(numbers, kSixNumbers);
  EXPECT_EQ(z.offset % 64, 0);
  EXPECT_EQ(file.tensors().at("half").data, z.data + 24) << "not in the order given";
  EXPECT_EQ(file.tensors().at("half").dtype, Dtype::bf16);
  EXPECT_EQ(file.tensors().at("none").bytes, 0);
  EXPECT_EQ(std::memcmp(file.tensors().at("step").data, &step, 8), 0);
}

TEST(WriteSafeTensors, DataIsAlignedForEveryLengthOfHeader) {
  const TemporaryFolder folder;
  for (std::size_t n = 1; n <= 65; ++n) {
    write_safetensors(folder / "m", {{std::string(n, 'n'), Dtype::f32, {6}, kSixNumbers.data()}});
    EXPECT_EQ(SafeTensors::open(folder / "m").tensors().begin()->second.offset % 64, 0) << n;
  }
}

TEST(WriteSafeTensors, WritesAFileWithoutTensors) {
  const TemporaryFolder folder;
  write_safetensors(folder / "m", {});
  EXPECT_EQ(SafeTensors::open(folder / "m").tensors().size(), 0);
}

TEST(WriteSafeTensors, ReplacesTheOldFileAndLeavesNothingElse) {
  const TemporaryFolder folder;
  folder.write("m", "old");
  write_six(folder / "m");
  EXPECT_EQ(SafeTensors::open(folder / "m").tensors().size(), 1);
  EXPECT_EQ(folder.files(), 1);
}

TEST(WriteSafeTensors, OthersMayReadTheFileAsTheUmaskAllows) {
  const TemporaryFolder folder;
  const mode_t before = ::umask(022);
  write_six(folder / "m");
  ::umask(before);
  struct stat facts{};
  ASSERT_EQ(::stat((folder / "m").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0644);
}

TEST(WriteSafeTensors, AFileNameOfMaximumLengthWorks) {
  const TemporaryFolder folder;
  write_six(folder / std::string(255, 'n'));
  EXPECT_EQ(folder.files(), 1);
}

TEST(WriteSafeTensors, AFullDiskLeavesTheOldFileAndNothingElse) {
  const TemporaryFolder folder;
  folder.write("m", "old");
  const std::vector<float> large(1 << 18);
  const auto write_large = [&] {
    const SmallDisk disk(64 << 10);
    write_safetensors(folder / "m", {{"a", Dtype::f32, {1 << 18}, large.data()}});
  };
  EXPECT_EQ(error_of(write_large).what(), (folder / "m").string() + ": cannot be written: File too large");
  EXPECT_EQ(folder.read("m"), "old");
  EXPECT_EQ(folder.files(), 1);
}

TEST(WriteSafeTensors, AMissingFolderIsNamed) {
  const TemporaryFolder folder;
  EXPECT_EQ(error_of([&] { write_six(folder / "no/m"); }).what(),
            (folder / "no/m").string() + ": cannot be written: No such file or directory");
  EXPECT_EQ(folder.files(), 0);
}

TEST(WriteSafeTensors, AFolderOfThatNameStays) {
  const TemporaryFolder folder;
  folder.write("m/inside", "x");
  EXPECT_THAT(error_of([&] { write_six(folder / "m"); }).what(), HasSubstr("is a folder"));
  EXPECT_EQ(folder.files(), 1);
  EXPECT_EQ(folder.read("m/inside"), "x");
}

TEST(WriteSafeTensors, AReadOnlyFolderIsAnError) {
  const TemporaryFolder folder;
  ASSERT_EQ(::chmod(folder.path().c_str(), 0555), 0);
  const uid_t me = ::geteuid();
  if (me == 0 && ::seteuid(65534) != 0) GTEST_SKIP() << "root may write everywhere";
  const std::string said = error_of([&] { write_six(folder / "m"); }).what();
  if (me == 0) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
  EXPECT_EQ(said, (folder / "m").string() + ": cannot be written: Permission denied");
}

std::string argument_refusal(const std::vector<TensorToStore>& tensors,
                             const std::map<std::string, std::string, std::less<>>& metadata = {}) {
  const TemporaryFolder folder;
  try {
    write_safetensors(folder / "m", tensors, metadata);
  } catch (const std::invalid_argument& e) {
    EXPECT_EQ(folder.files(), 0);
    return e.what();
  }
  return "";
}

TEST(WriteSafeTensors, WrongArgumentsAreRefusedBeforeAnythingIsWritten) {
  const float* data = kSixNumbers.data();
  EXPECT_THAT(argument_refusal({{"a", Dtype::f32, {1}, data}, {"a", Dtype::f32, {1}, data}}),
              HasSubstr("the name 'a' is used twice"));
  EXPECT_THAT(argument_refusal({{"__metadata__", Dtype::f32, {1}, data}}), HasSubstr("used twice or reserved"));
  EXPECT_THAT(argument_refusal({{"a", Dtype::f32, {-1}, data}}), HasSubstr("tensor 'a' has a negative size"));
  EXPECT_THAT(argument_refusal({{"a", Dtype::f32, {1LL << 40, 1LL << 40}, data}}), HasSubstr("tensor 'a' has a"));
  EXPECT_THAT(argument_refusal({{"a", Dtype::f32, {1}, nullptr}}), HasSubstr("tensor 'a' has no data"));
  EXPECT_THAT(argument_refusal({{"\xff", Dtype::f32, {1}, data}}), HasSubstr("must be UTF-8"));
  EXPECT_THAT(argument_refusal({}, {{"k", "\xff"}}), HasSubstr("must be UTF-8"));
}

}  // namespace
}  // namespace attn::model
