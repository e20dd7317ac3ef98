#include "server/store/user_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <map>
#include <mutex>
#include <stdexcept>

#include "attn/error.h"
#include "base/read_file.h"
#include "server/http/request.h"

namespace attn::server {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostUserFiles = 1000;

void append(const fs::path& file, std::string_view bytes, bool anew) {
  const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | (anew ? O_TRUNC : 0);
  const int descriptor = ::open(file.c_str(), flags, 0600);
  if (descriptor < 0) throw Error(file.string(), "cannot be opened: " + base::system_words(errno));
  int problem = 0;
  while (!bytes.empty() && problem == 0) {
    const ssize_t n = ::write(descriptor, bytes.data(), bytes.size());
    if (n > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno != EINTR) {
      problem = errno;
    }
  }
  if (::close(descriptor) != 0 && problem == 0) problem = errno;
  if (problem != 0) throw Error(file.string(), "cannot be written: " + base::system_words(problem));
}

}  // namespace

struct UserFiles::State {
  std::mutex mutex;
  fs::path root;                           // made with the first piece; empty: none
  std::map<fs::path, std::int64_t> sizes;  // of the files, below root
  std::int64_t bytes = 0;

  // Only this user can read it.
  void make_root() {
    if (!root.empty()) return;
    std::error_code ignored;
    fs::path parent = fs::temp_directory_path(ignored);
    std::string name = ((ignored ? fs::path("/tmp") : parent) / "attnscope-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
      throw Error(name, "no temporary folder can be made: " + base::system_words(errno));
    root = name;
  }
};

UserFiles::UserFiles() : state_(std::make_unique<State>()) {}
UserFiles::~UserFiles() { clear(); }

void UserFiles::write(const Piece& piece) {
  if (!is_folder_number(piece.folder)) throw std::invalid_argument("files go to /api/files/NUMBER");
  if (!is_plain_file_name(piece.name))
    throw std::invalid_argument("name must be a file name of letters, digits and . _ - +");
  const std::scoped_lock lock(state_->mutex);
  const fs::path inside = fs::path(piece.folder) / piece.name;
  const auto known = state_->sizes.find(inside);
  const std::int64_t size = known == state_->sizes.end() ? 0 : known->second;
  if (piece.offset != 0 && piece.offset != size)
    throw HttpError(409, "the file has " + std::to_string(size) + " bytes; a piece at " + std::to_string(piece.offset) +
                             " does not follow");
  const std::int64_t dropped = piece.offset == 0 ? size : 0, added = std::ssize(piece.bytes);
  if (state_->bytes - dropped + added > kMostUserBytes ||
      (known == state_->sizes.end() && state_->sizes.size() >= kMostUserFiles))
    throw HttpError(413, "that is too much: at most 1,000 files and 64 GB are kept");
  state_->make_root();
  std::error_code problem;
  fs::create_directories(state_->root / fs::path(piece.folder), problem);
  append(state_->root / inside, piece.bytes, piece.offset == 0);
  state_->bytes += added - dropped;
  state_->sizes[inside] = size - dropped + added;
}

fs::path UserFiles::folder(std::string_view number) const {
  if (!is_folder_number(number)) throw std::invalid_argument("a folder is a number, not '" + std::string(number) + "'");
  const std::scoped_lock lock(state_->mutex);
  fs::path folder = state_->root / number;
  std::error_code ignored;
  if (state_->root.empty() || !fs::is_directory(folder, ignored))
    throw HttpError(404, "there are no files '" + std::string(number) + "'");
  return folder;
}

void UserFiles::clear() noexcept {
  const std::scoped_lock lock(state_->mutex);
  std::error_code ignored;
  if (!state_->root.empty()) fs::remove_all(state_->root, ignored);
  state_->root.clear();
  state_->sizes.clear();
  state_->bytes = 0;
}

}  // namespace attn::server
