// model/hub/hub_cache.h - the folder of one model in the cache that huggingface_hub and we share.
//
//   models--owner--name/refs/<revision>              a file that holds the commit
//   models--owner--name/blobs/<hash>                 content; <hash>.incomplete while it comes
//   models--owner--name/snapshots/<commit>/<file>    a relative link to its blob
//   .locks/models--owner--name/<hash>.lock           held by whoever fetches that blob
#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace attn::model {

// A-Z a-z 0-9 _
constexpr bool is_word(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}
// "owner/name" or "name": up to 96 of A-Z a-z 0-9 - _ . each, neither - nor . at an end, no "--", "..", or ".git".
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

  // The snapshot of a revision (a commit counts as one) that has a config.json; empty if there is none.
  [[nodiscard]] std::filesystem::path find(const std::string& revision) const;
  // The one changed last of those that have a config.json; empty if there is none.
  [[nodiscard]] std::filesystem::path newest() const;

  // Both throw attn::Error. What was there before is replaced in one step.
  void link(const std::string& commit, const std::string& file, const std::string& hash) const;
  void set_revision(const std::string& revision, const std::string& commit) const;

 private:
  std::filesystem::path root_, folder_, locks_;
};

// Throws attn::Error with the system's words.
void make_folders(const std::filesystem::path& folder);

// Held until it goes out of scope, against other threads, programs and Python's tools. Waits for its turn; `pulse` is
// called meanwhile, and what it throws ends the wait. Where the file system knows no locks there is none: whatever two
// writers then make of a partial file does not survive the check of its hash.
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
