// Invalid safetensors files: everything is validated, and every error says what is wrong and where.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>

#include "model/files/safetensors.h"
#include "model/files/safetensors_header.h"
#include "tests/support/errors.h"
#include "tests/support/safetensors_files.h"
#include "tests/support/temporary_folder.h"

namespace attn::model {
namespace {

using test::entry;
using test::error_of;
using test::file_of_entries;
using test::raw_file;
using test::TemporaryFolder;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;

// The error of open() for these bytes, without the path.
std::string file_refusal(const std::string& bytes) {
  const TemporaryFolder folder;
  const auto file = folder.write("m.safetensors", bytes);
  const std::string said = error_of([&] { (void)SafeTensors::open(file); }).what();
  EXPECT_EQ(said.find(file.string()), 0) << said;
  EXPECT_LT(said.size(), file.string().size() + 600) << "too long a line";
  return said.substr(std::min(said.size(), file.string().size()));
}

TEST(SafeTensorsRefuses, WhatIsNotAFile) {
  const TemporaryFolder folder;
  EXPECT_THAT(error_of([&] { (void)SafeTensors::open(folder / "none"); }).what(),
              EndsWith("none: cannot be opened: No such file or directory"));
  EXPECT_THAT(error_of([&] { (void)SafeTensors::open(folder.path()); }).what(), HasSubstr("is a folder"));
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(error_of([&] { (void)SafeTensors::open(folder / "pipe"); }).what(), HasSubstr("is not a regular file"));
}

TEST(SafeTensorsRefuses, AFileTooShortForALength) {
  EXPECT_EQ(file_refusal(""), ": has 0 bytes; a safetensors file has at least 10");
  EXPECT_EQ(file_refusal("1234567"), ": has 7 bytes; a safetensors file has at least 10");
}

TEST(SafeTensorsRefuses, TruncatedHeaderNamesBothLengths) {
  const std::string whole = file_of_entries(entry("a", "[1]", 0, 4), 4);
  EXPECT_EQ(file_refusal(whole.substr(0, 20)),
            ", byte 0: the header should have 54 bytes, but only 12 follow; the file is probably truncated");
  EXPECT_EQ(file_refusal(whole.substr(0, 8)),
            ", byte 0: the header should have 54 bytes, but only 0 follow; the file is probably truncated");
}

TEST(SafeTensorsRefuses, AHugeHeaderLength) {
  EXPECT_EQ(file_refusal(std::string(8, '\xff') + "{}"),
            ", byte 0: not a safetensors file: its first 8 bytes give a header length of 18446744073709551615 bytes; "
            "at most 100000000 are "
            "allowed");
  EXPECT_THAT(file_refusal(std::string("\x01\xe1\xf5\x05\0\0\0\0{}", 10)),
              HasSubstr("a header length of 100000001 bytes"));
  EXPECT_THAT(file_refusal(std::string("\x00\xe1\xf5\x05\0\0\0\0{}", 10)),
              HasSubstr("100000000 bytes, but only 2 follow"));
}

TEST(SafeTensorsRefuses, AGitLfsPointerAndExplainsIt) {
  EXPECT_THAT(file_refusal("version https://git-lfs.example/spec/v1\noid sha256:00\nsize 4\n"),
              HasSubstr("Git LFS pointer"));
}

TEST(SafeTensorsRefuses, AHeaderThatIsNotAnObject) {
  EXPECT_EQ(file_refusal(raw_file("")), ", byte 8: the header does not begin with '{'");
  EXPECT_EQ(file_refusal(raw_file(" {}")), ", byte 8: the header does not begin with '{'");
  EXPECT_EQ(file_refusal(raw_file("[1]")), ", byte 8: the header does not begin with '{'");
}

TEST(SafeTensorsRefuses, BrokenJsonAndNamesTheByte) {
  EXPECT_THAT(file_refusal(raw_file("{\"a\":}")),
              AllOf(HasSubstr(", byte 13: the header is not JSON: "), HasSubstr("'}'")));
  EXPECT_THAT(file_refusal(raw_file("{} {}")), HasSubstr(", byte 11: the header is not JSON"));
  EXPECT_THAT(file_refusal(raw_file("{")), HasSubstr("unexpected end of input"));
  EXPECT_THAT(file_refusal(raw_file("{\"\xff\":1}")), HasSubstr("ill-formed UTF-8"));
  EXPECT_THAT(file_refusal(raw_file(std::string("{}\0\0", 4))), HasSubstr("a zero byte in the header"));
  EXPECT_THAT(file_refusal(raw_file("{\"a\":1e999}")), HasSubstr("number overflow"));
}

TEST(SafeTensorsRefuses, DuplicateNamesAnywhere) {
  EXPECT_THAT(file_refusal(file_of_entries(entry("a", "[1]", 0, 4) + "," + entry("a", "[1]", 4, 8), 8)),
              HasSubstr("tensor 'a' appears twice"));
  EXPECT_THAT(file_refusal(raw_file(R"({"__metadata__":{"k":"1","k":"2"}})")),
              HasSubstr("__metadata__ 'k' appears twice"));
  EXPECT_THAT(file_refusal(raw_file(R"({"__metadata__":{},"__metadata__":{}})")),
              HasSubstr("__metadata__ appears twice"));
  EXPECT_THAT(file_refusal(raw_file(R"({"a":{"dtype":"F32","dtype":"F32"}})")),
              HasSubstr("tensor 'a': dtype appears twice"));
  EXPECT_THAT(file_refusal(raw_file(R"({"a":{"shape":[],"shape":[]}})")), HasSubstr("tensor 'a': shape appears twice"));
}

TEST(SafeTensorsRefuses, EntriesOfTheWrongType) {
  EXPECT_THAT(file_refusal(raw_file(R"({"a":3})")), HasSubstr("tensor 'a' is the number 3; an object is needed"));
  EXPECT_THAT(file_refusal(raw_file(R"({"a":[]})")), HasSubstr("tensor 'a' is a list; an object is needed"));
  EXPECT_THAT(file_refusal(raw_file(R"({"a":null})")), HasSubstr("tensor 'a' is null; an object is needed"));
  EXPECT_THAT(file_refusal(raw_file(R"({"__metadata__":"x"})")),
              HasSubstr("__metadata__ is the string 'x'; an object is needed"));
  EXPECT_THAT(file_refusal(raw_file(R"({"__metadata__":{"k":1}})")),
              HasSubstr("__metadata__ 'k' is the number 1; a string is needed"));
  EXPECT_THAT(file_refusal(raw_file(R"({"a":{"dtype":4}})")),
              HasSubstr("tensor 'a': dtype is the number 4; a string is"));
  EXPECT_THAT(file_refusal(raw_file(R"({"a":{"shape":4}})")),
              HasSubstr("tensor 'a': shape is the number 4; a list of integers"));
  EXPECT_THAT(file_refusal(raw_file(R"({"a":{"data_offsets":{}}})")),
              HasSubstr("tensor 'a': data_offsets is an object; a"));
  EXPECT_THAT(file_refusal(raw_file(R"({"a":{"shape":["1"]}})")),
              HasSubstr("tensor 'a': shape contains the string '1'"));
  EXPECT_THAT(file_refusal(raw_file(R"({"a":{"shape":[true]}})")),
              HasSubstr("tensor 'a': shape contains true or false"));
  EXPECT_THAT(file_refusal(raw_file(R"({"a":{"strides":[1]}})")),
              HasSubstr("tensor 'a': unknown field 'strides'; known:"));
}

TEST(SafeTensorsRefuses, EntriesThatLackAField) {
  EXPECT_THAT(file_refusal(raw_file(R"({"a":{}})")), HasSubstr("tensor 'a' has no dtype"));
  EXPECT_THAT(file_refusal(raw_file(R"({"a":{"dtype":"F32","data_offsets":[0,4]}})")),
              HasSubstr("tensor 'a' has no shape"));
  EXPECT_THAT(file_refusal(raw_file(R"({"a":{"dtype":"F32","shape":[]}})")),
              HasSubstr("tensor 'a' has no data_offsets"));
}

TEST(SafeTensorsRefuses, AnUnknownDtypeAndListsTheKnown) {
  EXPECT_THAT(file_refusal(file_of_entries(entry("a", "[1]", 0, 4, "F31"), 4)),
              HasSubstr("tensor 'a': unknown dtype 'F31'; known: F64, F32, F16, BF16, I64, I32, I16, I8, U64, U32, "
                        "U16, U8, BOOL, F8_E4M3, F8_E5M2"));
}

TEST(SafeTensorsRefuses, SizesThatAreNegativeFractionalOrBeyond64Bits) {
  EXPECT_THAT(file_refusal(file_of_entries(entry("a", "[-1]", 0, 4), 4)),
              HasSubstr("tensor 'a': shape contains the negative number -1"));
  EXPECT_THAT(file_refusal(file_of_entries(entry("a", "[1.0]", 0, 4), 4)),
              HasSubstr("tensor 'a': shape contains the number 1.0"));
  EXPECT_THAT(file_refusal(file_of_entries(entry("a", "[9223372036854775808]", 0, 4), 4)),
              HasSubstr("contains the number 9223372036854775808; integers from 0 to 9223372036854775807 are needed"));
  EXPECT_THAT(file_refusal(file_of_entries(entry("a", "[99999999999999999999]", 0, 4), 4)),
              HasSubstr("the number 99999999999999999999"));
  EXPECT_THAT(file_refusal(file_of_entries(entry("a", "[1]", -4, 0), 4)),
              HasSubstr("data_offsets contains the negative number -4"));
}

TEST(SafeTensorsRefuses, ShapesWhoseProductOverflows) {
  for (const char* shape : {"[4294967296,4294967296]", "[9223372036854775807,2]", "[2305843009213693952]",
                            "[0,4294967296,4294967296]", "[4294967296,4294967296,0]"})
    EXPECT_THAT(file_refusal(file_of_entries(entry("a", shape, 0, 0), 0)),
                HasSubstr("tensor 'a' has a shape whose size in bytes overflows"))
        << shape;
}

TEST(SafeTensorsRefuses, TooManyAxesOrOffsets) {
  std::string shape = "[1";
  for (int i = 0; i < 64; ++i) shape += ",1";
  EXPECT_THAT(file_refusal(file_of_entries(entry("a", shape + "]", 0, 4), 4)),
              HasSubstr("tensor 'a': shape has more than 64 numbers"));
  EXPECT_THAT(file_refusal(raw_file(R"({"a":{"data_offsets":[0,1,2]}})")),
              HasSubstr("data_offsets has more than 2 numbers"));
  EXPECT_THAT(file_refusal(raw_file(R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0]}})")),
              HasSubstr("data_offsets has 1 numbers; begin and end are needed"));
}

TEST(SafeTensorsRefuses, BytesThatDisagreeWithTheShape) {
  EXPECT_THAT(file_refusal(file_of_entries(entry("a", "[2,3]", 0, 20), 20)),
              HasSubstr("tensor 'a' has 20 bytes; its shape and dtype need 24"));
  EXPECT_THAT(file_refusal(file_of_entries(entry("a", "[0]", 0, 4), 4)),
              HasSubstr("tensor 'a' has 4 bytes; its shape and dtype need 0"));
  EXPECT_THAT(file_refusal(file_of_entries(entry("a", "[1]", 8, 4), 8)),
              HasSubstr("tensor 'a' begins at 8 and ends before it, at 4"));
}

TEST(SafeTensorsRefuses, DataThatEndsBeforeATensorDoes) {
  EXPECT_THAT(
      file_refusal(file_of_entries(entry("a", "[2]", 0, 8), 7)),
      HasSubstr("tensor 'a' ends at byte 8 of the data, but the file has 7 bytes of data; it is probably truncated"));
}

TEST(SafeTensorsRefuses, OverlapsGapsAndLeftoversAndNamesBothPlaces) {
  const std::string two = entry("a", "[2]", 0, 8) + "," + entry("b", "[2]", 4, 12);
  const std::string at = std::to_string(8 + two.size() + 2 + 8);
  EXPECT_THAT(file_refusal(file_of_entries(two, 12)),
              HasSubstr("tensor 'b' begins here, but tensor 'a' ends at byte " + at + ": they overlap"));
  EXPECT_THAT(file_refusal(file_of_entries(entry("a", "[2]", 0, 8) + "," + entry("b", "[2]", 12, 20), 20)),
              EndsWith(": a gap"));
  EXPECT_THAT(file_refusal(file_of_entries(entry("a", "[2]", 4, 12), 12)),
              HasSubstr("tensor 'a' begins here, but the header ends at"));
  EXPECT_THAT(file_refusal(file_of_entries(entry("a", "[2]", 0, 8), 9)),
              HasSubstr("tensor 'a' ends here, but the file has 71 bytes"));
  EXPECT_THAT(file_refusal(file_of_entries("", 1)), HasSubstr("the header ends here, but the file has 11 bytes"));
}

TEST(SafeTensorsRefuses, NestingOfAnyDepthWithoutDescending) {
  std::string deep = "{\"a\":";
  for (int i = 0; i < 1'000'000; ++i) deep += "{\"a\":";
  EXPECT_THAT(file_refusal(raw_file(deep)), HasSubstr("tensor 'a': unknown field 'a'"));
  EXPECT_THAT(file_refusal(raw_file("{\"a\":" + std::string(1'000'000, '['))), HasSubstr("tensor 'a' is a list"));
  EXPECT_THAT(file_refusal(raw_file("{\"a\":{\"shape\":" + std::string(1'000'000, '['))),
              HasSubstr("shape contains a list"));
}

TEST(SafeTensorsRefuses, ALongOrWildNameInOneShortLine) {
  EXPECT_THAT(file_refusal(raw_file("{\"" + std::string(1 << 20, 'n') + "\":1}")), HasSubstr("nnn...'"));
  EXPECT_THAT(file_refusal(raw_file("{\"a\\nb\\u001b\":1}")), HasSubstr("tensor 'a?b?'"));
  EXPECT_THAT(file_refusal(raw_file("{\"" + std::string(1 << 20, 'n'))), HasSubstr("the header is not JSON"));
}

// Either refused with attn::Error, or every tensor is inside the file and has the bytes that its shape requires.
void expect_refused_or_consistent(const TemporaryFolder& folder, const std::string& bytes) {
  const auto path = folder.write("m", bytes);
  try {
    const SafeTensors file = SafeTensors::open(path);
    std::int64_t sum = 0;
    for (const auto& [name, t] : file.tensors()) {
      ASSERT_EQ(stored_bytes(t.dtype, t.shape), t.bytes);
      ASSERT_GE(t.offset, kLengthBytes);
      ASSERT_LE(t.offset + t.bytes, static_cast<std::int64_t>(bytes.size()));
      ASSERT_EQ(std::memcmp(t.data, bytes.data() + t.offset, static_cast<std::size_t>(t.bytes)), 0);
      sum += t.bytes;
    }
    std::uint64_t header = 0;
    std::memcpy(&header, bytes.data(), sizeof header);
    ASSERT_EQ(sum + kLengthBytes + static_cast<std::int64_t>(header), static_cast<std::int64_t>(bytes.size()));
  } catch (const Error& error) {
    ASSERT_EQ(error.path(), path.string());
  }
}

TEST(SafeTensorsRefuses, RandomDamageUnlessItIsHarmless) {
  const TemporaryFolder folder;
  const std::string good = raw_file("{\"__metadata__\":{\"format\":\"pt\"}," + entry("a.weight", "[2,3]", 0, 24) + "," +
                                        entry("none", "[0,4]", 24, 24) + "," + entry("b", "[2]", 24, 28, "F16") + "}  ",
                                    std::string(28, 'd'));
  std::mt19937_64 random(20240607);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  for (int round = 0; round < 5000; ++round) {
    std::string bad = good;
    for (std::size_t hits = 1 + below(3); hits > 0; --hits) switch (below(6)) {
        case 0:
          bad[below(bad.size())] = static_cast<char>(below(256));
          break;
        case 1:
          bad[below(bad.size())] ^= static_cast<char>(1 << below(8));
          break;
        case 2:  // replace a digit of the header, where it hurts most
          for (std::size_t i = below(bad.size()); i < bad.size(); ++i)
            if (bad[i] >= '0' && bad[i] <= '9') {
              bad[i] = static_cast<char>('0' + below(10));
              break;
            }
          break;
        case 3:
          bad.resize(1 + below(bad.size()));
          break;
        case 4:
          bad.insert(below(bad.size()), 1 + below(8), static_cast<char>(below(256)));
          break;
        default:
          bad.erase(below(bad.size()), 1 + below(4));
          if (bad.empty()) bad = "x";
      }
    expect_refused_or_consistent(folder, bad);
    if (HasFatalFailure()) FAIL() << "round " << round;
  }
  for (std::size_t length = 0; length < good.size(); ++length)
    EXPECT_THROW((void)SafeTensors::open(folder.write("m", good.substr(0, length))), Error) << length;
}

}  // namespace
}  // namespace attn::model
