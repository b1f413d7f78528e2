// Tests that the emulated driver is as strict as a real one can be. Calls that break one of its rules fail or deadlock,
// and work waits as the rules say.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "cuda/driver/driver.h"
#include "cuda/kernels/image.h"
#include "cuda/test/application.h"
#include "cuda/test/device/chips.h"
#include "cuda/test/device/emulated_driver.h"
#include "cuda/test/device/stream_captures.h"
#include "cuda/test/device_runtime_ranks.h"
#include "cuda/test/runtime_operations.h"

namespace jccl::test::driver_rules_test {
namespace {

using driver::CaptureMode;
using driver::CaptureStatus;
using driver::driver;
using driver::Result;
using emulator::EmulatedDriver;
using emulator::EmulatedGpu;
using emulator::GpuFailure;

constexpr auto kMoment = std::chrono::milliseconds(30);
constexpr int64_t kLongTimeout = 60'000'000'000;

// Launches one block of 64 threads.
Result launchOn(driver::Stream stream, driver::Function function, void** arguments) {
  const driver::LaunchConfig config{1, 1, 1, 64, 1, 1, 0, stream, nullptr, 0};
  return driver().launch(&config, function, arguments, nullptr);
}

// Tests on a thread of an application: the primary context of device 0 is current, as after cudaSetDevice.
class DriverRules : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(driver().status.isOk()) << driver().status.message();
    driver::Context primary = nullptr;
    ASSERT_EQ(driver().primaryContext(&primary, 0), Result::Success);
    ASSERT_EQ(driver().pushContext(primary), Result::Success);
  }
  void TearDown() override {
    driver::Context context = nullptr;
    ASSERT_EQ(driver().popContext(&context), Result::Success);
  }

  static driver::Stream newStream(unsigned flags = driver::kStreamNonBlocking) {
    driver::Stream stream = nullptr;
    EXPECT_EQ(driver().streamCreate(&stream, flags), Result::Success);
    return stream;
  }
  static driver::Event recordedOn(driver::Stream stream) {
    driver::Event event = nullptr;
    EXPECT_EQ(driver().eventCreate(&event, driver::kEventDisableTiming), Result::Success);
    EXPECT_EQ(driver().eventRecord(event, stream), Result::Success);
    return event;
  }
  static bool comes(driver::Event event, std::chrono::milliseconds within = std::chrono::seconds(20)) {
    const auto deadline = std::chrono::steady_clock::now() + within;
    while (driver().eventQuery(event) == Result::NotReady) {
      if (std::chrono::steady_clock::now() >= deadline) return false;
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    return true;
  }
};

// A kernel that waits for another rank until it is aborted.
class Spinning {
 public:
  explicit Spinning(driver::Stream stream, int channels = 1) : ranks_(2, channels, 2), buffer_(64, 1.0f) {
    Choice choice;
    choice.protocol = Protocol::LL;
    choice.channels = static_cast<uint8_t>(channels);
    issued_ = ranks_.rank(0).run({Collective::AllReduce, DataType::Float32, ReduceOp::Sum}, choice, buffer_.data(),
                                 buffer_.data(), static_cast<int64_t>(buffer_.size()), 0, kLongTimeout, stream);
    EXPECT_EQ(issued_.code, Code::Ok) << ranks_.rank(0).lastError();
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (ranks_.rank(0).waiting().empty() && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_FALSE(ranks_.rank(0).waiting().empty());
  }
  void end() {
    ranks_.rank(0).abort(Code::Aborted);
    (void)ranks_.await(0, issued_);
  }

 private:
  DeviceRuntimeRanks ranks_;  // each rank on its own device
  std::vector<float> buffer_;
  device::Issued issued_;
};

// Tests whose calls deadlock. The emulated GPUs are reset after each test.
class Deadlocks : public DriverRules {
 protected:
  void TearDown() override {
    EmulatedGpu::ofThisProcess().reset();
    DriverRules::TearDown();
  }

  // Expects that the call reports a deadlock, because it waits for a kernel that does not end.
  template <class Call>
  static void expectDeadlock(const std::string& name, Call&& call) {
    EmulatedGpu::ofThisProcess().setLongestWait(std::chrono::milliseconds(200));
    EXPECT_EQ(call(), Result::Unknown);
    EmulatedGpu::ofThisProcess().setLongestWait(std::chrono::minutes(2));
    expectDeadlockOf(name);
  }
  static void expectDeadlockOf(const std::string& call) {
    EXPECT_EQ(EmulatedGpu::ofThisProcess().failure(), GpuFailure::Deadlock);
    const std::string why = EmulatedGpu::ofThisProcess().whyFailed();
    EXPECT_NE(why.find(call + " waits for kernels"), std::string::npos) << why;
    EXPECT_NE(why.find("it was called by"), std::string::npos) << why;
    EXPECT_NE(why.find("rank 0 jccl_collective_ll_float32, block 0"), std::string::npos) << why;
    EXPECT_NE(why.find("wait in a loop"), std::string::npos) << why;
  }
};

// A context on each of two devices; the first may have access to memory of the second.
class PeerContexts {
 public:
  PeerContexts() : second_(EmulatedDriver::ofThisProcess().makeContext(1)) {
    first_ = EmulatedDriver::ofThisProcess().makeContext(0);
    driver::Context popped = nullptr;
    (void)driver().popContext(&popped);
    (void)driver().popContext(&popped);
  }
  ~PeerContexts() {
    for (const driver::Context context : {first_, second_}) EmulatedDriver::ofThisProcess().destroyContext(context);
  }
  Result enable() {
    return here(first_, [&] { return driver().enablePeerAccess(second_, 0); });
  }
  Result allocateOnSecond() {
    driver::Address memory = 0;
    return here(second_, [&] { return driver().memoryAllocate(&memory, 4096); });
  }
  // Allocates memory that only the second device can use.
  Result mapOnSecond() {
    return here(second_, [&] {
      device::DescriptorMemory memory;
      const Status status = device::allocateMapped(4096, memory);
      EXPECT_TRUE(status.isOk()) << status.message();
      return status ? Result::Success : Result::Unknown;
    });
  }

 private:
  template <class Call>
  static Result here(driver::Context context, Call&& call) {
    (void)driver().pushContext(context);
    const Result result = call();
    driver::Context popped = nullptr;
    (void)driver().popContext(&popped);
    return result;
  }

  driver::Context second_, first_;
};

// cuCtxEnablePeerAccess maps later allocations on the device that has the access, too.
TEST_F(Deadlocks, AllocatingWaitsForKernelsOfADeviceWithPeerAccess) {
  PeerContexts contexts;
  ASSERT_EQ(contexts.enable(), Result::Success);
  EXPECT_EQ(contexts.enable(), Result::PeerAccessAlreadyEnabled);
  Spinning kernel(newStream());
  EXPECT_EQ(contexts.mapOnSecond(), Result::Success);
  expectDeadlock("cuMemAlloc", [&] { return contexts.allocateOnSecond(); });
}

TEST_F(Deadlocks, EnablingPeerAccessWaitsForKernels) {
  PeerContexts contexts;
  Spinning kernel(newStream());
  EXPECT_EQ(contexts.allocateOnSecond(), Result::Success);
  expectDeadlock("cuCtxEnablePeerAccess", [&] { return contexts.enable(); });
}

TEST_F(DriverRules, PotentiallyUnsafeCallsAreForbiddenDuringACapture) {
  const driver::Stream stream = newStream(), other = newStream();
  const driver::Event event = recordedOn(other);
  ASSERT_TRUE(comes(event));
  alignas(4096) static char page[4096];
  void* pinned = nullptr;
  driver::Address memory = 0;
  struct Call {
    const char* name;
    std::function<Result()> body;
  };
  const Call calls[] = {
      {"cuEventQuery", [&] { return driver().eventQuery(event); }},
      {"cuMemAlloc", [&] { return driver().memoryAllocate(&memory, 4096); }},
      {"cuMemHostAlloc", [&] { return driver().hostAllocate(&pinned, 4096, 0); }},
      {"cuMemHostRegister", [&] { return driver().hostRegister(page, sizeof page, 0); }},
      {"cuStreamSynchronize", [&] { return driver().streamSynchronize(other); }},
  };
  const auto capture = [&](CaptureMode mode, const Call& call, bool onAnotherThread, bool relaxed) {
    EXPECT_EQ(driver().streamBeginCapture(stream, mode), Result::Success);
    Result result = Result::Success;
    const auto body = [&] {
      CaptureMode exchanged = relaxed ? CaptureMode::Relaxed : CaptureMode::Global;
      EXPECT_EQ(driver().exchangeCaptureMode(&exchanged), Result::Success);
      result = call.body();
      EXPECT_EQ(driver().exchangeCaptureMode(&exchanged), Result::Success);
    };
    if (onAnotherThread) {
      driver::Context context = nullptr;
      EXPECT_EQ(driver().currentContext(&context), Result::Success);
      std::thread([&] {
        EXPECT_EQ(driver().pushContext(context), Result::Success);
        body();
      }).join();
    } else {
      body();
    }
    driver::Graph graph = nullptr;
    const Result ended = driver().streamEndCapture(stream, &graph);
    const bool allowed = result == Result::Success;
    EXPECT_TRUE(allowed || result == Result::StreamCaptureUnsupported);
    EXPECT_EQ(ended, allowed ? Result::Success : Result::StreamCaptureInvalidated);
    if (graph != nullptr) {
      EXPECT_EQ(driver().graphDestroy(graph), Result::Success);
    }
    if (allowed && call.name == std::string("cuMemHostRegister")) {
      EXPECT_EQ(driver().hostUnregister(page), Result::Success);
    }
    return allowed;
  };
  for (const Call& call : calls) {
    SCOPED_TRACE(call.name);
    EXPECT_FALSE(capture(CaptureMode::Global, call, false, false));
    EXPECT_FALSE(capture(CaptureMode::Global, call, true, false));
    EXPECT_FALSE(capture(CaptureMode::ThreadLocal, call, false, false));
    EXPECT_TRUE(capture(CaptureMode::ThreadLocal, call, true, false));
    EXPECT_TRUE(capture(CaptureMode::Relaxed, call, false, false));
    EXPECT_TRUE(capture(CaptureMode::Global, call, false, true));
    EXPECT_TRUE(capture(CaptureMode::Global, call, true, true));
  }
}

// During a capture, a driver for CUDA 13.0 refuses queries of a stream's id and flags in all modes and on all threads.
TEST_F(DriverRules, OnlyTheContextOfACapturedStreamCanBeQueried) {
  const driver::Stream stream = newStream();
  unsigned long long id = 0;  // NOLINT(google-runtime-int): as the driver has it
  unsigned flags = 0;
  driver::Context context = nullptr;
  const std::function<Result()> questions[] = {[&] { return driver().streamId(stream, &id); },
                                               [&] { return driver().streamFlags(stream, &flags); }};
  for (const CaptureMode mode : {CaptureMode::Global, CaptureMode::ThreadLocal, CaptureMode::Relaxed}) {
    for (const auto& question : questions) {
      driver::Graph graph = nullptr;
      EXPECT_EQ(question(), Result::Success);
      ASSERT_EQ(driver().streamBeginCapture(stream, mode), Result::Success);
      EXPECT_EQ(driver().streamContext(stream, &context), Result::Success);
      CaptureMode relaxed = CaptureMode::Relaxed;
      EXPECT_EQ(driver().exchangeCaptureMode(&relaxed), Result::Success);
      EXPECT_EQ(question(), Result::StreamCaptureUnsupported);
      EXPECT_EQ(driver().exchangeCaptureMode(&relaxed), Result::Success);
      EXPECT_EQ(driver().streamEndCapture(stream, &graph), Result::StreamCaptureInvalidated);
    }
  }
}

TEST_F(DriverRules, ACaptureIsEndedByItsThreadAndIsolated) {
  const driver::Stream stream = newStream(), other = newStream();
  driver::Event before = recordedOn(other);
  driver::Graph graph = nullptr;
  ASSERT_EQ(driver().streamBeginCapture(stream, CaptureMode::ThreadLocal), Result::Success);
  Result result = Result::Success;
  std::thread([&] { result = driver().streamEndCapture(stream, &graph); }).join();
  EXPECT_EQ(result, Result::StreamCaptureWrongThread);
  EXPECT_EQ(driver().streamWaitEvent(stream, before, 0), Result::StreamCaptureIsolation);
  CaptureStatus status = CaptureStatus::None;
  EXPECT_EQ(driver().streamIsCapturing(stream, &status), Result::Success);
  EXPECT_EQ(status, CaptureStatus::Invalidated);
  EXPECT_EQ(driver().eventRecord(before, stream), Result::StreamCaptureInvalidated);
  EXPECT_EQ(driver().streamEndCapture(stream, &graph), Result::StreamCaptureInvalidated);
  EXPECT_EQ(driver().streamBeginCapture(nullptr, CaptureMode::Relaxed), Result::StreamCaptureUnsupported);
}

TEST_F(DriverRules, AStreamJoinsACaptureByAnEventAndMustBeWaitedFor) {
  const driver::Stream origin = newStream(), joined = newStream();
  std::vector<uint32_t> words(2);
  driver::Address places[] = {reinterpret_cast<uintptr_t>(words.data()), reinterpret_cast<uintptr_t>(&words[1])};
  const auto capture = [&](bool back, bool more) {
    driver::Graph graph = nullptr;
    EXPECT_EQ(driver().streamBeginCapture(origin, CaptureMode::ThreadLocal), Result::Success);
    EXPECT_EQ(driver().streamWaitEvent(joined, recordedOn(origin), 0), Result::Success);
    CaptureStatus status = CaptureStatus::None;
    EXPECT_EQ(driver().streamIsCapturing(joined, &status), Result::Success);
    EXPECT_EQ(status, CaptureStatus::Active);
    EXPECT_EQ(driver().copyAsync(places[1], places[0], 4, joined), Result::Success);
    EXPECT_EQ(driver().streamEndCapture(joined, &graph), Result::StreamCaptureUnmatched);
    const driver::Event done = recordedOn(joined);
    if (more) {
      EXPECT_EQ(driver().copyAsync(places[1], places[0], 4, joined), Result::Success);
    }
    if (back) {
      EXPECT_EQ(driver().streamWaitEvent(origin, done, 0), Result::Success);
    }
    const Result result = driver().streamEndCapture(origin, &graph);
    EXPECT_EQ(driver().streamIsCapturing(joined, &status), Result::Success);
    EXPECT_EQ(status, CaptureStatus::None);
    if (result != Result::Success) return result;
    driver::ExecutableGraph ready = nullptr;
    EXPECT_EQ(driver().graphInstantiate(&ready, graph, 0), Result::Success);
    EXPECT_EQ(driver().graphDestroy(graph), Result::Success);
    words = {7, 0};
    EXPECT_EQ(driver().graphLaunch(ready, origin), Result::Success);
    EXPECT_EQ(driver().streamSynchronize(origin), Result::Success);
    EXPECT_EQ(words[1], 7u);
    EXPECT_EQ(driver().streamWaitEvent(joined, done, 0), Result::StreamCaptureIsolation) << "the capture has ended";
    return driver().executableDestroy(ready);
  };
  EXPECT_EQ(capture(true, false), Result::Success);
  EXPECT_EQ(capture(true, true), emulator::StreamCaptures::kUnjoined);
  EXPECT_EQ(capture(false, false), emulator::StreamCaptures::kUnjoined);
}

TEST_F(DriverRules, StreamsOfOneHardwareQueueBeginInTheirOrder) {
  const int queues = driver().hardwareQueues;
  ASSERT_EQ(queues, 32) << "the library sets CUDA_DEVICE_MAX_CONNECTIONS unless it is set";
  std::vector<driver::Stream> streams;
  for (int i = 0; i <= queues; ++i) streams.push_back(newStream());
  Spinning kernel(streams.front());
  const driver::Event behind = recordedOn(streams.back()), beside = recordedOn(streams[1]);
  EXPECT_TRUE(comes(beside));
  EXPECT_FALSE(comes(behind, kMoment));
  kernel.end();
  EXPECT_TRUE(comes(behind));
}

TEST_F(DriverRules, ADestroyedStreamFinishesItsWorkWhileItsHandleIsAnotherStreams) {
  const driver::Stream first = newStream();
  Spinning kernel(first);
  const driver::Event behind = recordedOn(first);
  EXPECT_EQ(driver().streamDestroy(first), Result::Success);
  const driver::Stream second = newStream();
  EXPECT_EQ(second, first);
  EXPECT_TRUE(comes(recordedOn(second)));
  EXPECT_FALSE(comes(behind, kMoment));
  kernel.end();
  EXPECT_TRUE(comes(behind));
}

TEST_F(DriverRules, TheDefaultStreamWaitsForBlockingStreamsOnly) {
  const driver::Stream blocking = newStream(0);
  Spinning kernel(blocking);
  // Records the other stream's event first: the two streams may share a hardware queue, whose items begin in order.
  const driver::Event onOther = recordedOn(newStream()), onDefault = recordedOn(nullptr);
  EXPECT_TRUE(comes(onOther));
  EXPECT_FALSE(comes(onDefault, kMoment));
  kernel.end();
  EXPECT_TRUE(comes(onDefault));
}

TEST_F(Deadlocks, AllocatingWaitsForKernels) {
  Spinning kernel(newStream());
  driver::Address memory = 0;
  expectDeadlock("cuMemAlloc", [&] { return driver().memoryAllocate(&memory, 4096); });
}

TEST_F(Deadlocks, FreeingWaitsForKernels) {
  driver::Address memory = 0;
  ASSERT_EQ(driver().memoryAllocate(&memory, 4096), Result::Success);
  Spinning kernel(newStream());
  expectDeadlock("cuMemFree", [&] { return driver().memoryFree(memory); });
}

TEST_F(Deadlocks, PinningWaitsForKernels) {
  Spinning kernel(newStream());
  void* memory = nullptr;
  expectDeadlock("cuMemHostAlloc", [&] { return driver().hostAllocate(&memory, 4096, driver::kHostAllocPortable); });
}

TEST_F(Deadlocks, UnregisteringWaitsForKernels) {
  alignas(4096) static char page[4096];
  ASSERT_EQ(driver().hostRegister(page, sizeof page, 0), Result::Success);
  {
    Spinning kernel(newStream());
    expectDeadlock("cuMemHostUnregister", [&] { return driver().hostUnregister(page); });
  }
  EmulatedGpu::ofThisProcess().reset();
  EXPECT_EQ(driver().hostUnregister(page), Result::Success);
}

TEST_F(Deadlocks, LoadingAModuleWaitsForKernels) {
  Spinning kernel(newStream());
  driver::Module module = nullptr;
  expectDeadlock("cuModuleLoadData", [&] { return driver().moduleLoad(&module, device::imageOf("collective_ll")); });
}

// The first launch of a function loads it, unless an earlier call has loaded it.
TEST_F(Deadlocks, TheFirstLaunchOfAFunctionLoadsItAndWaits) {
  driver::Module module = nullptr;
  ASSERT_EQ(driver().moduleLoad(&module, device::imageOf("collective_ll")), Result::Success);
  driver::Function loaded = nullptr, lazy = nullptr;
  ASSERT_EQ(driver().moduleFunction(&loaded, module, "jccl_collective_ll_int8"), Result::Success);
  ASSERT_EQ(driver().moduleFunction(&lazy, module, "jccl_collective_ll_int32"), Result::Success);
  int registers = 0;
  // A query of an attribute loads the function. Drivers before 12.4 have this call, but no cuFuncLoad.
  ASSERT_EQ(driver().functionAttribute(&registers, driver::FunctionAttribute::Registers, loaded), Result::Success);
  Spinning kernel(newStream());
  EXPECT_EQ(driver().functionAttribute(&registers, driver::FunctionAttribute::Registers, loaded), Result::Success);
  EXPECT_GT(registers, 32);
  device::Launch launch{};
  launch.code = {Collective::AllReduce, DataType::Int32, ReduceOp::Sum};
  launch.choice.protocol = Protocol::LL;
  void* arguments[] = {&launch};
  expectDeadlock("cuLaunchKernelEx, which loads the kernel first,",
                 [&] { return launchOn(newStream(), lazy, arguments); });
}

// An access to memory that a kernel may not access ends the kernel, and all later calls fail.
class IllegalAccess : public Deadlocks {
 protected:
  static Code copies(const void* from, void* to) {
    DeviceRuntimeRanks ranks(2);
    return ranks.await(0, copyByKernel(ranks, 0, from, to, 1000 * sizeof(float), ranks.rank(0).ownStream()));
  }
  static void expectIllegal(const void* from, void* to) {
    EXPECT_EQ(copies(from, to), Code::System);
    EXPECT_EQ(EmulatedGpu::ofThisProcess().failure(), GpuFailure::IllegalAddress);
    driver::Stream stream = nullptr;
    EXPECT_EQ(driver().streamCreate(&stream, driver::kStreamNonBlocking), Result::Success);
    EXPECT_EQ(driver().streamSynchronize(stream), Result::IllegalAddress);
  }
};

TEST_F(IllegalAccess, AllocatedMemoryIsLegal) {
  driver::Address from = 0, to = 0;
  ASSERT_EQ(driver().memoryAllocate(&from, 4000), Result::Success);
  ASSERT_EQ(driver().memoryAllocate(&to, 4000), Result::Success);
  EXPECT_EQ(copies(reinterpret_cast<void*>(from), reinterpret_cast<void*>(to)), Code::Ok);
  EXPECT_EQ(driver().memoryFree(from), Result::Success);
  EXPECT_EQ(driver().memoryFree(to), Result::Success);
}

TEST_F(IllegalAccess, FreedMemoryIsIllegal) {
  driver::Address from = 0, to = 0;
  ASSERT_EQ(driver().memoryAllocate(&from, 4000), Result::Success);
  ASSERT_EQ(driver().memoryAllocate(&to, 4000), Result::Success);
  ASSERT_EQ(driver().memoryFree(to), Result::Success);
  expectIllegal(reinterpret_cast<void*>(from), reinterpret_cast<void*>(to));
}

TEST_F(IllegalAccess, MemoryOfAnotherDevicesPoolIsIllegal) {
  driver::Context other = nullptr;
  ASSERT_EQ(driver().primaryContext(&other, 1), Result::Success);
  const Result enabled = driver().enablePeerAccess(other, 0);
  ASSERT_TRUE(enabled == Result::Success || enabled == Result::PeerAccessAlreadyEnabled);
  void *pool = nullptr, *to = nullptr;
  ASSERT_TRUE(emulator::allocateFromPool(other, 4000, pool).isOk());
  driver::Address own = 0;
  ASSERT_EQ(driver().memoryAllocate(&own, 4000), Result::Success);
  to = reinterpret_cast<void*>(own);
  expectIllegal(pool, to);
}

TEST_F(IllegalAccess, MappedMemoryWithoutAccessIsIllegal) {
  const driver::AllocationProperties properties{1, 0, {1, 0}, nullptr, 0, 0, 0, {}};
  size_t unit = 0;
  ASSERT_EQ(driver().allocationGranularity(&unit, &properties, driver::kRecommendedGranularity), Result::Success);
  driver::Allocation allocation = 0;
  driver::Address address = 0;
  ASSERT_EQ(driver().allocationCreate(&allocation, unit, &properties, 0), Result::Success);
  ASSERT_EQ(driver().addressReserve(&address, unit, 0, 0, 0), Result::Success);
  ASSERT_EQ(driver().memoryMap(address, unit, 0, allocation, 0), Result::Success);
  std::vector<float> to(1000);
  expectIllegal(reinterpret_cast<void*>(address), to.data());
  EmulatedGpu::ofThisProcess().reset();
  const driver::MemoryAccess users[] = {{{1, 0}, driver::kAccessReadWrite}};
  ASSERT_EQ(driver().memoryAccess(address, unit, users, 1), Result::Success);
  EXPECT_EQ(copies(reinterpret_cast<void*>(address), to.data()), Code::Ok);
  EXPECT_EQ(driver().memoryUnmap(address, unit), Result::Success);
  expectIllegal(reinterpret_cast<void*>(address), to.data());
  EXPECT_EQ(driver().addressFree(address, unit), Result::Success);
  EXPECT_EQ(driver().allocationRelease(allocation), Result::Success);
}

// The expected numbers were computed by hand from the occupancy tables of the CUDA C Programming Guide.
TEST(Chips, HaveAsManyBlocksAsTheirResourcesAllow) {
  struct Row {
    const char* chip;
    emulator::KernelNeeds needs;
    int threads, carveout, blocks;
  };
  const Row rows[] = {
      {"T4", {168, 16896}, 256, 32 << 10, 1},    // registers: 8 warps of 5376, 43 008 of 65 536 for one block
      {"T4", {64, 1024}, 256, 64 << 10, 4},      // limit of 1024 threads
      {"T4", {16, 16896}, 64, 32 << 10, 1},      // shared memory
      {"A100", {64, 0}, 256, 164 << 10, 4},      // registers: 32 warps
      {"A100", {32, 1024}, 32, 164 << 10, 32},   // limit of 32 blocks
      {"A100", {16, 40960}, 128, 164 << 10, 4},  // shared memory: 41 984 bytes of 167 936
      {"L4", {32, 0}, 256, 100 << 10, 6},        // limit of 1536 threads
      {"H100", {168, 16864}, 384, 228 << 10, 1}, {"B200", {168, 16864}, 384, 228 << 10, 1},
  };
  for (const Row& row : rows) {
    for (const emulator::Chip& chip : emulator::kChips) {
      if (std::string(chip.name) != row.chip) continue;
      EXPECT_EQ(emulator::residentBlocks(chip, row.needs, row.threads, row.carveout), row.blocks)
          << row.chip << " registers=" << row.needs.registers << " threads=" << row.threads;
    }
  }
}

// A kernel of one block that ends at once, because its rank has failed. The constructor launches it once to load it.
class Short {
 public:
  Short(driver::Stream stream, int carveoutPercent) : stream_(stream) {
    driver::Module module = nullptr;
    EXPECT_EQ(driver().moduleLoad(&module, device::imageOf("collective_ll")), Result::Success);
    EXPECT_EQ(driver().moduleFunction(&function_, module, "jccl_collective_ll_float32"), Result::Success);
    EXPECT_EQ(
        driver().setFunctionAttribute(function_, driver::FunctionAttribute::PreferredSharedCarveout, carveoutPercent),
        Result::Success);
    channel_.record = &record_;
    launch_.channels = &channel_;
    launch_.control = {{&words_, 1}, 0, 1, 1, &report_};
    launch_.code = {Collective::AllReduce, DataType::Float32, ReduceOp::Sum};
    launch_.choice.protocol = Protocol::LL;
    launch();
    EXPECT_EQ(driver().streamSynchronize(stream_), Result::Success);
  }
  void launch() {
    void* arguments[] = {&launch_};
    EXPECT_EQ(launchOn(stream_, function_, arguments), Result::Success);
  }

 private:
  driver::Stream stream_;
  driver::Function function_ = nullptr;
  device::Launch launch_{};
  ControlWords words_{0, static_cast<uint32_t>(Code::Aborted)};
  device::LaunchReport report_{};
  device::ProgressRecord record_{};
  device::DeviceChannel channel_{};
};

constexpr int kCarveout = 50;  // carve-out that the library's kernels prefer, in percent

// If the blocks of a kernel fill the device, another kernel begins only after these blocks have ended.
TEST_F(DriverRules, AKernelBeginsWhenAllItsBlocksFit) {
  int resident = 0;
  {
    const device::DeviceGuard guard(0);
    ASSERT_TRUE(device::residentBlocks(64, resident).isOk());
  }
  const int slots = resident * EmulatedDriver::ofThisProcess().chip().multiprocessors;
  if (slots > 32) GTEST_SKIP() << "slots=" << slots << ", expected at most 32: this test fills small chips only";
  const driver::Stream stream = newStream();
  Short other(stream, kCarveout);
  for (const bool fits : {true, false}) {
    Spinning kernel(newStream(), fits ? slots - 1 : slots);
    other.launch();
    const driver::Event ended = recordedOn(stream);
    EXPECT_EQ(fits ? comes(ended) : comes(ended, kMoment), fits);
    kernel.end();
    EXPECT_TRUE(comes(ended));
  }
}

// Multiprocessors keep their carve-out while a kernel runs. A kernel that needs a different carve-out waits.
TEST_F(DriverRules, KernelsOfDifferentCarveoutsDoNotRunTogether) {
  const driver::Stream stream = newStream();
  Short other(stream, 2 * kCarveout);
  Spinning kernel(newStream());
  other.launch();
  const driver::Event ended = recordedOn(stream);
  EXPECT_FALSE(comes(ended, kMoment));
  kernel.end();
  EXPECT_TRUE(comes(ended));
}

TEST_F(DriverRules, StreamsAndEventsBelongToTheirContext) {
  driver::Context own = EmulatedDriver::ofThisProcess().makeContext(0);
  ASSERT_NE(own, nullptr);
  const driver::Stream stream = newStream();
  driver::Context popped = nullptr;
  ASSERT_EQ(driver().popContext(&popped), Result::Success);
  ASSERT_EQ(popped, own);
  driver::Event event = nullptr;
  ASSERT_EQ(driver().eventCreate(&event, driver::kEventDisableTiming), Result::Success);
  EXPECT_EQ(driver().eventRecord(event, stream), Result::InvalidHandle);
  // The library's message names the stream's context and the context that it expects.
  DeviceRuntimeRanks ranks(1);
  std::vector<float> buffer(8);
  const device::Issued issued = ranks.rank(0).run({Collective::AllReduce, DataType::Float32, ReduceOp::Sum}, Choice(),
                                                  buffer.data(), buffer.data(), 8, 0, kLongTimeout, stream);
  EXPECT_EQ(issued.code, Code::Invalid);
  EXPECT_NE(ranks.rank(0).lastError().find("cuCtxCreate"), std::string::npos) << ranks.rank(0).lastError();
  EmulatedDriver::ofThisProcess().destroyContext(own);
}

// The library works in the device's primary context, and the thread keeps the other context that is current.
TEST_F(DriverRules, TheLibraryWorksFromAThreadWithAnotherContext) {
  driver::Context own = EmulatedDriver::ofThisProcess().makeContext(0);
  ASSERT_NE(own, nullptr);
  DeviceRuntimeRanks ranks(2);
  std::vector<float> buffers[2] = {std::vector<float>(100, 1), std::vector<float>(100, 2)};
  device::Issued issued[2];
  for (int rank = 0; rank < 2; ++rank) {
    issued[rank] =
        ranks.rank(rank).run({Collective::AllReduce, DataType::Float32, ReduceOp::Sum}, Choice(), buffers[rank].data(),
                             buffers[rank].data(), 100, 0, kLongTimeout, ranks.rank(rank).ownStream());
  }
  for (int rank = 0; rank < 2; ++rank) EXPECT_EQ(ranks.await(rank, issued[rank]), Code::Ok);
  EXPECT_EQ(buffers[0], std::vector<float>(100, 3));
  driver::Context popped = nullptr;
  ASSERT_EQ(driver().popContext(&popped), Result::Success);
  EXPECT_EQ(popped, own);
  EmulatedDriver::ofThisProcess().destroyContext(own);
}

}  // namespace
}  // namespace jccl::test::driver_rules_test
