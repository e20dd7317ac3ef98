// base/folder_lock.h - makes sure that only one process writes to a folder.
#pragma once

#include <filesystem>
#include <string>

namespace attn::base {

// Held until it goes out of scope; the system releases it if the process dies. It is a lock (flock) on the folder
// itself, so that no file is left behind. On file systems that cannot lock a folder there is none.
class FolderLock {
 public:
  // Throws attn::Error with `taken` if another process, or this one, holds the lock.
  FolderLock(const std::filesystem::path& folder, const std::string& taken);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace attn::base
