#include "verbs/verbs_text.h"

#include <arpa/inet.h>

#include <array>
#include <cstdio>

namespace jccl::verbs {
namespace {

constexpr std::array<const char*, 24> kStatusNames = {"SUCCESS",
                                                      "LOC_LEN_ERR",
                                                      "LOC_QP_OP_ERR",
                                                      "LOC_EEC_OP_ERR",
                                                      "LOC_PROT_ERR",
                                                      "WR_FLUSH_ERR",
                                                      "MW_BIND_ERR",
                                                      "BAD_RESP_ERR",
                                                      "LOC_ACCESS_ERR",
                                                      "REM_INV_REQ_ERR",
                                                      "REM_ACCESS_ERR",
                                                      "REM_OP_ERR",
                                                      "RETRY_EXC_ERR",
                                                      "RNR_RETRY_EXC_ERR",
                                                      "LOC_RDD_VIOL_ERR",
                                                      "REM_INV_RD_REQ_ERR",
                                                      "REM_ABORT_ERR",
                                                      "INV_EECN_ERR",
                                                      "INV_EEC_STATE_ERR",
                                                      "FATAL_ERR",
                                                      "RESP_TIMEOUT_ERR",
                                                      "GENERAL_ERR",
                                                      "TM_ERR",
                                                      "TM_RNDV_INCOMPLETE"};

constexpr double kTimeoutUnitNanos = 4096;

std::string endText(const EndText& end) {
  std::array<char, 16> number{};
  std::snprintf(number.data(), number.size(), "0x%x", end.qpNumber);
  return "device=" + end.device + " gid=" + end.gid + " qp=" + number.data();
}

}  // namespace

std::string gidText(const Gid& gid) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  return ::inet_ntop(AF_INET6, gid.raw, text.data(), text.size()) == nullptr ? "?" : text.data();
}

std::string statusName(int status) {
  if (status >= 0 && static_cast<size_t>(status) < kStatusNames.size())
    return kStatusNames[static_cast<size_t>(status)];
  return "status " + std::to_string(status);
}

const char* likelyCauses(int status) {
  switch (status) {
    case 2:
      return "the adapter could not execute a request of this end: its port is down or has no route to the other end, "
             "or the queue pair is in a wrong state; see the state of the port (rdma link, ibv_devinfo)";
    case 1:
    case 4:
    case 8:
      return "this end used memory that it has not registered, or more than a request may contain: a bug in JCCL, "
             "please report it";
    case kWcWrFlushError:
      return "an earlier failure on this queue pair, or its end at the other rank, discarded this request";
    case 9:
    case 11:
      return "the other end could not execute the request; do both ranks run the same version of JCCL?";
    case kWcRemoteAccessError:
      return "the other end has not registered this memory for writing, or not any more: its communicator is gone, or "
             "the ranks disagree on where data goes";
    case kWcRetryExceeded:
      return "the other end did not acknowledge: its process or host is gone, a cable or port is down, or packets "
             "are lost (RoCE: check PFC/ECN, the GID index (JCCL_IB_GID_INDEX) and that no firewall drops UDP port "
             "4791; a busy fabric may need a larger JCCL_IB_TIMEOUT)";
    case kWcRnrRetryExceeded:
      return "the other end has posted no receive for too long: its process is stopped or starved";
    case 19:
      return "the adapter has failed; see the kernel log";
    case 20:
      return "the other end answered too late";
    default:
      return "see the kernel log, and the vendor's meaning of vendor_error";
  }
}

int64_t retryNanos(int timeout, int retryCount) {
  if (timeout == 0) return 0;
  return static_cast<int64_t>(kTimeoutUnitNanos * static_cast<double>(1ULL << timeout) * (retryCount + 1));
}

std::string completionText(const WorkCompletion& completion, const EndText& local, const EndText& remote, int timeout,
                           int retryCount) {
  std::array<char, 16> vendor{};
  std::snprintf(vendor.data(), vendor.size(), "0x%x", completion.vendorError);
  std::string text = statusName(completion.status) + " (status=" + std::to_string(completion.status) +
                     " vendor_error=" + vendor.data() + ") local {" + endText(local) + "} remote {" + endText(remote) +
                     "}";
  if (completion.status == kWcRetryExceeded) {
    text += " after " + std::to_string(retryCount + 1) + " waits of 4.096 us * 2^" + std::to_string(timeout) +
            " (JCCL_IB_RETRY_CNT=" + std::to_string(retryCount) + " JCCL_IB_TIMEOUT=" + std::to_string(timeout) + ")";
  }
  return text + ": " + likelyCauses(completion.status);
}

}  // namespace jccl::verbs
