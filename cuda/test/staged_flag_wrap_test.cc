// Tests of LL flags that wrap between kernels that a network connects. The connections begin just before the step at
// which slots are scrubbed.
#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "cuda/test/device_ranks.h"
#include "cuda/test/emulated_collective.h"
#include "test/faulty_net.h"
#include "test/net_scenarios.h"

namespace jccl::test::staged_flag_wrap_test {
namespace {

constexpr uint64_t kScrubbed = uint64_t{1} << 31;
constexpr uint64_t kLater = kScrubbed + kSlots;
constexpr size_t kBytes = 400;

// A sender and a receiver, their proxies, and a thread that polls the proxies.
class StagedPair {
 public:
  StagedPair() {
    for (size_t end : {0, 1}) {
      const ConnectionMemory memory = blocks_[end].memory();
      memory.head->head = kFirst;
      linkEnd(end) = {memory.block,
                      memory.block + ranks_.shape().simpleOffset(),
                      reinterpret_cast<uint64_t*>(memory.head),
                      kFirst,
                      kFirst,
                      TransportKind::Socket,
                      false,
                      false};
      pair_.kept.push_back(blocks_[end]);
    }
    EXPECT_TRUE(pair_.net[0]->sendConnection(1, 0, blocks_[0].memory()).isOk());
    EXPECT_TRUE(pair_.net[1]->recvConnection(0, 0, blocks_[1].memory()).isOk());
    proxy_ = std::thread([this] {
      while (!stopping_) {
        if (pair_.net[0]->poll() + pair_.net[1]->poll() == 0) std::this_thread::yield();
      }
    });
  }
  ~StagedPair() {
    stopping_ = true;
    proxy_.join();
  }

  uint8_t* received(uint64_t step) const { return blocks_[1].memory().llSlot(step); }
  uint32_t llSlotBytes() const { return ranks_.shape().llSlotBytes(); }

  // Moves `bytes` bytes in each of `steps` steps, and checks them.
  template <Protocol P>
  void move(uint64_t steps, size_t bytes) {
    emulator::Options options;
    options.schedule = emulator::Schedule::BySeed;
    options.hostClock = true;
    emulator::Machine machine(options);
    int wrong = 0;
    for (size_t end : {0, 1}) {
      machine.launch(
          1, 32, [&, end] { kernel<P>(end, steps, bytes, wrong); }, end == 0 ? "sender" : "receiver");
    }
    const emulator::Report report = machine.run();
    ASSERT_TRUE(report.finished()) << report.text;
    for (size_t end : {0, 1}) {
      int peer = -1;
      ASSERT_FALSE(pair_.net[end]->failed()) << pair_.net[end]->error(&peer).message();
      ASSERT_EQ(Code::Ok, ranks_.result(static_cast<int>(end))) << "step=" << linkEnd(end).step;
    }
    EXPECT_EQ(0, wrong);
  }

 private:
  static constexpr uint64_t kFirst = kScrubbed - kSlots;

  LinkEnd& linkEnd(size_t end) { return end == 0 ? ranks_.channel(0, 0).sends[1] : ranks_.channel(1, 0).recvs[0]; }

  template <Protocol P>
  void kernel(size_t end, uint64_t steps, size_t bytes, int& wrong) {
    struct Shared {
      device::BlockState block;
      device::DeviceTransfer transfer;
    };
    JCCL_SHARED(Shared, shared);
    const int rank = static_cast<int>(end);
    const Launch launch = ranks_.launchOf(rank);
    device::beginBlock(shared.block.wait, ranks_.channel(rank, 0), launch.control);
    device::ActiveLink& link = end == 0 ? shared.block.sends[0] : shared.block.recvs[0];
    LinkEnd* const ends = end == 0 ? ranks_.channel(0, 0).sends : ranks_.channel(1, 0).recvs;
    if (simt::threadIndex() == 0) {
      link.open(ends, 1 - rank);
      shared.transfer = {source_.data(), sink_.data(), 1, kBytes, {ReduceOp::Sum, 1, false}, 77, {}};
    }
    simt::syncBlock();
    device::DevicePrimitives<P, device::Integer<uint8_t>> primitives(shared.block, launch.shape, shared.transfer,
                                                                     {0, rank, 0, 1 - rank, 0});
    for (uint64_t step = 0; step < steps && !primitives.failed(); ++step) {
      const auto value = static_cast<uint8_t>(step * 7 + 1);
      if (end == 0) {
        for (size_t i = simt::threadIndex(); i < bytes; i += simt::blockThreads()) {
          simt::storeUser<1>(source_.data() + i, value);
        }
        simt::syncBlock();
        primitives.send(0, bytes);
      } else {
        primitives.recv(0, bytes);
        for (size_t i = simt::threadIndex(); i < bytes; i += simt::blockThreads()) {
          if (simt::loadUser<1>(sink_.data() + i) != value) ++wrong;
        }
        simt::syncBlock();
      }
    }
    if (simt::threadIndex() == 0) link.close(ends);
  }

  DeviceRanks ranks_{2};
  std::array<Block, 2> blocks_{Block(ranks_.shape()), Block(ranks_.shape())};
  FaultyNetwork network_{{.maxDelayNanos = 20'000}};
  Pair pair_{{}, "simulated", {network_.maker(), network_.maker()}};
  std::vector<uint8_t> source_ = std::vector<uint8_t>(kBytes), sink_ = source_;
  std::atomic<bool> stopping_{false};
  std::thread proxy_;
};

template <Protocol P>
void testStaleCells() {
  StagedPair pair;
  for (uint64_t step = kLater; step < kLater + kSlots; ++step) {
    const std::vector<uint8_t> stale(kBytes, 0xEE);
    LLCodec::pack(pair.received(step), LLFlags<32>::flagOf(step), 0, stale.data(), kBytes);
  }
  ASSERT_NO_FATAL_FAILURE(pair.move<P>(2 * kSlots, 5));
  for (uint64_t step = kLater; step < kLater + kSlots; ++step) {
    for (size_t cell = 0; cell < pair.llSlotBytes() / kLLCellBytes; ++cell) {
      uint32_t payload = 0;
      ASSERT_FALSE(LLCodec::load(pair.received(step), cell, LLFlags<32>::flagOf(step), payload))
          << "step=" << step << " cell=" << cell;
    }
  }
  pair.move<Protocol::LL>(3 * kSlots, kBytes);
}

TEST(StagedFlagWrap, StaleCellsNeverCountAsCurrent) { testStaleCells<Protocol::LL>(); }

TEST(StagedFlagWrap, StaleCellsNeverCountAsCurrentAfterOtherProtocols) {
  testStaleCells<Protocol::LL128>();
  testStaleCells<Protocol::Simple>();
}

}  // namespace
}  // namespace jccl::test::staged_flag_wrap_test
