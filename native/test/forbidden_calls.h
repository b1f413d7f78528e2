// Makes system calls fail in a child process of a test, as containers and older kernels do.
#pragma once

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <functional>
#include <vector>

namespace jccl::test {

// A system call that fails with `error` if all `bits` are set in the argument with this index; with bits 0, the call
// always fails.
struct ForbiddenCall {
  long number;
  int argument;
  uint32_t bits;
  int error;
};

// PROCMAP_QUERY, which older kernels refuse with ENOTTY.
constexpr uint32_t kIoctlOfMappings = _IOWR('f', 17, char[104]);
inline const ForbiddenCall kNoMappingQuery{SYS_ioctl, 1, kIoctlOfMappings, ENOTTY};
// Makes lstat fail, but not fstat and stat, whose flags differ.
inline const ForbiddenCall kNoLinkFacts{SYS_newfstatat, 3, AT_SYMLINK_NOFOLLOW, EPERM};

inline bool forbid(const std::vector<ForbiddenCall>& calls) {
  std::vector<sock_filter> program;
  for (const ForbiddenCall& call : calls) {
    program.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(call.number), 0, 4));
    const uint32_t low = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0 : 4;
    program.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                               static_cast<uint32_t>(offsetof(seccomp_data, args) +
                                                     static_cast<size_t>(call.argument) * sizeof(uint64_t) + low)));
    program.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, call.bits));
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call.bits, 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<uint32_t>(call.error)));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

// Runs `body` in a child process in which these calls fail. Returns the result of `body`: the line that went wrong, or
// 0. Returns -1 if calls cannot be forbidden on this host, -2 if the child was killed.
inline int inProcessWithout(const std::vector<ForbiddenCall>& calls, const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(forbid(calls) ? body() : 255);
  int status = 0;
  if (::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -2;
  return WEXITSTATUS(status) == 255 ? -1 : WEXITSTATUS(status);
}

}  // namespace jccl::test
