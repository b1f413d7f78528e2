#include "cuda/test/device/call_counts.h"

#include <numeric>

namespace jccl::emulator {
namespace {

constexpr const char* kNames[] = {
#define JCCL_NAME_CALL(member, name, version, need, parameters) name,
    JCCL_DRIVER_CALLS(JCCL_NAME_CALL)
#undef JCCL_NAME_CALL
};

constinit thread_local CallCounts countsOfThread;

}  // namespace

CallCounts& CallCounts::ofThisThread() { return countsOfThread; }

uint64_t CallCounts::total() const { return std::accumulate(std::begin(counts_), std::end(counts_), uint64_t{0}); }

std::string CallCounts::text() const {
  std::string text;
  for (int i = 0; i < kCalls; ++i) {
    if (counts_[i] == 0) continue;
    if (!text.empty()) text += ", ";
    if (counts_[i] > 1) text += std::to_string(counts_[i]) + " ";
    text += kNames[i];
  }
  return text;
}

}  // namespace jccl::emulator
