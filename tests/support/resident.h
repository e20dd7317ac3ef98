// tests/support/resident.h - the resident memory of this process, as the system reports it.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

namespace attn::test {

// A value of /proc/self/status, such as "RssFile:". -1 if the system does not report it.
inline std::int64_t status_kilobytes(std::string_view field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(field)) return std::stoll(line.substr(field.size()));
  return -1;
}

// Of mapped files.
inline std::int64_t resident_file_kilobytes() { return status_kilobytes("RssFile:"); }

// The largest growth of memory while f ran; -1 if the system does not report it.
template <typename F>
std::int64_t peak_growth_kilobytes(const F& f) {
  std::ofstream("/proc/self/clear_refs") << "5";  // resets the peak
  const std::int64_t before = status_kilobytes("VmHWM:");
  f();
  const std::int64_t after = status_kilobytes("VmHWM:");
  return before < 0 ? -1 : after - before;
}

}  // namespace attn::test
