#include "base/limit_hint.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>

#include "base/fd.h"

namespace jccl {
namespace {

// Returns the file's content without trailing newlines; empty if the file cannot be read.
std::string contentOf(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string content;
  char part[4096];
  for (ssize_t got; file && (got = ::read(file.get(), part, sizeof part)) > 0;) {
    content.append(part, static_cast<size_t>(got));
  }
  while (!content.empty() && content.back() == '\n') content.pop_back();
  return content;
}

std::string limit(const char* name, decltype(RLIMIT_NOFILE) resource) {
  rlimit values{};
  if (::getrlimit(resource, &values) != 0) return std::string(name) + "=unknown";
  const auto text = [](rlim_t value) { return value == RLIM_INFINITY ? "unlimited" : std::to_string(value); };
  return std::string(name) + "=" + text(values.rlim_cur) + " hard=" + text(values.rlim_max);
}

bool isLimited(decltype(RLIMIT_NOFILE) resource) {
  rlimit values{};
  return ::getrlimit(resource, &values) == 0 && values.rlim_cur != RLIM_INFINITY;
}

std::string sysctl(const LimitFiles& files, const char* name) {
  std::string path = files.proc + "/sys/" + name;
  std::replace(path.begin() + static_cast<std::ptrdiff_t>(files.proc.size()), path.end(), '.', '/');
  std::string value = contentOf(path);
  std::replace(value.begin(), value.end(), '\t', '-');
  return std::string(name) + "=" + (value.empty() ? "unknown" : value);
}

// This process's control group in the version 1 hierarchy with the pids controller or, if there is none, in version 2.
struct Group {
  std::string mount;
  std::string path;
};

Group pidsGroup(const LimitFiles& files) {
  const std::string lines = contentOf(files.proc + "/self/cgroup");
  Group found;
  for (size_t at = 0; at < lines.size();) {
    const size_t end = std::min(lines.find('\n', at), lines.size());
    const std::string line = lines.substr(at, end - at);
    at = end + 1;
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = std::string(",").append(line, first + 1, second - first - 1).append(",");
    const std::string path = line.substr(second + 1);
    if (controllers.find(",pids,") != std::string::npos) return {files.cgroup + "/pids", path};
    if (controllers == ",,") found = {files.cgroup, path};
  }
  return found;
}

// Returns the limits of this process's control group and of all groups above it that have a limit. In a container, the
// path may be that of the host; then only the root of the hierarchy is visible.
std::string groupLimits(const LimitFiles& files) {
  Group group = pidsGroup(files);
  std::string text;
  while (!group.mount.empty()) {
    const std::string folder = group.mount + (group.path == "/" ? "" : group.path);
    const std::string max = contentOf(folder + "/pids.max");
    if (!max.empty() && max != "max") {
      text.append(" pids.current=").append(contentOf(folder + "/pids.current"));
      text.append(" pids.max=").append(max).append(" (").append(folder).append(")");
    }
    const size_t slash = group.path.rfind('/');
    if (group.path.empty() || group.path == "/" || slash == std::string::npos) break;
    group.path.resize(std::max<size_t>(slash, 1));
  }
  return text;
}

std::string threadsOfThisProcess(const LimitFiles& files) {
  const std::string status = contentOf(files.proc + "/self/status");
  const size_t at = status.find("\nThreads:");
  if (at == std::string::npos) return "unknown";
  const size_t begin = status.find_first_of("0123456789", at);
  return status.substr(begin, status.find('\n', begin) - begin);
}

std::string memoryHint(const LimitFiles& files) {
  const std::string maps = contentOf(files.proc + "/self/maps");
  const auto mappings = std::count(maps.begin(), maps.end(), '\n') + (maps.empty() ? 0 : 1);
  return "; no address space or no memory is left: mappings=" + std::to_string(mappings) + " " +
         sysctl(files, "vm.max_map_count") + " " + limit("RLIMIT_AS", RLIMIT_AS) +
         "; raise the one that is reached (sysctl vm.max_map_count, ulimit -v), or give the host or its control group "
         "more memory";
}

bool startsWith(const std::string& text, const char* beginning) { return text.rfind(beginning, 0) == 0; }

bool needsNoRights(const std::string& call) {
  constexpr std::array kCalls = {"memfd_create",   "eventfd",   "epoll_create1", "socket",
                                 "pthread_create", "getrandom", "accept",        "mmap"};
  return std::any_of(kCalls.begin(), kCalls.end(), [&call](const char* one) { return startsWith(call, one); });
}

}  // namespace

std::string threadLimits(const LimitFiles& files) {
  return "threads=" + threadsOfThisProcess(files) + " " + limit("RLIMIT_NPROC", RLIMIT_NPROC) +
         " (ulimit -u, all threads of uid=" + std::to_string(::getuid()) + ")" + groupLimits(files) +
         (isLimited(RLIMIT_AS) ? std::string(" ") + limit("RLIMIT_AS", RLIMIT_AS) : std::string()) + " " +
         sysctl(files, "kernel.threads-max");
}

std::string limitHint(const std::string& call, int error, const LimitFiles& files) {
  switch (error) {
    case EMFILE:
      return "; this process has used all its file descriptors: " + limit("RLIMIT_NOFILE", RLIMIT_NOFILE) +
             "; raise it (ulimit -n, LimitNOFILE= of a service, --ulimit nofile= of a container)";
    case ENFILE:
      return "; the host has used all its file descriptors: " + sysctl(files, "fs.file-max") + "; raise it with sysctl";
    case EAGAIN:
      if (!startsWith(call, "pthread_create")) return "";
      return "; this process may not start another thread: " + threadLimits(files) +
             "; raise the one that is reached (ulimit -u, TasksMax= of a service, --pids-limit of a container)";
    case ENOMEM:
      return startsWith(call, "mmap") || startsWith(call, "mremap") || startsWith(call, "std::bad_alloc")
                 ? memoryHint(files)
                 : "; the host or its control group has no memory left";
    case ENOSPC:
      return startsWith(call, "epoll_ctl")
                 ? "; too many descriptors are watched: " + sysctl(files, "fs.epoll.max_user_watches") +
                       "; raise it with sysctl"
                 : "; the file system is full; free some of it, or make it larger";
    case EDQUOT:
      return "; the user's quota of this file system is used up; free some of it, or raise the quota";
    case EROFS:
      return "; the file system can only be read; mount it writable, or choose another";
    case EADDRINUSE:
    case EADDRNOTAVAIL:
      return startsWith(call, "bind") || startsWith(call, "connect")
                 ? "; ports that the kernel chooses come from " + sysctl(files, "net.ipv4.ip_local_port_range")
                 : "";
    case ENOBUFS:
      return "; the kernel has no memory left for sockets: " + sysctl(files, "net.ipv4.tcp_mem");
    case EPERM:
    case EACCES:
      return needsNoRights(call)
                 ? "; the kernel forbids it to this process: look for a filter of system calls (seccomp "
                   "of the container), SELinux or AppArmor in the host's log"
                 : "";
    default:
      return "";
  }
}

}  // namespace jccl
