#include <stdexcept>

#include "server/http/request.h"
#include "server/store/user_files.h"

namespace attn::server {

struct UserFiles::State {};

UserFiles::UserFiles() = default;
UserFiles::~UserFiles() = default;

void UserFiles::write(const Piece&) { throw std::invalid_argument("the page itself holds the files here"); }

std::filesystem::path UserFiles::folder(std::string_view number) const {
  if (!is_folder_number(number)) throw std::invalid_argument("a folder is a number, not '" + std::string(number) + "'");
  std::filesystem::path folder = std::filesystem::path("/files") / number;
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored))
    throw HttpError(404, "there are no files '" + std::string(number) + "'");
  return folder;
}

void UserFiles::clear() noexcept {}

}  // namespace attn::server
