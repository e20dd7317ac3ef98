#include "base/new_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>

#include "attn/error.h"
#include "base/folder_lock.h"
#include "tests/support/temporary_folder.h"

namespace attn::base {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

// Whether files can be written without a name in this folder.
bool has_nameless_files(const fs::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
  if (descriptor >= 0) ::close(descriptor);
  return descriptor >= 0 && fs::exists("/proc/self/fd");
}

// Runs work() in a process that is then killed, as by kill -9.
template <typename F>
void in_killed_process(const F& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    work();
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
}

TEST(NewFile, ReplacesTheOldFileWhenCommitted) {
  const test::TemporaryFolder folder;
  const fs::path file = folder.write("a", "old");
  NewFile out(file);
  out.write("new", 3);
  EXPECT_EQ(folder.read("a"), "old");
  out.commit();
  EXPECT_EQ(folder.read("a"), "new");
  EXPECT_EQ(folder.files(), 1U);
}

TEST(NewFile, HasNoNameBeforeCommit) {
  const test::TemporaryFolder folder;
  if (!has_nameless_files(folder.path())) GTEST_SKIP() << "this file system has no O_TMPFILE";
  NewFile out(folder / "a");
  out.write("new", 3);
  EXPECT_EQ(folder.files(), 0U);
}

TEST(NewFile, KilledProcessLeavesNothing) {
  const test::TemporaryFolder folder;
  if (!has_nameless_files(folder.path())) GTEST_SKIP() << "this file system has no O_TMPFILE";
  in_killed_process([&] {
    auto* out = new NewFile(folder / "a");
    out->write("new", 3);
  });
  EXPECT_EQ(folder.files(), 0U);
}

TEST(NewFile, NextOneRemovesWhatAKilledProcessLeft) {
  const test::TemporaryFolder folder;
  in_killed_process([&] { static_cast<void>((new NewFile(folder / "a"))->beside()); });
  EXPECT_EQ(folder.files(), 1U);
  write_file(folder / "b", "b");
  EXPECT_EQ(folder.files(), 1U);
  EXPECT_EQ(folder.read("b"), "b");
}

TEST(NewFile, FileThatIsStillWrittenStays) {
  const test::TemporaryFolder folder;
  NewFile out(folder / "a");
  const fs::path beside = out.beside();
  EXPECT_TRUE(fs::exists(beside));
  remove_unfinished(folder.path());
  EXPECT_TRUE(fs::exists(beside));
  out.write("a", 1);
  out.commit();
  EXPECT_EQ(folder.read("a"), "a");
  EXPECT_EQ(folder.files(), 1U);
}

TEST(NewFile, OnlyItsOwnLeftoversAreRemoved) {
  const test::TemporaryFolder folder;
  for (const char* name : {"a.part", ".attnscope-1-2.link", ".attnscope.part.txt"}) folder.write(name, "mine");
  folder.write(".attnscope-1-2.part", "left");
  remove_unfinished(folder.path());
  EXPECT_EQ(folder.files(), 3U);
  EXPECT_FALSE(fs::exists(folder / ".attnscope-1-2.part"));
}

TEST(NewFile, TemporaryNameLiesInTheStagingFolder) {
  const test::TemporaryFolder folder;
  fs::create_directory(folder / "refs");
  NewFile out(folder / "refs/main", folder.path());
  EXPECT_EQ(out.beside().parent_path(), folder.path());
  out.write("a", 1);
  out.commit();
  EXPECT_EQ(folder.read("refs/main"), "a");
  EXPECT_EQ(folder.files(), 1U);
}

TEST(NewFile, KeepsPermissionsAndLinks) {
  const test::TemporaryFolder folder;
  const fs::path file = folder.write("a", "old");
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("a", folder / "link");
  write_file(folder / "link", "new");
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(folder.read("a"), "new");
  EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST(NewFile, PermissionsOfANewFileFollowTheUmask) {
  const test::TemporaryFolder folder;
  const mode_t before = ::umask(027);
  write_file(folder / "a", "a");
  ::umask(before);
  EXPECT_EQ(fs::status(folder / "a").permissions(), fs::perms(0640));
}

TEST(FolderLock, SecondIsRefusedUntilTheFirstEnds) {
  const test::TemporaryFolder folder;
  std::optional<FolderLock> first(std::in_place, folder.path(), "is taken");
  try {
    const FolderLock second(folder.path(), "is taken");
    FAIL() << "two locks at once";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("is taken"));
  }
  first.reset();
  const FolderLock third(folder.path(), "is taken");
  EXPECT_EQ(folder.files(), 0U);
}

TEST(FolderLock, EndsWithAKilledProcess) {
  const test::TemporaryFolder folder;
  in_killed_process([&] { new FolderLock(folder.path(), "is taken"); });
  EXPECT_NO_THROW(FolderLock(folder.path(), "is taken"));
}

}  // namespace
}  // namespace attn::base
