#include "base/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <system_error>

#include "attn/error.h"

namespace attn::base {

std::string system_words(int error) { return std::generic_category().message(error); }

OpenFile::OpenFile(const std::filesystem::path& file) : file_(file) {
  // Without O_NONBLOCK, opening a pipe would block until a writer appears.
  descriptor_ = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) throw Error(file.string(), "cannot be opened: " + system_words(errno));
  struct stat facts{};
  if (::fstat(descriptor_, &facts) != 0 || !S_ISREG(facts.st_mode)) {
    ::close(descriptor_);
    throw Error(file.string(), S_ISDIR(facts.st_mode) ? "is a folder; a file is needed" : "is not a regular file");
  }
  bytes_ = facts.st_size;
}

OpenFile::~OpenFile() { ::close(descriptor_); }

std::int64_t OpenFile::read(std::int64_t offset, std::span<char> bytes) const {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const auto at = offset + static_cast<std::int64_t>(done);
    const ssize_t n = ::pread(descriptor_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw Error(file_.string(), "cannot be read: " + system_words(errno), at);
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  return static_cast<std::int64_t>(done);
}

std::string read_file(const std::filesystem::path& file, std::int64_t most) {
  const OpenFile open(file);
  if (open.bytes() > most)
    throw Error(file.string(), "has " + std::to_string(open.bytes()) + " bytes; the limit is " + std::to_string(most));
  std::string text(static_cast<std::size_t>(open.bytes()), '\0');
  text.resize(
      static_cast<std::size_t>(open.read(0, text)));  // shorter if it is truncated meanwhile; the parser reports it
  return text;
}

}  // namespace attn::base
