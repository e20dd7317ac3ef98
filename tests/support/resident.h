// support/resident.h - how much of mapped files is in this process's memory.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

namespace attn::test {

// -1 where the system does not say.
inline std::int64_t resident_file_kilobytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("RssFile:")) return std::stoll(line.substr(8));
  return -1;
}

}  // namespace attn::test
