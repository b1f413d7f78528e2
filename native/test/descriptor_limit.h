// Leaves the process of a test without a free file descriptor.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <string>

namespace jccl::test {

// The undefined-behaviour sanitizer opens a pipe to inspect an object. If it cannot, it reports a wrong type.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitizerNeedsDescriptors = true;
#else
constexpr bool kSanitizerNeedsDescriptors = false;
#endif

// While an instance exists, calls that open a descriptor fail with EMFILE, unless an open one is closed first.
class NoMoreDescriptors {
 public:
  NoMoreDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const int lowestFree = ::dup(STDIN_FILENO);
    ::close(lowestFree);
    limit_ = static_cast<rlim_t>(lowestFree);
    const rlimit none{limit_, before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoMoreDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  // The limit as messages print it.
  std::string text() const { return "RLIMIT_NOFILE=" + std::to_string(limit_); }
  rlim_t limit() const { return limit_; }
  NoMoreDescriptors(const NoMoreDescriptors&) = delete;
  NoMoreDescriptors& operator=(const NoMoreDescriptors&) = delete;

 private:
  rlimit before_{};
  rlim_t limit_ = 0;
};

}  // namespace jccl::test
