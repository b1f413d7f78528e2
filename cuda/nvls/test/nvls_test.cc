// Tests of NVLS on emulated multicast objects, with ranks of one process: results, failures, captures, and rules of a
// driver.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>

#include "cuda/device/convert.h"
#include "cuda/driver/driver.h"
#include "cuda/nvls/multicast.h"
#include "cuda/nvls/nvls_algorithm.h"
#include "cuda/nvls/nvls_kernels.h"
#include "cuda/test/application.h"
#include "cuda/test/device/emulated_driver.h"
#include "cuda/test/device/gpu_memory.h"
#include "cuda/test/device_runtime_ranks.h"

namespace jccl::test::nvls_test {
namespace {

using device::Issued;
using driver::Result;

constexpr int64_t kTimeoutNanos = 60'000'000'000;
constexpr int kChannels = 2;
constexpr uint32_t kSlotBytes = 4096;
constexpr OperationCode kSum{Collective::AllReduce, DataType::Float32, ReduceOp::Sum};

// Gives each rank its own device. Set before the first call of the driver, which reads the variable.
[[maybe_unused]] const int devices = ::setenv("JCCL_EMULATED_GPUS", "8", 0);

Choice nvls() {
  Choice choice;
  choice.algorithm = Algorithm::Nvls;
  choice.channels = kChannels;
  return choice;
}

device::NvlsAlgorithm& nvlsOf(DeviceRuntimeRanks& ranks, int rank) {
  return ranks.rank(rank).added<device::NvlsAlgorithm>();
}

// Connects all ranks by a multicast object. Returns the first failure.
Status connectNvls(DeviceRuntimeRanks& ranks) {
  std::vector<uint8_t> info;
  Status status = nvlsOf(ranks, 0).create(kSlotBytes, info);
  for (int rank = 0; rank < ranks.size(); ++rank) {
    if (status) status = nvlsOf(ranks, rank).join(kSlotBytes, info, -1);
  }
  for (int rank = 0; rank < ranks.size(); ++rank) {
    if (status) status = nvlsOf(ranks, rank).bind();
  }
  return status;
}

struct NvlsRanks : DeviceRuntimeRanks {
  explicit NvlsRanks(int size) : DeviceRuntimeRanks(size, kChannels, size) {
    const Status status = connectNvls(*this);
    EXPECT_TRUE(status.isOk()) << status.message();
  }
};

// Stores a small whole number. All types represent these numbers, and sums of 8 of them, exactly.
void put(DataType type, uint8_t* at, int value) {
  const auto as = [&](auto typed) { std::memcpy(at, &typed, sizeof typed); };
  switch (sizeOf(type)) {
    case 1:
      return as(static_cast<uint8_t>(value));
    case 2: {
      if (isInteger(type)) return as(static_cast<uint16_t>(value));
      const float number = static_cast<float>(value);
      return as(
          static_cast<uint16_t>(type == DataType::Float16 ? simt::narrowHalf(number) : simt::narrowBfloat(number)));
    }
    case 4:
      return type == DataType::Float32 ? as(static_cast<float>(value)) : as(value);
    default:
      return type == DataType::Float64 ? as(static_cast<double>(value)) : as(static_cast<int64_t>(value));
  }
}

bool isFloat(DataType type) { return sizeOf(type) >= 2 && !isInteger(type); }

int valueOf(int rank, size_t i) { return static_cast<int>((i * 7 + static_cast<size_t>(rank) * 5) % 16); }

int expected(ReduceOp op, int ranks, size_t i) {
  int result = valueOf(0, i);
  for (int rank = 1; rank < ranks; ++rank) {
    const int value = valueOf(rank, i);
    switch (op) {
      case ReduceOp::Min:
        result = std::min(result, value);
        break;
      case ReduceOp::Max:
        result = std::max(result, value);
        break;
      case ReduceOp::And:
        result &= value;
        break;
      case ReduceOp::Or:
        result |= value;
        break;
      case ReduceOp::Xor:
        result ^= value;
        break;
      default:
        result += value;
    }
  }
  return op == ReduceOp::Avg ? result / ranks : result;
}

// Runs one operation on all ranks, with buffers that begin `skip` elements after an aligned address, and checks the
// results.
void check(NvlsRanks& ranks, OperationCode code, size_t count, size_t skip) {
  const size_t n = static_cast<size_t>(ranks.size()), element = sizeOf(code.type);
  const bool gathers = code.collective == Collective::AllGather,
             scatters = code.collective == Collective::ReduceScatter;
  const size_t sent = scatters ? n * count : count, received = gathers ? n * count : count;
  std::vector<std::vector<uint8_t>> from(n), to(n);
  std::vector<Issued> issued;
  for (size_t rank = 0; rank < n; ++rank) {
    from[rank].resize((sent + skip) * element);
    to[rank].assign((received + skip + 1) * element, 0x5a);
    for (size_t i = 0; i < sent; ++i) {
      put(code.type, &from[rank][(skip + i) * element], valueOf(static_cast<int>(rank), i));
    }
    device::DeviceCommunicator& one = ranks.rank(static_cast<int>(rank));
    ASSERT_EQ(one.adjustChoice(nvls(), code).algorithm, Algorithm::Nvls);
    issued.push_back(one.run(code, nvls(), from[rank].data() + skip * element, to[rank].data() + skip * element,
                             static_cast<int64_t>(count), 0, kTimeoutNanos, one.ownStream()));
  }
  for (size_t rank = 0; rank < n; ++rank) {
    const int r = static_cast<int>(rank);
    ASSERT_EQ(ranks.await(r, issued[rank]), Code::Ok) << ranks.rank(r).lastError();
    std::vector<uint8_t> right((received + 1) * element, 0x5a);
    for (size_t i = 0; i < received; ++i) {
      const int value = gathers ? valueOf(static_cast<int>(i / count), i % count)
                                : expected(code.op, ranks.size(), scatters ? rank * count + i : i);
      put(code.type, &right[i * element], value);
    }
    ASSERT_TRUE(std::equal(right.begin(), right.end(), to[rank].begin() + static_cast<ptrdiff_t>(skip * element)))
        << nameOf(code.collective) << " type=" << static_cast<int>(code.type) << " op=" << static_cast<int>(code.op)
        << " count=" << count << " skip=" << skip << " rank=" << rank;
  }
}

// Skips tests if the chip (JCCL_EMULATED_CHIP) or the driver (JCCL_EMULATED_DRIVER) has no multicast objects.
template <class Base>
class WithMulticast : public Base {
 protected:
  void SetUp() override {
    const bool has = emulator::EmulatedDriver::ofThisProcess().chip().capability >= 90;
    if (!has || driver::driver().multicastCreate == nullptr) GTEST_SKIP() << "no multicast objects";
  }
};

class Nvls : public WithMulticast<::testing::Test> {};
class MulticastRules : public WithMulticast<::testing::Test> {};
class NvlsMatrix : public WithMulticast<::testing::TestWithParam<int>> {};
INSTANTIATE_TEST_SUITE_P(All, NvlsMatrix, ::testing::Values(2, 3, 4, 5, 8));

TEST_P(NvlsMatrix, EveryOperationGivesTheExactResultOnAllRanks) {
  NvlsRanks ranks(GetParam());
  size_t cases = 0;
  for (const Collective collective : {Collective::AllReduce, Collective::ReduceScatter, Collective::AllGather}) {
    for (int type = 0; type < kDataTypeCount; ++type) {
      for (int op = 0; op < kReduceOpCount; ++op) {
        const OperationCode code{collective, static_cast<DataType>(type), static_cast<ReduceOp>(op)};
        if (!code.valid() || !device::nvlsExecutes(code)) continue;
        if (code.op == ReduceOp::Avg && isFloat(code.type)) continue;  // Java's tests compare quotients with the host's
        if (collective == Collective::AllGather && (op != 0 || sizeOf(code.type) == 1)) continue;
        constexpr size_t kCounts[] = {0, 1, 77, 1003, 5000};
        check(ranks, code, kCounts[cases % std::size(kCounts)], cases / std::size(kCounts) % 2);
        if (HasFatalFailure()) return;
        ++cases;
      }
    }
  }
  EXPECT_GT(cases, size_t{40});
}

// Lets the driver pass memory as descriptors, which multicast objects need for windows.
struct Descriptors {
  Descriptors() { ::setenv("JCCL_EMULATED_SHARING", "descriptors", 1); }
  ~Descriptors() { ::unsetenv("JCCL_EMULATED_SHARING"); }
};

// Ranks with a symmetric window each, on which the switch works.
struct WindowedRanks : private Descriptors, public NvlsRanks {
  static constexpr size_t kBytes = size_t{1} << 20;

  explicit WindowedRanks(int size) : NvlsRanks(size) {
    std::vector<uint64_t> here;
    for (int rank = 0; rank < size; ++rank) {
      uint8_t* memory = nullptr;
      const Status status = this->rank(rank).allocateWindow(kBytes, kTimeoutNanos, memory);
      EXPECT_TRUE(status.isOk()) << status.message();
      windows.push_back(memory);
      here.push_back(reinterpret_cast<uint64_t>(memory));
    }
    std::vector<uint8_t> info;
    Status status = nvlsOf(*this, 0).createWindow(windows[0], info);
    for (int rank = 0; rank < size; ++rank) {
      if (status) status = this->rank(rank).useWindow(windows[rank], here, {});
      if (status) status = nvlsOf(*this, rank).joinWindow(windows[rank], info, -1);
    }
    for (int rank = 0; rank < size; ++rank) {
      if (status) status = nvlsOf(*this, rank).bindWindow(windows[rank]);
    }
    EXPECT_TRUE(status.isOk()) << status.message();
  }
  void dropAll() {
    for (int rank = 0; rank < size(); ++rank) {
      nvlsOf(*this, rank).dropWindow(windows[rank]);
      EXPECT_TRUE(this->rank(rank).freeWindow(windows[rank]).isOk());
    }
  }

  std::vector<uint8_t*> windows;
};

// Runs one operation with inputs and outputs at `sendAt` and `recvAt` of the windows; -1: in other memory. The last rank
// uses places `shift` bytes further.
void checkWindows(WindowedRanks& ranks, OperationCode code, size_t count, int64_t sendAt, int64_t recvAt,
                  size_t shift) {
  const size_t n = static_cast<size_t>(ranks.size()), element = sizeOf(code.type);
  const bool gathers = code.collective == Collective::AllGather,
             scatters = code.collective == Collective::ReduceScatter;
  const size_t sent = scatters ? n * count : count, received = gathers ? n * count : count;
  std::vector<std::vector<uint8_t>> outside(n);
  std::vector<uint8_t*> to(n);
  std::vector<Issued> issued;
  for (size_t rank = 0; rank < n; ++rank) {
    const size_t skip = rank == n - 1 ? shift : 0;
    outside[rank].resize((sent + received) * element + 16);
    uint8_t* const from = sendAt < 0 ? outside[rank].data() : ranks.windows[rank] + sendAt + skip;
    to[rank] =
        recvAt < 0 ? outside[rank].data() + (sent * element + 15) / 16 * 16 : ranks.windows[rank] + recvAt + skip;
    for (size_t i = 0; i < sent; ++i) put(code.type, from + i * element, valueOf(static_cast<int>(rank), i));
    device::DeviceCommunicator& one = ranks.rank(static_cast<int>(rank));
    issued.push_back(
        one.run(code, nvls(), from, to[rank], static_cast<int64_t>(count), 0, kTimeoutNanos, one.ownStream()));
  }
  for (size_t rank = 0; rank < n; ++rank) {
    const int r = static_cast<int>(rank);
    ASSERT_EQ(ranks.await(r, issued[rank]), Code::Ok) << ranks.rank(r).lastError();
    std::vector<uint8_t> right(received * element);
    for (size_t i = 0; i < received; ++i) {
      const int value = gathers ? valueOf(static_cast<int>(i / count), i % count)
                                : expected(code.op, ranks.size(), scatters ? rank * count + i : i);
      put(code.type, &right[i * element], value);
    }
    ASSERT_TRUE(std::equal(right.begin(), right.end(), to[rank]))
        << nameOf(code.collective) << " type=" << static_cast<int>(code.type) << " op=" << static_cast<int>(code.op)
        << " count=" << count << " sendAt=" << sendAt << " recvAt=" << recvAt << " shift=" << shift << " rank=" << rank;
  }
}

TEST_P(NvlsMatrix, EveryPlaceInWindowsGivesTheExactResult) {
  WindowedRanks ranks(GetParam());
  constexpr int64_t kSecond = WindowedRanks::kBytes / 2;
  struct Place {
    int64_t send, recv;
    size_t shift;
  };
  for (const Collective collective : {Collective::AllReduce, Collective::ReduceScatter, Collective::AllGather}) {
    for (const auto& [type, op] : {std::pair{DataType::Int32, ReduceOp::Sum},
                                   {DataType::Float16, ReduceOp::Sum},
                                   {DataType::Uint64, ReduceOp::Max},
                                   {DataType::Int64, ReduceOp::Avg}}) {
      for (const size_t count : {8, 1001, 5000}) {  // also one that is no multiple of 16 bytes
        for (const Place& at : {Place{0, kSecond, 0}, {0, kSecond, 32}, {64, -1, 0}, {-1, 128, 0}}) {
          checkWindows(ranks, {collective, type, op}, count, at.send, at.recv, at.shift);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
  checkWindows(ranks, {Collective::AllReduce, DataType::Int32, ReduceOp::Sum}, 4000, 0, 0, 0);  // in place
  ranks.dropAll();
  for (int rank = 0; rank < ranks.size(); ++rank) ranks.windows[rank] = nullptr;
  checkWindows(ranks, {Collective::AllReduce, DataType::Int32, ReduceOp::Sum}, 5000, -1, -1, 0);
}

TEST_F(Nvls, MemoryThatIsNoWindowGetsNoMulticastAddress) {
  NvlsRanks ranks(2);
  std::vector<uint8_t> info;
  const uint8_t other = 0;
  const Status status = nvlsOf(ranks, 0).createWindow(&other, info);
  EXPECT_NE(status.message().find("not behind a descriptor"), std::string::npos) << status.message();
}

TEST_F(Nvls, OperationsThatTheSwitchDoesNotReduceUseARing) {
  NvlsRanks ranks(2);
  for (const OperationCode code : {OperationCode{Collective::AllReduce, DataType::Float32, ReduceOp::Max},
                                   OperationCode{Collective::AllReduce, DataType::Int64, ReduceOp::Prod},
                                   OperationCode{Collective::AllReduce, DataType::Int8, ReduceOp::Sum},
                                   OperationCode{Collective::AllReduce, DataType::Int16, ReduceOp::Sum},
                                   OperationCode{Collective::AllReduce, DataType::Float8E4m3, ReduceOp::Sum},
                                   OperationCode{Collective::Broadcast, DataType::Int32, ReduceOp::Sum}}) {
    EXPECT_EQ(ranks.rank(0).adjustChoice(nvls(), code).algorithm, Algorithm::Ring) << code.encode();
  }
  DeviceRuntimeRanks without(2, kChannels, 2);
  EXPECT_EQ(without.rank(0).adjustChoice(nvls(), kSum).algorithm, Algorithm::Ring);
}

Issued allReduce(NvlsRanks& ranks, int rank, std::vector<float>& buffer, size_t count, int64_t timeoutNanos,
                 device::Stream stream = nullptr) {
  device::DeviceCommunicator& one = ranks.rank(rank);
  return one.run(kSum, nvls(), buffer.data(), buffer.data(), static_cast<int64_t>(count), 0, timeoutNanos,
                 stream == nullptr ? one.ownStream() : stream);
}

TEST_F(Nvls, AnAbsentRankIsNamedAndTheOthersEnd) {
  NvlsRanks ranks(3);
  std::vector<std::vector<float>> buffers(3, std::vector<float>(5000, 1));
  std::vector<Issued> issued;
  for (const int rank : {0, 1}) issued.push_back(allReduce(ranks, rank, buffers[rank], 5000, 200'000'000));
  for (const int rank : {0, 1}) {
    EXPECT_EQ(ranks.await(rank, issued[rank]), Code::Timeout);
    const auto waiting = ranks.rank(rank).waiting();
    ASSERT_FALSE(waiting.empty());
    EXPECT_EQ(waiting[0].place.peer, 2);
  }
}

TEST_F(Nvls, AnAbortEndsTheKernel) {
  NvlsRanks ranks(2);
  std::vector<float> buffer(5000, 1);
  const Issued issued = allReduce(ranks, 0, buffer, 5000, kTimeoutNanos);
  ranks.rank(0).abort(Code::Aborted);
  EXPECT_EQ(ranks.await(0, issued), Code::Aborted);
}

TEST_F(Nvls, DifferentCountsAreAMismatch) {
  NvlsRanks ranks(2);
  std::vector<std::vector<float>> buffers(2, std::vector<float>(5000, 1));
  const Issued first = allReduce(ranks, 0, buffers[0], 5000, 2'000'000'000);
  const Issued second = allReduce(ranks, 1, buffers[1], 4999, 2'000'000'000);
  EXPECT_EQ(ranks.await(0, first), Code::Mismatch);
  EXPECT_EQ(ranks.await(1, second), Code::Mismatch);
}

TEST_F(Nvls, GraphsAreReplayed) {
  constexpr int kSize = 3, kCount = 3000;
  NvlsRanks ranks(kSize);
  std::vector<std::vector<float>> buffers(kSize, std::vector<float>(kCount, 1));
  const Application application;
  std::vector<device::Graph> graphs(kSize);
  std::vector<device::Stream> streams(kSize);
  for (int rank = 0; rank < kSize; ++rank) {
    const device::DeviceGuard guard(rank);
    ASSERT_TRUE(device::createStream(streams[rank]).isOk());
    ASSERT_TRUE(device::beginCapture(streams[rank]).isOk());
    ASSERT_EQ(allReduce(ranks, rank, buffers[rank], kCount, kTimeoutNanos, streams[rank]).code, Code::Ok);
    ASSERT_TRUE(device::endCapture(streams[rank], graphs[rank]).isOk());
  }
  for (int replay = 0; replay < 4; ++replay) {
    for (int rank = 0; rank < kSize; ++rank) {
      const device::DeviceGuard guard(rank);
      ASSERT_TRUE(device::launchGraph(graphs[rank], streams[rank]).isOk());
    }
  }
  for (int rank = 0; rank < kSize; ++rank) {
    const device::DeviceGuard guard(rank);
    ASSERT_TRUE(device::synchronize(streams[rank]).isOk());
    for (const float value : buffers[rank]) ASSERT_EQ(value, 81.0f);
    ASSERT_TRUE(device::destroyGraph(graphs[rank]).isOk());
    ASSERT_TRUE(device::destroyStream(streams[rank]).isOk());
  }
}

TEST_F(Nvls, IsDroppedIfARankCannotJoin) {
  DeviceRuntimeRanks ranks(2, kChannels, 1);  // both on one device, which can join a team only once
  const Status status = connectNvls(ranks);
  EXPECT_NE(status.message().find("cuMulticastAddDevice: device=0"), std::string::npos) << status.message();
  for (int rank = 0; rank < 2; ++rank) nvlsOf(ranks, rank).drop();
  EXPECT_EQ(ranks.rank(0).adjustChoice(nvls(), kSum).algorithm, Algorithm::Ring);
}

// A test of each reduction finds a switch that computes it wrongly.
TEST_F(Nvls, AWrongReductionOfTheSwitchIsNamed) {
  const std::vector<std::pair<simt::SwitchReduction, std::string>> all{
      {simt::SwitchReduction::SumInt32, "with sum"},
      {simt::SwitchReduction::SumInt64, "int64 with sum"},
      {simt::SwitchReduction::MinInt32, "int32 with min"},
      {simt::SwitchReduction::MinUint32, "uint32 with min"},
      {simt::SwitchReduction::MinInt64, "int64 with min"},
      {simt::SwitchReduction::MinUint64, "uint64 with min"},
      {simt::SwitchReduction::MaxInt32, "int32 with max"},
      {simt::SwitchReduction::MaxUint32, "uint32 with max"},
      {simt::SwitchReduction::MaxInt64, "int64 with max"},
      {simt::SwitchReduction::MaxUint64, "uint64 with max"},
      {simt::SwitchReduction::And, "uint64 with band"},
      {simt::SwitchReduction::Or, "uint64 with bor"},
      {simt::SwitchReduction::Xor, "uint64 with bxor"},
      {simt::SwitchReduction::SumFloat16, "float16 with sum"},
      {simt::SwitchReduction::SumBfloat16, "bfloat16 with sum"},
      {simt::SwitchReduction::SumFloat32, "float32 with sum"},
      {simt::SwitchReduction::SumFloat64, "float64 with sum"},
  };
  constexpr int kRanks = 3;
  const auto test = [](NvlsRanks& ranks) {
    std::vector<Status> results(kRanks);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < kRanks; ++rank) {
      threads.emplace_back([&, rank] { results[rank] = nvlsOf(ranks, rank).test(kTimeoutNanos); });
    }
    for (std::thread& thread : threads) thread.join();
    return results;
  };
  {
    NvlsRanks ranks(kRanks);
    for (const Status& status : test(ranks)) EXPECT_TRUE(status.isOk()) << status.message();
  }
  for (const auto& [reduction, named] : all) {
    NvlsRanks ranks(kRanks);
    simt::emulated::wrongReduction = static_cast<int>(reduction);
    const std::vector<Status> results = test(ranks);
    simt::emulated::wrongReduction = -1;
    for (const Status& status : results) {
      EXPECT_NE(status.message().find(named == "with sum" ? "all_reduce by nvls" : "all_reduce of " + named),
                std::string::npos)
          << named << ": " << status.message();
    }
  }
}

// The emulated driver refuses the calls that a real driver refuses.
TEST_F(MulticastRules, AreThoseOfADriver) {
  const device::DeviceGuard guard(0);
  ASSERT_TRUE(guard.status().isOk());
  const auto& calls = driver::driver();
  constexpr size_t kBytes = 2 * emulator::kGpuPageBytes;
  driver::MulticastProperties properties{2, kBytes + 1, driver::kPosixDescriptor, 0};
  driver::Allocation object = 0;
  EXPECT_EQ(calls.multicastCreate(&object, &properties), Result::InvalidValue);  // not whole pages
  properties.bytes = kBytes;
  properties.handleTypes = 0;
  EXPECT_EQ(calls.multicastCreate(&object, &properties), Result::InvalidValue);  // no handle type
  properties.handleTypes = driver::kPosixDescriptor;
  ASSERT_EQ(calls.multicastCreate(&object, &properties), Result::Success);
  driver::AllocationProperties ofDevice{};
  ofDevice.location = {1, 0};
  driver::Allocation memory = 0, foreign = 0, hidden = 0;
  ASSERT_EQ(calls.allocationCreate(&hidden, kBytes, &ofDevice, 0), Result::Success);
  ofDevice.handleTypes = driver::kPosixDescriptor;
  ASSERT_EQ(calls.allocationCreate(&memory, kBytes, &ofDevice, 0), Result::Success);
  ofDevice.location.id = 2;
  ASSERT_EQ(calls.allocationCreate(&foreign, kBytes, &ofDevice, 0), Result::Success);
  driver::Address address = 0;
  ASSERT_EQ(calls.addressReserve(&address, kBytes, 0, 0, 0), Result::Success);

  ASSERT_EQ(calls.multicastAddDevice(object, 0), Result::Success);
  EXPECT_EQ(calls.multicastAddDevice(object, 0), Result::InvalidValue);              // twice
  EXPECT_EQ(calls.multicastBind(object, 0, memory, 0, kBytes, 0), Result::Unknown);  // a driver would wait
  EXPECT_EQ(calls.memoryMap(address, kBytes, 0, object, 0), Result::InvalidValue);   // before all devices are added
  ASSERT_EQ(calls.multicastAddDevice(object, 1), Result::Success);
  EXPECT_EQ(calls.multicastAddDevice(object, 2), Result::InvalidValue);                      // a third device of two
  EXPECT_EQ(calls.multicastBind(object, 0, foreign, 0, kBytes, 0), Result::InvalidValue);    // device not in the team
  EXPECT_EQ(calls.multicastBind(object, 4096, memory, 0, kBytes, 0), Result::InvalidValue);  // not whole pages
  EXPECT_EQ(calls.multicastBind(object, 0, memory, 0, 2 * kBytes, 0), Result::InvalidValue);
  EXPECT_EQ(calls.multicastBind(object, 0, object, 0, kBytes, 0), Result::InvalidValue);  // not from cuMemCreate
  EXPECT_EQ(calls.multicastUnbind(object, 0, 0, kBytes), Result::InvalidValue);           // nothing is bound
  ASSERT_EQ(calls.multicastBind(object, 0, memory, 0, kBytes, 0), Result::Success);
  EXPECT_EQ(calls.multicastBind(object, 0, memory, 0, kBytes, 0), Result::InvalidValue);  // twice
  ASSERT_EQ(calls.memoryMap(address, kBytes, 0, object, 0), Result::Success);
  EXPECT_EQ(calls.memoryUnmap(address, kBytes), Result::Success);
  EXPECT_EQ(calls.multicastUnbind(object, 0, 0, kBytes), Result::Success);

  EXPECT_EQ(calls.multicastBind(object, 0, hidden, 0, kBytes, 0), Result::InvalidValue);  // memory without handle type
  EXPECT_EQ(calls.addressFree(address, kBytes), Result::Success);
  for (const driver::Allocation one : {object, hidden, memory, foreign}) {
    EXPECT_EQ(calls.allocationRelease(one), Result::Success);
  }
}

}  // namespace
}  // namespace jccl::test::nvls_test
