#include "model/hub/hub_partial.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "attn/error.h"
#include "base/new_file.h"
#include "base/read_file.h"

namespace attn::model {

PartialFile::PartialFile(std::filesystem::path file) : file_(std::move(file)) {
  descriptor_ = ::open(file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (descriptor_ < 0) fail("cannot be written");
  struct stat facts{};
  if (::fstat(descriptor_, &facts) != 0) {
    ::close(descriptor_);
    fail("cannot be read");
  }
  size_ = facts.st_size;
}

PartialFile::~PartialFile() { ::close(descriptor_); }

void PartialFile::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(descriptor_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("cannot be written");
    size_ += n;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

void PartialFile::start_over() {
  if (::ftruncate(descriptor_, 0) != 0) fail("cannot be written");
  size_ = 0;
}

void PartialFile::remove() noexcept { ::unlink(file_.c_str()); }

void PartialFile::finish(const std::filesystem::path& place) {
  // A full or broken disk may report the error only now.
  if (::fsync(descriptor_) != 0) fail("cannot be written");
  if (::rename(file_.c_str(), place.c_str()) != 0) fail("cannot be moved into place");
}

void PartialFile::fail(const char* what) const {
  throw Error(file_.string(), std::string(what) + ": " + base::system_words(errno));
}

}  // namespace attn::model
