#include "model/files/file_io.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "attn/error.h"

namespace attn::model {

namespace {

// Length in bytes of the UTF-8 character at the start of text; 0 if it is not valid.
std::size_t utf8_length(std::string_view text) noexcept {
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t length = lead < 0x80 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if ((lead >= 0x80 && lead < 0xc2) || lead > 0xf4 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return 0;
  return length;
}

}  // namespace

std::string one_line(std::string_view text) {
  constexpr std::size_t kMost = 120;
  std::string line;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (line.size() + std::max<std::size_t>(length, 1) > kMost) return line + "...";
    const auto first = static_cast<unsigned char>(text[0]);
    if (length == 0 || first < 0x20 || first == 0x7f)
      line += '?';
    else
      line += text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return line;
}

std::string in_quotes(std::string_view text) { return "'" + one_line(text) + "'"; }

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

}  // namespace attn::model
