#include "model/hub/hub.h"

#include <algorithm>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "attn/error.h"
#include "base/one_line.h"
#include "model/hub/hub_cache.h"
#include "model/hub/hub_client.h"
#include "model/hub/hub_hash.h"
#include "model/hub/hub_listing.h"
#include "model/hub/hub_partial.h"

namespace attn::model {

namespace fs = std::filesystem;

namespace {

// Adds up progress for the caller and throws when the caller asks to stop.
class PullTally {
 public:
  explicit PullTally(const Pull& what) : what_(what) {}

  void expect(std::int64_t total) { now_.total = total; }
  void begin(const RemoteFile& file) {
    before_ = now_.bytes;
    now_.file = file.name;
    now_.file_total = file.size;
    set(0);
  }
  void set(std::int64_t bytes) {
    now_.file_bytes = bytes;
    now_.bytes = before_ + bytes;
    pulse();
  }
  void pulse() const {
    if (what_.on_progress && !what_.on_progress(now_))
      throw Error(what_.name, "stopped; the partial download is kept, and the next pull resumes it");
  }

 private:
  const Pull& what_;
  Progress now_;
  std::int64_t before_ = 0;  // bytes of all previous files
};

class Puller {
 public:
  Puller(const Pull& what, const HubSettings& settings)
      : what_(what),
        cache_(settings.cache, what.name),
        tally_(what),
        pulse_([this] { tally_.pulse(); }),
        hub_(settings, what, pulse_) {}

  fs::path run() {
    listing_ = hub_.list();
    std::vector<RemoteFile> files = files_of_model(listing_, what_.name);
    if (files.back().name == kIndexFile) add_shards(files);
    std::int64_t total = 0;
    for (RemoteFile& file : files) {
      if (!is_in_place(file)) hub_.identify(file, listing_.commit);
      total += file.size;
    }
    check_space(files);
    tally_.expect(total);
    for (const RemoteFile& file : files) {
      tally_.begin(file);
      if (!is_in_place(file)) fetch(file, [&](std::int64_t bytes) { tally_.set(bytes); });
      tally_.set(file.size);
    }
    // Links files only after all have arrived, so that a visible snapshot is complete.
    for (const RemoteFile& file : files)
      if (!is_in_place(file)) cache_.link(listing_.commit, file.name, file.hash);
    cache_.set_revision(what_.revision, listing_.commit);
    return cache_.snapshot(listing_.commit);
  }

 private:
  // Fetched by an earlier run or by another tool. Checks its length; its hash was checked on arrival.
  bool is_in_place(RemoteFile& file) const {
    std::error_code absent;
    const auto size = static_cast<std::int64_t>(fs::file_size(cache_.snapshot(listing_.commit) / file.name, absent));
    if (absent || (file.size >= 0 && file.size != size)) return false;
    file.size = size;
    return true;
  }
  bool is_in_place(const RemoteFile& file) const {
    RemoteFile copy = file;
    return is_in_place(copy);
  }

  bool has_blob(const RemoteFile& file) const {
    std::error_code absent;
    return static_cast<std::int64_t>(fs::file_size(cache_.blob(file.hash), absent)) == file.size && !absent;
  }

  void add_shards(std::vector<RemoteFile>& files) {
    RemoteFile& index = files.back();
    const bool here = is_in_place(index);
    if (!here) {
      hub_.identify(index, listing_.commit);
      fetch(index, [](std::int64_t) {});
    }
    const fs::path path = here ? cache_.snapshot(listing_.commit) / index.name : cache_.blob(index.hash);
    for (RemoteFile& shard : shards_of_model(listing_, path)) files.push_back(std::move(shard));
  }

  void check_space(const std::vector<RemoteFile>& files) const {
    std::uintmax_t needed = 0;
    std::error_code absent;
    for (const RemoteFile& file : files) {
      if (is_in_place(file) || has_blob(file)) continue;
      const std::uintmax_t there = fs::file_size(cache_.partial(file.hash), absent);
      const auto size = static_cast<std::uintmax_t>(file.size);
      needed += absent ? size : size - std::min(size, there);
    }
    if (needed == 0) return;
    make_folders(cache_.root());
    const fs::space_info space = fs::space(cache_.root(), absent);
    if (!absent && space.available < needed)
      throw Error(cache_.root().string(), what_.name + " needs " + std::to_string(needed) + " more bytes, but only " +
                                              std::to_string(space.available) + " are free on this disk");
  }

  void fetch(const RemoteFile& file, const std::function<void(std::int64_t)>& on_size) {
    make_folders(cache_.blob(file.hash).parent_path());
    const FileLock lock(cache_.lock(file.hash), pulse_);
    if (has_blob(file)) return;
    PartialFile partial(cache_.partial(file.hash));
    if (partial.size() > file.size) partial.start_over();
    on_size(partial.size());
    hub_.download(file, listing_.commit, partial, on_size);
    check_hash(file, partial);
    partial.finish(cache_.blob(file.hash));
  }

  void check_hash(const RemoteFile& file, PartialFile& partial) const {
    const auto hash_of = is_sha256(file.hash) ? sha256_of_file : git_sha1_of_file;
    const std::string found = hash_of(partial.path(), pulse_);
    if (found == file.hash) return;
    partial.remove();
    throw Error(what_.name, file.name + " was corrupted in transit: its hash is " + found + ", expected " + file.hash +
                                "; pull again to start over");
  }

  const Pull& what_;
  ModelCache cache_;
  PullTally tally_;
  std::function<void()> pulse_;
  HubClient hub_;
  Listing listing_;
};

void check_pull(const Pull& what) {
  if (!is_model_name(what.name))
    throw std::invalid_argument("not a model name: " + base::in_quotes(what.name) +
                                "; expected \"name\" or \"owner/name\", each of up to 96 letters, digits, - _ or .");
  if (!is_revision(what.revision))
    throw std::invalid_argument("not a revision: " + base::in_quotes(what.revision) +
                                "; expected a branch, a tag or a commit");
}

}  // namespace

fs::path pull(const Pull& what, const HubSettings& settings) {
  check_pull(what);
  if (!settings.offline) return Puller(what, settings).run();
  const fs::path found = ModelCache(settings.cache, what.name).find(what.revision);
  if (found.empty())
    throw Error(what.name, "revision " + base::in_quotes(what.revision) + " is not in the cache " +
                               settings.cache.string() + ", and HF_HUB_OFFLINE forbids downloading it");
  return found;
}

}  // namespace attn::model
