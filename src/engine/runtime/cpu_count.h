// engine/runtime/cpu_count.h - how many threads this process can keep busy.
#pragma once

#include <limits>
#include <string>

namespace attn {

// ATTNSCOPE_THREADS if it is a whole number from 1 to 1024; else the cores that the scheduler lets this process use, or
// fewer if its control group has a smaller quota. At least 1.
int cpu_count();

// The quota in cores, rounded up, of the control groups named by `membership` (the text of /proc/self/cgroup) and of
// all groups above them, in the file tree `root` (/sys/fs/cgroup). Versions 1 and 2. kNoQuota if nothing limits.
inline constexpr int kNoQuota = std::numeric_limits<int>::max();
int cgroup_quota(const std::string& root, const std::string& membership);

}  // namespace attn
