// Names the resource limit behind a failed system call.
#pragma once

#include <string>

namespace jccl {

// Where the kernel publishes limits; tests have files of their own.
struct LimitFiles {
  std::string proc = "/proc";
  std::string cgroup = "/sys/fs/cgroup";
};

// For an `error` that means "used up": "; " and the limit with its value, what uses it up, and the remedy. Empty for every
// other error. Needs a file descriptor for no limit of descriptors.
std::string limitHint(const std::string& call, int error, const LimitFiles& files = {});

// The limits of threads that apply to this process, with their values: of the user, of every control group, of the host.
std::string threadLimits(const LimitFiles& files = {});

}  // namespace jccl
