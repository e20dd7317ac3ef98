// model/hub/hub_cache.h - one model's folder in the cache that we share with huggingface_hub.
//
//   models--owner--name/refs/<revision>              a file that holds the commit
//   models--owner--name/blobs/<hash>                 content; <hash>.incomplete while downloading
//   models--owner--name/snapshots/<commit>/<file>    a relative link to its blob
//   .locks/models--owner--name/<hash>.lock           held while that blob is downloaded
#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace attn::model {

// A-Z a-z 0-9 _
constexpr bool is_word(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}
// "owner/name" or "name": up to 96 of A-Z a-z 0-9 - _ . each, with neither - nor . at an end, no "--", "..", or ".git".
bool is_model_name(const std::string& name);
// A branch, tag or commit that stays inside refs/.
bool is_revision(const std::string& revision);

class ModelCache {
 public:
  ModelCache(std::filesystem::path root, const std::string& name);  // name as is_model_name() takes it

  [[nodiscard]] const std::filesystem::path& root() const noexcept { return root_; }
  [[nodiscard]] std::filesystem::path blob(const std::string& hash) const { return folder_ / "blobs" / hash; }
  [[nodiscard]] std::filesystem::path partial(const std::string& hash) const;
  [[nodiscard]] std::filesystem::path lock(const std::string& hash) const;
  [[nodiscard]] std::filesystem::path snapshot(const std::string& commit) const {
    return folder_ / "snapshots" / commit;
  }

  // The snapshot of a revision (or commit) that has a config.json; empty if there is none.
  [[nodiscard]] std::filesystem::path find(const std::string& revision) const;
  // The most recently changed snapshot with a config.json; empty if there is none.
  [[nodiscard]] std::filesystem::path newest() const;

  // Both throw attn::Error and replace an existing entry atomically.
  void link(const std::string& commit, const std::string& file, const std::string& hash) const;
  void set_revision(const std::string& revision, const std::string& commit) const;

 private:
  std::filesystem::path root_, folder_, locks_;
};

// Throws attn::Error with the system's message.
void make_folders(const std::filesystem::path& folder);

// A lock against other threads, programs and Python's tools, held until it goes out of scope. The constructor waits for
// its turn and calls `pulse` meanwhile; if that throws, the wait ends. On file systems without locks there is none: if
// two writers garble a partial file, its hash check fails.
class FileLock {
 public:
  FileLock(const std::filesystem::path& file, const std::function<void()>& pulse);  // throws attn::Error
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace attn::model
