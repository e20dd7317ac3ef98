#include "model/hub/hub_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "attn/error.h"
#include "base/new_file.h"
#include "base/read_file.h"
#include "model/hub/hub.h"
#include "model/hub/hub_hash.h"

namespace attn::model {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kFolderStart = "models--";

bool is_name_part(std::string_view part) {
  return !part.empty() && part.size() <= 96 && is_word(part.front()) && is_word(part.back()) &&
         std::ranges::all_of(part, [](char c) { return is_word(c) || c == '-' || c == '.'; });
}

std::string folder_name(const std::string& name) {
  std::string folder(kFolderStart);
  for (const char c : name) folder += c == '/' ? std::string("--") : std::string(1, c);
  return folder;
}

bool has_config(const fs::path& folder) {
  std::error_code none;
  return fs::is_regular_file(folder / "config.json", none);
}

std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code failed;
  for (auto i = fs::directory_iterator(folder, failed); !failed && i != fs::directory_iterator(); i.increment(failed))
    found.push_back(i->path());
  return found;
}

}  // namespace

bool is_model_name(const std::string& name) {
  const auto slash = name.find('/');
  const std::string_view all = name;
  const bool parts = slash == std::string::npos
                         ? is_name_part(all)
                         : is_name_part(all.substr(0, slash)) && is_name_part(all.substr(slash + 1));
  return parts && name.find("--") == std::string::npos && name.find("..") == std::string::npos &&
         !name.ends_with(".git");
}

bool is_revision(const std::string& revision) {
  if (revision.empty() || revision.size() > 255 || revision.find_first_of("\\:?*[~^ \x7f") != std::string::npos)
    return false;
  if (std::ranges::any_of(revision, [](char c) { return c >= 0 && c < ' '; })) return false;
  // As in git's own rules, no part between slashes is empty or begins with a dot.
  const std::string framed = "/" + revision + "/";
  return framed.find("//") == std::string::npos && framed.find("/.") == std::string::npos &&
         framed.find("..") == std::string::npos;
}

void make_folders(const fs::path& folder) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) throw Error(folder.string(), "cannot be created: " + failed.message());
}

ModelCache::ModelCache(fs::path root, const std::string& name)
    : root_(std::move(root)), folder_(root_ / folder_name(name)), locks_(root_ / ".locks" / folder_name(name)) {}

fs::path ModelCache::partial(const std::string& hash) const { return folder_ / "blobs" / (hash + ".incomplete"); }

fs::path ModelCache::lock(const std::string& hash) const { return locks_ / (hash + ".lock"); }

fs::path ModelCache::find(const std::string& revision) const {
  std::string commit = revision;
  std::error_code none;
  if (const fs::path ref = folder_ / "refs" / revision; fs::is_regular_file(ref, none))
    commit = base::read_file(ref, 4096);
  const auto end = commit.find_last_not_of(" \t\r\n");
  commit.resize(end == std::string::npos ? 0 : end + 1);
  if (!is_git_sha1(commit) || !has_config(snapshot(commit))) return {};
  return snapshot(commit);
}

fs::path ModelCache::newest() const {
  fs::path best;
  fs::file_time_type best_time;
  for (const fs::path& folder : entries(folder_ / "snapshots")) {
    std::error_code none;
    const fs::file_time_type time = fs::last_write_time(folder, none);
    if (!has_config(folder) || (!best.empty() && std::pair(time, folder) < std::pair(best_time, best))) continue;
    best = folder;
    best_time = time;
  }
  return best;
}

void ModelCache::link(const std::string& commit, const std::string& file, const std::string& hash) const {
  const fs::path folder = snapshot(commit), place = folder / file;
  make_folders(folder);
  // The lock makes the temporary name ours, and it lies where no tool looks for files of the model. A killed process
  // may leave it; the next pull, which finds the file missing, then begins with removing it.
  const FileLock held(lock(hash), {});
  const fs::path beside = folder_ / (".attnscope-" + hash + ".link");
  std::error_code failed, none;
  fs::remove(beside, none);
  fs::create_symlink(fs::path("../../blobs") / hash, beside, failed);
  if (!failed) fs::rename(beside, place, failed);
  if (!failed) return;
  fs::remove(beside, none);
  throw Error(place.string(), "cannot be linked: " + failed.message());
}

void ModelCache::set_revision(const std::string& revision, const std::string& commit) const {
  const fs::path file = folder_ / "refs" / revision;
  std::error_code none;
  base::remove_unfinished(file.parent_path());  // version 0.1 left files there, which other tools take for revisions
  if (revision == commit || (fs::is_regular_file(file, none) && base::read_file(file, 4096) == commit)) return;
  make_folders(file.parent_path());
  base::write_file(file, commit, folder_);
}

FileLock::FileLock(const fs::path& file, const std::function<void()>& pulse) {
  make_folders(file.parent_path());
  for (;;) {
    // Group-writable, as Python's tools create it, so that users who share a cache can wait for each other.
    descriptor_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0664);
    if (descriptor_ < 0) throw Error(file.string(), "cannot be opened: " + base::system_words(errno));
    try {
      while (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && (errno == EWOULDBLOCK || errno == EINTR)) {
        if (pulse) pulse();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
    } catch (...) {
      ::close(descriptor_);
      throw;
    }
    struct stat held{}, named{};
    const bool same = ::fstat(descriptor_, &held) == 0 && ::stat(file.c_str(), &named) == 0 &&
                      held.st_dev == named.st_dev && held.st_ino == named.st_ino;
    if (same) return;
    ::close(descriptor_);  // the file was removed while we waited, so this lock excludes no one
  }
}

FileLock::~FileLock() { ::close(descriptor_); }

std::vector<CachedModel> cached_models(const HubSettings& settings) {
  std::vector<CachedModel> models;
  for (const fs::path& entry : entries(settings.cache)) {
    std::string name = entry.filename().string();
    if (!name.starts_with(kFolderStart)) continue;
    name.erase(0, kFolderStart.size());
    if (const auto dashes = name.find("--"); dashes != std::string::npos) name.replace(dashes, 2, "/");
    if (!is_model_name(name)) continue;
    const ModelCache cache(settings.cache, name);
    const fs::path main = cache.find("main"), folder = main.empty() ? cache.newest() : main;
    if (!folder.empty()) models.push_back({name, main.empty() ? folder.filename().string() : "main", folder});
  }
  std::ranges::sort(models, {}, &CachedModel::name);
  return models;
}

fs::path find_model(const std::string& name_or_folder, const HubSettings& settings) {
  std::error_code none;
  const bool is_name = is_model_name(name_or_folder), is_folder = fs::is_directory(name_or_folder, none);
  if (is_folder && has_config(name_or_folder)) return name_or_folder;
  if (is_name) {
    const ModelCache cache(settings.cache, name_or_folder);
    for (const fs::path& folder : {cache.find("main"), cache.newest()})
      if (!folder.empty()) return folder;
  }
  std::string problem = is_folder ? "a folder without config.json; a model's folder has config.json, model.safetensors "
                                    "and the tokenizer's files"
                        : fs::exists(name_or_folder, none) ? "a file; pass the model's folder instead"
                                                           : "no such folder";
  if (is_name)
    problem += ", and not in the cache " + settings.cache.string() + " either; to download it: attnscope pull " +
               name_or_folder;
  throw Error(name_or_folder, problem);
}

}  // namespace attn::model
