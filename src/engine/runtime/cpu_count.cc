// engine/runtime/cpu_count.cc - counts usable cores from the environment, the affinity and control groups.
#include "engine/runtime/cpu_count.h"

#if defined(__linux__)
#include <sched.h>
#endif

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <thread>
#include <vector>

namespace attn {
namespace {

std::optional<double> read_number(std::istream& in) {
  double x = 0;
  return in >> x ? std::optional(x) : std::nullopt;
}

int quota_to_cores(std::optional<double> quota, std::optional<double> period) {
  if (!quota || !period || *quota <= 0 || *period <= 0) return kNoQuota;  // version 1 has -1 for no limit
  return static_cast<int>(std::clamp(std::ceil(*quota / *period), 1.0, 1e6));
}

// The quota of one directory: version 2 has both numbers in one file ("max 100000" is no limit), version 1 in two.
int quota_of(const std::string& directory) {
  if (std::ifstream both(directory + "/cpu.max"); both) {
    const auto quota = read_number(both);
    return quota_to_cores(quota, read_number(both));
  }
  std::ifstream quota(directory + "/cpu.cfs_quota_us");
  std::ifstream period(directory + "/cpu.cfs_period_us");
  return quota_to_cores(read_number(quota), read_number(period));
}

// The directories of a group and all its parents. A container sees paths of the host that do not exist inside it; its
// own group is then the root, where the list ends in any case.
int quota_upwards(const std::string& root, std::string path) {
  int quota = kNoQuota;
  for (;;) {
    while (!path.empty() && path.back() == '/') path.pop_back();
    quota = std::min(quota, quota_of(root + path));
    if (path.empty()) return quota;
    path.erase(path.find_last_of('/') == std::string::npos ? 0 : path.find_last_of('/'));
  }
}

bool lists_cpu(std::string_view controllers) {
  while (!controllers.empty()) {
    const auto comma = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, comma) == "cpu") return true;
    controllers.remove_prefix(std::min(comma + 1, controllers.size()));
  }
  return false;
}

std::optional<int> threads_from_environment() {
  const char* text = std::getenv("ATTNSCOPE_THREADS");
  if (text == nullptr) return std::nullopt;
  const std::string_view s(text);
  int n = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), n);
  if (error != std::errc{} || end != s.data() + s.size() || n < 1 || n > 1024) return std::nullopt;
  return n;
}

int affinity_count() {
#if defined(__linux__)
  for (int cpus = 1024; cpus <= 1 << 20; cpus *= 2) {  // the call fails if the set is smaller than the kernel's
    std::vector<cpu_set_t> set(static_cast<std::size_t>(cpus) / CPU_SETSIZE);
    const auto bytes = set.size() * sizeof(cpu_set_t);
    if (sched_getaffinity(0, bytes, set.data()) == 0) return std::max(1, CPU_COUNT_S(bytes, set.data()));
  }
#endif
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace

int cgroup_quota(const std::string& root, const std::string& membership) {
  int quota = quota_upwards(root, "");
  std::istringstream lines(membership);
  for (std::string line; std::getline(lines, line);) {  // "4:cpu,cpuacct:/path", or "0::/path" in version 2
    const auto first = line.find(':');
    const auto second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const auto controllers = line.substr(first + 1, second - first - 1);
    const auto path = line.substr(second + 1);
    if (controllers.empty()) quota = std::min(quota, quota_upwards(root, path));
    if (lists_cpu(controllers))
      for (const auto& mount : {root + "/" + controllers, root + "/cpu"})
        quota = std::min(quota, quota_upwards(mount, path));
  }
  return quota;
}

int cpu_count() {
  if (const auto asked = threads_from_environment()) return *asked;
  std::ifstream self("/proc/self/cgroup");
  std::ostringstream membership;
  if (self) membership << self.rdbuf();
  return std::min(affinity_count(), cgroup_quota("/sys/fs/cgroup", membership.str()));
}

}  // namespace attn
