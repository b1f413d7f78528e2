// Texts for users about what adapters report.
#pragma once

#include <cstdint>
#include <string>

#include "verbs/verbs_api.h"

namespace jccl::verbs {

// One end of a queue pair, as an error names it.
struct EndText {
  std::string device;  // "mlx5_0:1"
  std::string gid;     // "::ffff:10.0.0.1", or "lid=3"
  uint32_t qpNumber = 0;
};

// Returns a text such as "::ffff:10.77.0.1" or "fe80::506b:4bff:fe03:a1".
std::string gidText(const Gid& gid);

// Returns a text such as "RETRY_EXC_ERR".
std::string statusName(int status);

// Returns the usual causes of a completion with this status, and what to check.
const char* likelyCauses(int status);

// Returns the time in ns for which the adapter waits for an acknowledgement before it reports RETRY_EXC_ERR; 0: for
// ever (timeout 0). Soft-RoCE also waits for ever with retryCount 7, which the result does not show.
int64_t retryNanos(int timeout, int retryCount);

// Returns the whole sentence for a failed completion.
std::string completionText(const WorkCompletion& completion, const EndText& local, const EndText& remote, int timeout,
                           int retryCount);

}  // namespace jccl::verbs
