// server/store/user_files.h - files that the user opens on the page, in numbered folders. Over HTTP they arrive piece
// by piece and lie in a temporary folder of this process (user_files.cc); in WebAssembly the host holds them
// (user_files_wasm.cc).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace attn::server {

inline constexpr std::int64_t kMostUserBytes = std::int64_t{64} << 30;  // of all files together

// Thread-safe.
class UserFiles {
 public:
  UserFiles();
  ~UserFiles();
  UserFiles(const UserFiles&) = delete;
  UserFiles& operator=(const UserFiles&) = delete;

  struct Piece {
    std::string_view folder;  // a number
    std::string_view name;    // of the file
    std::int64_t offset = 0;  // where the piece begins; 0 begins the file anew
    std::string_view bytes;
  };
  // Appends a piece to its file. Throws std::invalid_argument for a name that is not a plain file name, HttpError with
  // status 409 if the file does not end at `offset`, 413 if there are too many files or bytes, and attn::Error if it
  // cannot be written.
  void write(const Piece& piece);

  // Throws std::invalid_argument if this is not a number, HttpError with status 404 if there is no such folder.
  [[nodiscard]] std::filesystem::path folder(std::string_view number) const;

  // Removes all of it.
  void clear() noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Whether this is the number of a folder: one to nine digits. Nothing else of a request becomes part of a path but a
// plain file name.
bool is_folder_number(std::string_view text) noexcept;
// Letters, digits, '.', '_', '-' and '+', at most 200 of them, and the first is not a '.'.
bool is_plain_file_name(std::string_view text) noexcept;

}  // namespace attn::server
