#include "model/hub/hub_hash.h"

#include <openssl/evp.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <vector>

#include "attn/error.h"
#include "base/new_file.h"
#include "base/read_file.h"

namespace attn::model {

namespace {

bool is_hex(std::string_view text, std::size_t length) noexcept {
  return text.size() == length &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

class Digest {
 public:
  explicit Digest(const EVP_MD* kind) : context_(EVP_MD_CTX_new()) {
    check(context_ != nullptr && EVP_DigestInit_ex(context_.get(), kind, nullptr) == 1);
  }
  void add(const void* data, std::size_t bytes) { check(EVP_DigestUpdate(context_.get(), data, bytes) == 1); }
  std::string hex() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
    unsigned count = 0;
    check(EVP_DigestFinal_ex(context_.get(), bytes.data(), &count) == 1);
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    for (unsigned i = 0; i < count; ++i) {
      text += kDigits[bytes[i] >> 4];
      text += kDigits[bytes[i] & 15];
    }
    return text;
  }

 private:
  struct Free {
    void operator()(EVP_MD_CTX* context) const noexcept { EVP_MD_CTX_free(context); }
  };
  static void check(bool worked) {
    if (!worked) throw std::runtime_error("OpenSSL failed to compute a hash");
  }
  std::unique_ptr<EVP_MD_CTX, Free> context_;
};

std::string finish(Digest& digest, const base::OpenFile& file, const std::string& path,
                   const std::function<void()>& pulse) {
  std::vector<char> buffer(std::size_t{1} << 20);
  for (;;) {
    if (pulse) pulse();
    const ssize_t n = ::read(file.descriptor(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw Error(path, "cannot be read: " + base::system_words(errno));
    if (n == 0) return digest.hex();
    digest.add(buffer.data(), static_cast<std::size_t>(n));
  }
}

}  // namespace

bool is_sha256(std::string_view text) noexcept { return is_hex(text, 64); }
bool is_git_sha1(std::string_view text) noexcept { return is_hex(text, 40); }

std::string sha256_of_file(const std::filesystem::path& file, const std::function<void()>& pulse) {
  const base::OpenFile open(file);
  Digest digest(EVP_sha256());
  return finish(digest, open, file.string(), pulse);
}

std::string git_sha1_of_file(const std::filesystem::path& file, const std::function<void()>& pulse) {
  const base::OpenFile open(file);
  Digest digest(EVP_sha1());
  const std::string header = "blob " + std::to_string(open.bytes());
  digest.add(header.c_str(), header.size() + 1);  // git terminates it with a zero byte
  return finish(digest, open, file.string(), pulse);
}

}  // namespace attn::model
