#include "base/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "attn/error.h"
#include "base/read_file.h"

namespace attn::base {

FolderLock::FolderLock(const std::filesystem::path& folder, const std::string& taken)
    : descriptor_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (descriptor_ < 0) throw Error(folder.string(), "cannot be opened: " + system_words(errno));
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  ::close(descriptor_);
  throw Error(folder.string(), taken);
}

FolderLock::~FolderLock() { ::close(descriptor_); }

}  // namespace attn::base
