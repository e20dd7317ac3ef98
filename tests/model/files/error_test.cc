// attn::Error, and the helpers that format its messages.
#include "attn/error.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <type_traits>

#include "base/one_line.h"
#include "base/read_file.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

namespace attn::model {
namespace {

using test::error_of;
using test::TemporaryFolder;

TEST(Error, SaysPathThenByteThenProblem) {
  const Error error("a/model.safetensors", "too short", 17);
  EXPECT_STREQ(error.what(), "a/model.safetensors, byte 17: too short");
  EXPECT_EQ(error.path(), "a/model.safetensors");
  EXPECT_EQ(error.offset(), 17);
}

TEST(Error, OmitsAnUnknownByte) {
  const Error error("config.json", "is missing");
  EXPECT_STREQ(error.what(), "config.json: is missing");
  EXPECT_EQ(error.offset(), Error::kNowhere);
}

TEST(Error, NamesByteZero) { EXPECT_STREQ(Error("f", "wrong", 0).what(), "f, byte 0: wrong"); }

TEST(Error, IsARuntimeErrorThatCopiesWithoutThrowing) {
  static_assert(std::is_base_of_v<std::runtime_error, Error>);
  const Error error("f", "wrong", 3);
  const Error copy = error;  // NOLINT(performance-unnecessary-copy-initialization)
  EXPECT_STREQ(copy.what(), error.what());
}

TEST(OneLine, KeepsOrdinaryTextOfAnyScript) {
  EXPECT_EQ(base::one_line("encoder.layer.0"), "encoder.layer.0");
  EXPECT_EQ(base::one_line("h\u00e9 \u6ce8\u610f \U0001f642"), "h\u00e9 \u6ce8\u610f \U0001f642");
  EXPECT_EQ(base::in_quotes(""), "''");
}

TEST(OneLine, ReplacesWhatWouldBreakALineOrATerminal) {
  EXPECT_EQ(base::one_line("a\nb\x1b[31m\x7f"), "a?b?[31m?");
  EXPECT_EQ(base::one_line(std::string("a\0b", 3)), "a?b");
}

TEST(OneLine, ReplacesInvalidUtf8) {
  EXPECT_EQ(base::one_line("\xff\xc3.\x80\xe4\xb8"), "??.???");
  EXPECT_EQ(base::one_line("\xc0\xaf"), "??");  // an overlong '/'
}

TEST(OneLine, CutsLongTextBetweenCharacters) {
  EXPECT_EQ(base::one_line(std::string(120, 'x')), std::string(120, 'x'));
  EXPECT_EQ(base::one_line(std::string(1 << 20, 'x')), std::string(120, 'x') + "...");
  EXPECT_EQ(base::one_line(std::string(119, 'x') + "\u6ce8"), std::string(119, 'x') + "...");
}

TEST(ReadFile, ReturnsTheBytesUnchanged) {
  const TemporaryFolder folder;
  const std::string content("a\0b\r\n\xff", 6);
  EXPECT_EQ(base::read_file(folder.write("f", content), 6), content);
  EXPECT_EQ(base::read_file(folder.write("empty", ""), 0), "");
}

TEST(ReadFile, RefusesAFileThatIsTooLongWithBothLengths) {
  const TemporaryFolder folder;
  const auto file = folder.write("f", "1234567");
  EXPECT_EQ(error_of([&] { (void)base::read_file(file, 6); }).what(), file.string() + ": has 7 bytes; the limit is 6");
}

TEST(ReadFile, NamesMissingFilesAndFolders) {
  const TemporaryFolder folder;
  EXPECT_EQ(error_of([&] { (void)base::read_file(folder / "f", 6); }).what(),
            (folder / "f").string() + ": cannot be opened: No such file or directory");
  EXPECT_EQ(error_of([&] { (void)base::read_file(folder.path(), 6); }).what(),
            folder.path().string() + ": is a folder; a file is needed");
  EXPECT_EQ(error_of([] { (void)base::read_file("/dev/zero", 6); }).what(),
            std::string("/dev/zero: is not a regular file"));
}

}  // namespace
}  // namespace attn::model
