#include "attn/error.h"

#include <utility>

namespace attn {

namespace {
std::string line(const std::string& path, const std::string& problem, std::int64_t offset) {
  return path + (offset == Error::kNowhere ? "" : ", byte " + std::to_string(offset)) + ": " + problem;
}
}  // namespace

Error::Error(std::string path, const std::string& problem, std::int64_t offset)
    : std::runtime_error(line(path, problem, offset)), path_(std::move(path)), offset_(offset) {}

}  // namespace attn
