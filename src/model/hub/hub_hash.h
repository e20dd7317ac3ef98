// model/hub/hub_hash.h - the two hashes by which the hub names files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace attn::model {

// Whether text is such a hash in lower-case hexadecimal: sha256 of the content (64 digits, large files), or git's sha1
// of a blob (40 digits, all others).
bool is_sha256(std::string_view text) noexcept;
bool is_git_sha1(std::string_view text) noexcept;

// Throw attn::Error if the file cannot be read. `pulse` is called periodically; if it throws, hashing ends.
std::string sha256_of_file(const std::filesystem::path& file, const std::function<void()>& pulse = {});
std::string git_sha1_of_file(const std::filesystem::path& file, const std::function<void()>& pulse = {});

}  // namespace attn::model
