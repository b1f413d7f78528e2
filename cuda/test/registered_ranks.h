// Ranks that treat each other as ranks of other processes, and register buffers.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "cuda/test/runtime_operations.h"

namespace jccl::test {

inline const Choice kInPlace = onTwoChannels(Algorithm::Direct, Protocol::Simple, Choice::kTryZeroCopy);

struct Layout {
  std::vector<int> processes;  // by rank
  int devices = 2;
  int firstDevice = 0;
  int size() const { return static_cast<int>(processes.size()); }
  int deviceOf(int rank) const { return firstDevice + rank % devices; }
};

// Ranks in a layout, and calls that all of them make together.
class RegisteredRanks : public DeviceRuntimeRanks {
 public:
  explicit RegisteredRanks(const Layout& layout)
      : DeviceRuntimeRanks(layout.size(), 2, layout.devices, layout.processes, layout.firstDevice) {}

  // Registers a buffer of each rank. Returns the first failure; all ranks have then dropped their buffers. Sets
  // `there`[owner][rank] to the address of the owner's buffer in the rank's process.
  Status registerAll(const std::vector<void*>& buffers, size_t bytes, std::vector<uint64_t>& numbers,
                     std::vector<std::vector<uint64_t>>& there) {
    const size_t n = buffers.size();
    std::vector<std::vector<uint8_t>> infos(n);
    std::vector<device::DeviceCommunicator::BufferDescriptors> offered(n);
    there.assign(n, std::vector<uint64_t>(n));
    Status status;
    for (size_t rank = 0; status && rank < n; ++rank) {
      status = at(rank).describeBuffer(buffers[rank], bytes, infos[rank]);
      offered[rank] = at(rank).takeBufferDescriptors();
    }
    for (size_t rank = 0; status && rank < n; ++rank) {
      for (size_t peer = 0; status && peer < n; ++peer) {
        if (peer == rank) continue;
        device::DeviceCommunicator::BufferDescriptors got{UniqueFd(::dup(offered[peer].buffer.get())),
                                                          UniqueFd(::dup(offered[peer].page.get()))};
        status = at(rank).openBuffer(static_cast<int>(peer), infos[peer], std::move(got), kRuntimeLimitNanos,
                                     there[peer][rank]);
      }
    }
    numbers.assign(n, 0);
    for (size_t rank = 0; rank < n; ++rank) {
      const Status one =
          status ? at(rank).useBuffer(there[rank], numbers[rank]) : at(rank).dropBuffer(kRuntimeLimitNanos);
      EXPECT_TRUE(one.isOk()) << one.message();
    }
    return status;
  }
  Status registerAll(const std::vector<void*>& buffers, size_t bytes, std::vector<uint64_t>& numbers) {
    std::vector<std::vector<uint64_t>> there;
    return registerAll(buffers, bytes, numbers, there);
  }
  void closeAll(const std::vector<uint64_t>& numbers) {
    for (size_t rank = 0; rank < numbers.size(); ++rank) {
      const Status closed = at(rank).closeBuffer(numbers[rank], kRuntimeLimitNanos);
      EXPECT_TRUE(closed.isOk()) << closed.message();
    }
  }

  device::Issued issue(int of, OperationCode code, const void* send, void* recv, size_t count) {
    return rank(of).run(code, kInPlace, send, recv, static_cast<int64_t>(count), 0, kRuntimeLimitNanos,
                        rank(of).ownStream());
  }
  void awaitAll(const std::vector<device::Issued>& issued) {
    for (int one = 0; one < size(); ++one) {
      ASSERT_EQ(await(one, issued[one]), Code::Ok) << "rank=" << one << " " << rank(one).lastError();
    }
  }

 private:
  device::DeviceCommunicator& at(size_t of) { return rank(static_cast<int>(of)); }
};

}  // namespace jccl::test
