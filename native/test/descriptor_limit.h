// A process of a test that has no file descriptor left.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <string>

namespace jccl::test {

// The undefined-behaviour sanitizer opens a pipe to look at an object, and takes it for one of a wrong type if it cannot.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitizerNeedsDescriptors = true;
#else
constexpr bool kSanitizerNeedsDescriptors = false;
#endif

// While one is there, calls that make a descriptor fail with EMFILE, unless one that was open is closed first.
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
  // As messages have it.
  std::string text() const { return "RLIMIT_NOFILE=" + std::to_string(limit_); }
  rlim_t limit() const { return limit_; }
  NoMoreDescriptors(const NoMoreDescriptors&) = delete;
  NoMoreDescriptors& operator=(const NoMoreDescriptors&) = delete;

 private:
  rlimit before_{};
  rlim_t limit_ = 0;
};

}  // namespace jccl::test
