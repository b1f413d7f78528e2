// Tests of waiting kernels that are aborted, time out or meet a different operation, and of LL flags that wrap.
#include "cuda/test/compared_cases.h"
#include "cuda/test/device_ranks.h"
#include "cuda/test/emulated_collective.h"
#include "cuda/test/emulated_kernels.h"

namespace jccl::test::failures_test {
namespace {

// Blocks fail with different codes at the same time. Once a block has seen a result, the result never changes.
TEST(FailingBlocks, TheFirstCodeStays) {
  constexpr unsigned kBlocks = 4, kThreads = 64;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    emulator::Options options = bySeed(seed);
    if (seed % 2 == 0) options.memory = emulator::Memory::Weak;
    emulator::Machine machine(options);
    uint32_t seen[kBlocks] = {};
    ControlWords words[kBlocks] = {};
    device::ProgressRecord records[kBlocks] = {};
    machine.launch(
        kBlocks, kThreads,
        [&] {
          JCCL_SHARED(device::WaitControl, wait);
          const unsigned block = simt::blockIndex();
          if (simt::threadIndex() == 0) wait = {{words, kBlocks}, records + block, 1, simt::nanos(), 0, 0};
          simt::syncBlock();
          if (simt::threadIndex() != 0) return;
          device::Waiter(wait).fail(block % 2 == 0 ? Code::Mismatch : Code::Transport, {});
          seen[block] = simt::loadAcquire(&words[block].result);
        },
        "failing");
    const emulator::Report report = machine.run();
    ASSERT_TRUE(report.finished()) << report.text;
    for (const uint32_t code : seen) ASSERT_EQ(code, words[0].result) << "seed=" << seed;
    ASSERT_NE(words[0].result, 0u);
  }
}

class WaitingKernels : public ::testing::TestWithParam<Protocol> {
 protected:
  static constexpr size_t kCount = 300;

  Launch allReduce(DeviceRanks& ranks, int rank, size_t count = kCount) {
    buffers_.emplace_back(2 * kCount + 8);
    Launch launch = ranks.launchOf(rank);
    launch.code = {Collective::AllReduce, DataType::Float32, ReduceOp::Sum};
    launch.choice = choiceOf(Algorithm::Ring, GetParam());
    launch.send = reinterpret_cast<const uint8_t*>(buffers_.back().data());
    launch.recv = reinterpret_cast<uint8_t*>(buffers_.back().data() + kCount + 4);
    launch.count = count;
    return launch;
  }

  std::vector<std::vector<float>> buffers_;
};

TEST_P(WaitingKernels, TimeOutAndReportThePeerTheyWaitedFor) {
  DeviceRanks ranks(3);
  ranks.timeoutNanos = 40'000'000;
  emulator::Machine machine;
  const Launch launch = allReduce(ranks, 1);
  machine.launch(
      1, 128, [&] { collectiveKernel(launch); }, "alone");
  const emulator::Report report = machine.run();
  ASSERT_TRUE(report.finished()) << report.text;
  EXPECT_EQ(ranks.result(1), Code::Timeout);
  EXPECT_GE(report.nanos, ranks.timeoutNanos);
  const device::ProgressRecord& record = ranks.record(1, 0);
  EXPECT_EQ(record.sequence, launch.control.sequence + 1);
  const WaitPlace place = device::ProgressRecord::decode(record.place);
  EXPECT_EQ(place.peer, 0);
  EXPECT_EQ(place.transport, TransportKind::P2p);
  EXPECT_EQ(place.waitFor, WaitFor::Data);
  EXPECT_EQ(place.protocol, GetParam());
  EXPECT_EQ(place.step, 0u);
  // An operation that was issued after the failed one ends at once, and no counter has changed.
  emulator::Machine later;
  later.launch(
      1, 128, [&] { collectiveKernel(launch); }, "behind");
  const emulator::Report second = later.run();
  ASSERT_TRUE(second.finished()) << second.text;
  EXPECT_LT(second.nanos, 1'000'000u);
  EXPECT_EQ(ranks.channel(1, 0).operations, 0u);
}

TEST_P(WaitingKernels, EndWhenTheyAreAborted) {
  DeviceRanks ranks(2);
  emulator::Machine machine;
  const Launch launch = allReduce(ranks, 0);
  machine.launch(
      1, 64, [&] { collectiveKernel(launch); }, "alone");
  machine.launch(
      1, 1,
      [&] {
        const uint64_t start = simt::nanos();
        while (simt::nanos() - start < 5'000'000) simt::pause();
        simt::storeRelaxed(&ranks.controls(0).words->abort, static_cast<uint32_t>(Code::Aborted));
      },
      "host");
  const emulator::Report report = machine.run();
  ASSERT_TRUE(report.finished()) << report.text;
  EXPECT_EQ(ranks.result(0), Code::Aborted);
  EXPECT_LT(report.nanos, ranks.timeoutNanos);
}

TEST_P(WaitingKernels, ReportAMismatchIfAPeerHasAnotherCount) {
  for (const size_t other : {size_t{299}, size_t{10}}) {
    DeviceRanks ranks(2);
    ranks.timeoutNanos = 100'000'000;
    emulator::Machine machine;
    const Launch first = allReduce(ranks, 0), second = allReduce(ranks, 1, other);
    machine.launch(
        1, 64, [&] { collectiveKernel(first); }, "rank 0");
    machine.launch(
        1, 64, [&] { collectiveKernel(second); }, "rank 1");
    const emulator::Report report = machine.run();
    ASSERT_TRUE(report.finished()) << report.text;
    EXPECT_TRUE(ranks.result(0) == Code::Mismatch || ranks.result(1) == Code::Mismatch)
        << static_cast<int>(ranks.result(0)) << " " << static_cast<int>(ranks.result(1));
    EXPECT_NE(ranks.result(0), Code::Ok);
    EXPECT_NE(ranks.result(1), Code::Ok);
  }
}

TEST_P(WaitingKernels, ReportAMismatchIfAPeerRunsAnotherOperation) {
  DeviceRanks ranks(2);
  ranks.timeoutNanos = 100'000'000;
  emulator::Machine machine;
  const Launch first = allReduce(ranks, 0);
  Launch second = allReduce(ranks, 1);
  second.code.op = ReduceOp::Max;
  machine.launch(
      1, 64, [&] { collectiveKernel(first); }, "rank 0");
  machine.launch(
      1, 64, [&] { collectiveKernel(second); }, "rank 1");
  const emulator::Report report = machine.run();
  ASSERT_TRUE(report.finished()) << report.text;
  EXPECT_EQ(ranks.result(0), Code::Mismatch);
  EXPECT_EQ(ranks.result(1), Code::Mismatch);
}

INSTANTIATE_TEST_SUITE_P(Protocols, WaitingKernels, ::testing::Values(Protocol::LL, Protocol::LL128, Protocol::Simple),
                         [](const ::testing::TestParamInfo<Protocol>& info) {
                           return std::string(nameOf(info.param));
                         });

// Rank 0 sends messages to rank 1 with flags of 6 bits, which wrap every 64 steps. Long messages are rare and occur at
// every phase of the wrap, so most cells of a slot keep an old flag for several rounds.
TEST(DeviceFlagWrap, StaleCellsNeverCountAsCurrent) {
  using Primitives = device::DevicePrimitives<Protocol::LL, device::Integer<uint8_t>, device::NoFaults, 6>;
  constexpr int kSteps = 3000;
  const auto lengthOf = [](int step) { return step % 61 == 7 || step % 67 == 3 ? size_t{400} : size_t(step % 5); };
  for (const emulator::Memory memory : {emulator::Memory::Strong, emulator::Memory::Weak}) {
    DeviceRanks ranks(2);
    std::vector<uint8_t> source(400), sink(400);
    int wrong = 0;
    emulator::Options options;
    options.memory = memory;
    options.schedule = emulator::Schedule::BySeed;
    emulator::Machine machine(options);
    const auto body = [&](int rank) {
      struct Shared {
        device::BlockState block;
        device::DeviceTransfer transfer;
      };
      JCCL_SHARED(Shared, shared);
      const Launch launch = ranks.launchOf(rank);
      device::beginBlock(shared.block.wait, ranks.channel(rank, 0), launch.control);
      if (simt::threadIndex() == 0) {
        if (rank == 0) shared.block.sends[0].open(ranks.channel(0, 0).sends, 1);
        if (rank == 1) shared.block.recvs[0].open(ranks.channel(1, 0).recvs, 0);
        shared.transfer = {source.data(), sink.data(), 1, 400, {ReduceOp::Sum, 1, false}, 77, {}};
      }
      simt::syncBlock();
      Primitives primitives(shared.block, launch.shape, shared.transfer,
                            {0, rank == 1 ? 1 : 0, 0, rank == 0 ? 1 : 0, 0});
      for (int step = 0; step < kSteps && !primitives.failed(); ++step) {
        const auto value = static_cast<uint8_t>(step * 7 + 1);
        const size_t length = lengthOf(step);
        if (rank == 0) {
          for (size_t i = simt::threadIndex(); i < length; i += simt::blockThreads()) {
            simt::storeUser<1>(source.data() + i, value);
          }
          simt::syncBlock();
          primitives.send(0, length);
        } else {
          primitives.recv(0, length);
          for (size_t i = simt::threadIndex(); i < length; i += simt::blockThreads()) {
            if (simt::loadUser<1>(sink.data() + i) != value) ++wrong;
          }
          simt::syncBlock();
        }
      }
    };
    machine.launch(
        1, 32, [&] { body(0); }, "sender");
    machine.launch(
        1, 32, [&] { body(1); }, "receiver");
    const emulator::Report report = machine.run();
    ASSERT_TRUE(report.finished()) << report.text;
    EXPECT_EQ(ranks.result(0), Code::Ok);
    EXPECT_EQ(ranks.result(1), Code::Ok);
    EXPECT_EQ(wrong, 0);
  }
}

}  // namespace
}  // namespace jccl::test::failures_test
