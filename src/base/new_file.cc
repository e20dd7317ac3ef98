#include "base/new_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <system_error>

#include "attn/error.h"

namespace attn::base {

std::string system_words(int error) { return std::generic_category().message(error); }

NewFile::NewFile(const std::filesystem::path& file) : file_(file) {
  struct stat now{};
  const bool exists = ::stat(file.c_str(), &now) == 0;
  if (exists && S_ISDIR(now.st_mode)) throw Error(file.string(), "is a folder; a file name is needed");
  if (exists && !S_ISREG(now.st_mode)) {
    descriptor_ = ::open(file.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail("cannot be written");
    return;
  }
  std::error_code unknown;
  if (exists) file_ = std::filesystem::canonical(file, unknown);
  if (unknown) file_ = file;
  static std::atomic<unsigned> count{0};
  // Does not contain the file's own name, which may already have the maximum length.
  const std::string start = ".attnscope-" + std::to_string(::getpid()) + "-";
  do {
    beside_ = file_.parent_path() / (start + std::to_string(count++) + ".part");
    descriptor_ = ::open(beside_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (descriptor_ < 0 && errno == EEXIST);
  if (descriptor_ < 0) fail("cannot be written");
  if (exists) (void)::fchmod(descriptor_, now.st_mode & 07777);
}

NewFile::~NewFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!committed_ && !beside_.empty()) ::unlink(beside_.c_str());
}

void NewFile::write(const void* data, std::size_t bytes) {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t n = ::write(descriptor_, next, std::min<std::size_t>(bytes, std::size_t{1} << 30));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("cannot be written");
    next += n;
    bytes -= static_cast<std::size_t>(n);
  }
}

void NewFile::reserve(std::int64_t bytes) {
  if (::fallocate(descriptor_, 0, 0, bytes) == 0) return;
  // Not every file system can reserve space.
  if (errno != EOPNOTSUPP || ::ftruncate(descriptor_, bytes) != 0) fail("cannot be written");
}

void NewFile::commit() {
  if (!beside_.empty() && ::fsync(descriptor_) != 0) fail("cannot be written");
  const int descriptor = descriptor_;
  descriptor_ = -1;
  if (::close(descriptor) != 0) fail("cannot be written");
  if (beside_.empty()) return;
  if (::rename(beside_.c_str(), file_.c_str()) != 0) fail("cannot be moved into place");
  committed_ = true;
  // Makes the new name survive a power cut. Some file systems refuse; the file is in place all the same.
  const std::filesystem::path folder = file_.has_parent_path() ? file_.parent_path() : ".";
  const int opened = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0) return;
  (void)::fsync(opened);
  ::close(opened);
}

void NewFile::fail(const std::string& what) const { throw Error(file_.string(), what + ": " + system_words(errno)); }

void write_file(const std::filesystem::path& file, std::string_view bytes) {
  NewFile out(file);
  out.write(bytes.data(), bytes.size());
  out.commit();
}

}  // namespace attn::base
