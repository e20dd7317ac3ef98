// engine/runtime/cpu_count.h - how many threads this process can keep busy.
#pragma once

#include <limits>
#include <string>

namespace attn {

// ATTNSCOPE_THREADS if it is an integer from 1 to 1024; otherwise the number of cores in the affinity of this process,
// or fewer if its control group has a smaller quota. At least 1.
int cpu_count();

// The quota in cores, rounded up, of the control groups named by `membership` (the text of /proc/self/cgroup) and of
// all groups above them, in the file tree `root` (/sys/fs/cgroup). Versions 1 and 2. kNoQuota if there is no limit.
inline constexpr int kNoQuota = std::numeric_limits<int>::max();
int cgroup_quota(const std::string& root, const std::string& membership);

}  // namespace attn
