// Ranks with symmetric memory, as threads of one process or as ranks that treat each other as ranks of other processes.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "cuda/test/application.h"
#include "cuda/test/registered_ranks.h"

namespace jccl::test {

inline constexpr size_t kWindowBytes = size_t{1} << 20;

// Ranks with a window each. If `processes` is true, each rank is a process of its own.
class Windows {
 public:
  Windows(int size, bool processes) : layout_{{}, std::min(size, 2)} {
    for (int rank = 0; rank < size; ++rank) layout_.processes.push_back(processes ? rank : 0);
    if (processes) {
      registered_ = std::make_unique<RegisteredRanks>(layout_);
      ranks_ = registered_.get();
    } else {
      threads_ = std::make_unique<DeviceRuntimeRanks>(size, 2, layout_.devices);
      ranks_ = threads_.get();
    }
    for (int rank = 0; rank < size; ++rank) {
      uint8_t* memory = nullptr;
      const Status status = at(rank).allocateWindow(kWindowBytes, kRuntimeLimitNanos, memory);
      EXPECT_TRUE(status.isOk()) << status.message();
      windows_.push_back(memory);
    }
    // here[rank][peer] is the address of the peer's window in the rank's process.
    const size_t n = static_cast<size_t>(size);
    std::vector<std::vector<uint64_t>> here(n, std::vector<uint64_t>(n)), there;
    if (processes) {
      std::vector<uint64_t> numbers;
      const Status status = registered_->registerAll({windows_.begin(), windows_.end()}, kWindowBytes, numbers, there);
      EXPECT_TRUE(status.isOk()) << status.message();
    }
    for (size_t rank = 0; rank < n; ++rank) {
      for (size_t peer = 0; peer < n; ++peer) {
        here[rank][peer] = processes && peer != rank ? there[peer][rank] : reinterpret_cast<uint64_t>(windows_[peer]);
      }
      const Status status =
          at(static_cast<int>(rank))
              .useWindow(windows_[rank], here[rank], processes ? there[rank] : std::vector<uint64_t>{});
      EXPECT_TRUE(status.isOk()) << status.message();
    }
  }

  int size() const { return layout_.size(); }
  device::DeviceCommunicator& at(int rank) { return ranks_->rank(rank); }
  DeviceRuntimeRanks& ranks() { return *ranks_; }
  const Application& application(int rank) {
    while (static_cast<int>(applications_.size()) <= rank) {
      applications_.push_back(std::make_unique<Application>(layout_.deviceOf(static_cast<int>(applications_.size()))));
    }
    return *applications_[rank];
  }
  float* window(int rank, size_t offset = 0) { return reinterpret_cast<float*>(windows_[rank] + offset); }

  device::Issued issue(int rank, OperationCode code, const float* send, float* recv, size_t count,
                       uint16_t flags = Choice::kTryCopies, int64_t timeoutNanos = kRuntimeLimitNanos) {
    const Algorithm other = (flags & Choice::kTryZeroCopy) != 0 ? Algorithm::Direct : Algorithm::Ring;
    return at(rank).run(code, onTwoChannels(other, Protocol::Simple, flags), send, recv, static_cast<int64_t>(count), 0,
                        timeoutNanos, at(rank).ownStream());
  }

 private:
  Layout layout_;
  std::unique_ptr<RegisteredRanks> registered_;
  std::unique_ptr<DeviceRuntimeRanks> threads_;
  DeviceRuntimeRanks* ranks_ = nullptr;
  std::vector<uint8_t*> windows_;
  std::vector<std::unique_ptr<Application>> applications_;
};

}  // namespace jccl::test
