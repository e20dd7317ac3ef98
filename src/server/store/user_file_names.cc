#include <algorithm>

#include "server/store/user_files.h"

namespace attn::server {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_plain(char c) {
  return is_digit(c) || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '.' || c == '_' || c == '-' ||
         c == '+';
}

}  // namespace

bool is_folder_number(std::string_view text) noexcept {
  return !text.empty() && text.size() <= 9 && std::ranges::all_of(text, is_digit);
}

bool is_plain_file_name(std::string_view text) noexcept {
  return !text.empty() && text.size() <= 200 && text.front() != '.' && std::ranges::all_of(text, is_plain);
}

}  // namespace attn::server
