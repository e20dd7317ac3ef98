#include "server/store/user_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <stdexcept>
#include <string>

#include "base/read_file.h"
#include "server/http/request.h"

namespace attn::server {
namespace {

namespace fs = std::filesystem;

int status_of(UserFiles& files, const UserFiles::Piece& piece) {
  try {
    files.write(piece);
    return 200;
  } catch (const HttpError& refused) {
    return refused.status;
  } catch (const std::invalid_argument&) {
    return 400;
  }
}

TEST(UserFiles, PiecesInOrderMakeAFile) {
  UserFiles files;
  files.write({"3", "model.safetensors", 0, "first"});
  files.write({"3", "model.safetensors", 5, " second"});
  EXPECT_EQ(base::read_file(files.folder("3") / "model.safetensors"), "first second");
}

TEST(UserFiles, PieceAtZeroBeginsAnew) {
  UserFiles files;
  files.write({"1", "a", 0, "a long text"});
  files.write({"1", "a", 0, "short"});
  EXPECT_EQ(base::read_file(files.folder("1") / "a"), "short");
}

TEST(UserFiles, PieceThatDoesNotFollowIsRefusedAndChangesNothing) {
  UserFiles files;
  files.write({"1", "a", 0, "12345"});
  EXPECT_EQ(status_of(files, {"1", "a", 4, "x"}), 409);
  EXPECT_EQ(status_of(files, {"1", "a", 6, "x"}), 409);
  EXPECT_EQ(status_of(files, {"1", "b", 1, "x"}), 409);
  EXPECT_EQ(base::read_file(files.folder("1") / "a"), "12345");
}

TEST(UserFiles, NoNameLeavesTheFolder) {
  UserFiles files;
  for (const char* name : {"", ".", "..", "../a", "a/b", "/etc/passwd", ".hidden", "a\nb", "a b", "\xC3\xA9"})
    EXPECT_EQ(status_of(files, {"1", name, 0, "x"}), 400) << name;
  EXPECT_EQ(status_of(files, {"1", std::string(201, 'a'), 0, "x"}), 400);
  for (const char* folder : {"", "..", "1/2", "x", "-1", "1234567890"})
    EXPECT_EQ(status_of(files, {folder, "a", 0, "x"}), 400) << folder;
  EXPECT_THROW(static_cast<void>(files.folder("../..")), std::invalid_argument);
}

TEST(UserFiles, UnknownFolderIsNotFound) {
  const UserFiles files;
  EXPECT_THROW(static_cast<void>(files.folder("7")), HttpError);
}

TEST(UserFiles, OnlyTheUserCanReadThemAndNothingStays) {
  fs::path root;
  {
    UserFiles files;
    files.write({"1", "a", 0, "x"});
    root = files.folder("1").parent_path();
    struct stat facts{};
    ASSERT_EQ(::stat(root.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777U, 0700U);
  }
  EXPECT_FALSE(fs::exists(root));
}

TEST(UserFiles, AtMostAThousandFiles) {
  UserFiles files;
  for (int n = 0; n < 1000; ++n) files.write({"1", "f" + std::to_string(n), 0, "x"});
  EXPECT_EQ(status_of(files, {"1", "one-more", 0, "x"}), 413);
  EXPECT_EQ(status_of(files, {"1", "f0", 1, "y"}), 200) << "a file that is there may grow";
}

}  // namespace
}  // namespace attn::server
