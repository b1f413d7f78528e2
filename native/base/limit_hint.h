// Names the resource limit that made a system call fail.
#pragma once

#include <string>

namespace jccl {

// Directories in which the kernel publishes limits. Tests pass other ones.
struct LimitFiles {
  std::string proc = "/proc";
  std::string cgroup = "/sys/fs/cgroup";
};

// If `error` means that a resource is used up or that the kernel forbids `call`, returns "; ", the limit with its
// value, and the remedy. Otherwise returns "". EMFILE is explained without opening a file.
std::string limitHint(const std::string& call, int error, const LimitFiles& files = {});

// Returns the thread limits that apply to this process, with their values: those of the user, of each control group, of
// the host.
std::string threadLimits(const LimitFiles& files = {});

}  // namespace jccl
