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

OpenFile::OpenFile(const std::filesystem::path& file) {
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

std::string read_file(const std::filesystem::path& file, std::int64_t most) {
  const OpenFile open(file);
  if (open.bytes() > most)
    throw Error(file.string(), "has " + std::to_string(open.bytes()) + " bytes; the limit is " + std::to_string(most));
  std::string text(static_cast<std::size_t>(open.bytes()), '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = ::read(open.descriptor(), text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw Error(file.string(), "cannot be read: " + system_words(errno), static_cast<std::int64_t>(done));
    if (n == 0) break;  // truncated while being read; the parser reports it
    done += static_cast<std::size_t>(n);
  }
  text.resize(done);
  return text;
}

}  // namespace attn::base
