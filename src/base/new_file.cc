#include "base/new_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <set>
#include <system_error>

#include "attn/error.h"
#include "base/read_file.h"

namespace attn::base {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBegin = ".attnscope-", kEnd = ".part";

// Does not contain the file's own name, which may already have the maximum length.
fs::path temporary_name(const fs::path& folder) {
  static std::atomic<unsigned> count{0};
  return folder /
         (std::string(kBegin) + std::to_string(::getpid()) + "-" + std::to_string(count++) + std::string(kEnd));
}

std::string own_path(int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); }

// A file without a name, which disappears with the process; -1 if that, or naming it later, is impossible here.
int open_nameless(const fs::path& folder) {
#ifdef O_TMPFILE
  const int descriptor = ::open(folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
  if (descriptor < 0) return -1;
  (void)::flock(descriptor, LOCK_EX | LOCK_NB);
  if (::access(own_path(descriptor).c_str(), F_OK) == 0) return descriptor;
  ::close(descriptor);  // /proc is not mounted
#else
  static_cast<void>(folder);
#endif
  return -1;
}

void remove_if_unfinished(const fs::path& file) {
  int descriptor = ::open(file.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0) descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0) return;
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) ::unlink(file.c_str());
  ::close(descriptor);
}

// Once per folder and process, since listing a large folder takes time.
void remove_unfinished_once(const fs::path& folder) {
  static std::mutex mutex;
  static std::set<fs::path> done;
  {
    const std::scoped_lock lock(mutex);
    if (!done.insert(folder).second) return;
  }
  remove_unfinished(folder);
}

}  // namespace

NewFile::NewFile(const fs::path& file, const fs::path& staging) : file_(file) {
  struct stat now{};
  const bool exists = ::stat(file.c_str(), &now) == 0;
  if (exists && S_ISDIR(now.st_mode)) throw Error(file.string(), "is a folder; a file name is needed");
  if (exists && !S_ISREG(now.st_mode)) {
    descriptor_ = ::open(file.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail("cannot be written");
    return;
  }
  std::error_code unknown;
  if (exists) file_ = fs::canonical(file, unknown);
  if (unknown) file_ = file;
  folder_ = !staging.empty() ? staging : file_.has_parent_path() ? file_.parent_path() : ".";
  remove_unfinished_once(folder_);
  descriptor_ = open_nameless(folder_);
  if (descriptor_ < 0) open_beside();
  if (exists) (void)::fchmod(descriptor_, now.st_mode & 07777);
}

NewFile::~NewFile() {
  if (!committed_ && !beside_.empty()) ::unlink(beside_.c_str());
  if (descriptor_ >= 0) ::close(descriptor_);
}

void NewFile::open_beside() {
  for (;;) {
    beside_ = temporary_name(folder_);
    descriptor_ = ::open(beside_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0 && errno == EEXIST) continue;
    if (descriptor_ < 0) {
      beside_.clear();
      fail("cannot be written");
    }
    // Before the lock is held, another process may take the file for a leftover and remove it.
    const bool held = ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
    struct stat facts{};
    if (held && ::fstat(descriptor_, &facts) == 0 && facts.st_nlink > 0) return;
    ::unlink(beside_.c_str());
    ::close(descriptor_);
  }
}

const fs::path& NewFile::beside() {
  while (beside_.empty() && !folder_.empty()) {
    const fs::path name = temporary_name(folder_);
    if (::linkat(AT_FDCWD, own_path(descriptor_).c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0)
      beside_ = name;
    else if (errno != EEXIST)
      fail("cannot be written");
  }
  return beside_;
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
  if (folder_.empty()) {
    const int descriptor = descriptor_;
    descriptor_ = -1;
    if (::close(descriptor) != 0) fail("cannot be written");
    return;
  }
  if (::fsync(descriptor_) != 0) fail("cannot be written");
  // Renamed while it is open: closing releases the lock, after which another process may remove the temporary name.
  if (::rename(beside().c_str(), file_.c_str()) != 0) fail("cannot be moved into place");
  committed_ = true;
  // Makes the new name survive a power cut. Some file systems refuse; the file is in place all the same.
  const fs::path folder = file_.has_parent_path() ? file_.parent_path() : ".";
  const int opened = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0) return;
  (void)::fsync(opened);
  ::close(opened);
}

void NewFile::fail(const std::string& what) const { throw Error(file_.string(), what + ": " + system_words(errno)); }

void write_file(const fs::path& file, std::string_view bytes, const fs::path& staging) {
  NewFile out(file, staging);
  out.write(bytes.data(), bytes.size());
  out.commit();
}

void remove_unfinished(const fs::path& folder) noexcept {
  try {
    std::error_code failed;
    for (auto i = fs::directory_iterator(folder, failed); !failed && i != fs::directory_iterator();
         i.increment(failed)) {
      const std::string name = i->path().filename().string();
      if (name.starts_with(kBegin) && name.ends_with(kEnd)) remove_if_unfinished(i->path());
    }
  } catch (const std::exception&) {  // out of memory; the next process tries again
    return;
  }
}

}  // namespace attn::base
