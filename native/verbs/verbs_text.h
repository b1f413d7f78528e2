// What adapters report, for people.
#pragma once

#include <cstdint>
#include <string>

#include "verbs/verbs_api.h"

namespace jccl::verbs {

// One end of a queue pair as an error names it.
struct EndText {
  std::string device;  // "mlx5_0:1"
  std::string gid;     // "::ffff:10.0.0.1", or "lid=3"
  uint32_t qpNumber = 0;
};

// "::ffff:10.77.0.1", "fe80::506b:4bff:fe03:a1"
std::string gidText(const Gid& gid);

// "RETRY_EXC_ERR"
std::string statusName(int status);

// What usually leads to a completion with this status, and what to check.
const char* likelyCauses(int status);

// How long the adapter waits for an acknowledgement before it reports RETRY_EXC_ERR; 0: for ever (timeout 0, and with
// Soft-RoCE retryCount 7).
int64_t retryNanos(int timeout, int retryCount);

// The whole sentence for a failed completion.
std::string completionText(const WorkCompletion& completion, const EndText& local, const EndText& remote, int timeout,
                           int retryCount);

}  // namespace jccl::verbs
