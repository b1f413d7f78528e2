// NVLS over emulated multicast objects, ranks as threads: what the runtime does with them, and what a driver forbids.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>

#include "cuda/driver/driver.h"
#include "cuda/test/application.h"
#include "cuda/test/device/emulated_gpu.h"
#include "cuda/test/device_runtime_ranks.h"

namespace jccl::test {
namespace {

using device::Issued;

constexpr int64_t kTimeoutNanos = 60'000'000'000;
constexpr int kChannels = 2;

// A device for each rank; before the driver is first called.
[[maybe_unused]] const int devices = ::setenv("JCCL_EMULATED_GPUS", "8", 0);

Choice nvls(uint8_t channels = kChannels) {
  Choice choice;
  choice.algorithm = Algorithm::Nvls;
  choice.channels = channels;
  return choice;
}

struct NvlsRanks : DeviceRuntimeRanks {
  explicit NvlsRanks(int size) : DeviceRuntimeRanks(size, kChannels, size) {
    const Status status = connectNvls();
    EXPECT_TRUE(status.isOk()) << status.message();
  }
};

TEST(Nvls, AllReducesFloatsOnEveryRank) {
  for (const int size : {2, 3, 8}) {
    NvlsRanks ranks(size);
    for (const size_t count : {size_t{1}, size_t{1000}, size_t{30011}}) {
      std::vector<std::vector<float>> buffers(size, std::vector<float>(count));
      for (int rank = 0; rank < size; ++rank) {
        for (size_t i = 0; i < count; ++i) buffers[rank][i] = static_cast<float>(i % 1000 + rank);
      }
      std::vector<Issued> issued;
      for (int rank = 0; rank < size; ++rank) {
        issued.push_back(ranks.rank(rank).run({Collective::AllReduce, DataType::Float32, ReduceOp::Sum}, nvls(),
                                              buffers[rank].data(), buffers[rank].data(), static_cast<int64_t>(count),
                                              0, kTimeoutNanos, ranks.rank(rank).ownStream()));
      }
      for (int rank = 0; rank < size; ++rank) {
        ASSERT_EQ(ranks.await(rank, issued[rank]), Code::Ok) << ranks.rank(rank).lastError();
      }
      for (int rank = 0; rank < size; ++rank) {
        for (size_t i = 0; i < count; ++i) {
          ASSERT_EQ(buffers[rank][i], static_cast<float>(size * (i % 1000) + size * (size - 1) / 2))
              << rank << " " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace jccl::test
