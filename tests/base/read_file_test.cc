#include "base/read_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/folder.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

namespace attn::test {
namespace {

using testing::HasSubstr;

TEST(ForeignFile, APipeIsRefusedAtOnce) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(error_of([&] { (void)base::read_file(folder / "pipe"); }).what(),
              HasSubstr("pipe: is not a regular file"));
  EXPECT_THAT(error_of([&] { (void)base::Folder(folder.path()).read("pipe"); }).what(),
              HasSubstr("not a regular file"));
  EXPECT_THAT(error_of([] { (void)base::read_file("/dev/zero"); }).what(), HasSubstr("is not a regular file"));
}

}  // namespace
}  // namespace attn::test
