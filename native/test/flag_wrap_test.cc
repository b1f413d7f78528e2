// Tests of LL flags that wrap around. Narrow flags wrap in a moment; flags of 32 bits take hours.
#include <thread>

#include "primitives/host_primitives.h"
#include "test/net_pair.h"
#include "test/rank_threads.h"

namespace jccl::test::flag_wrap_test {
namespace {

constexpr int kFlagBits = 6;  // flags wrap every 64 steps, which fill all slots 8 times

// Calls `use` with the primitives of LL in one step of each wrap, and with those of `Other` in all other steps. So a
// slot keeps its LL flags for a whole wrap.
template <Protocol Other, class Use>
void withPrimitives(int step, Waiter& waiter, const Transfer& transfer, const Links& links, Use&& use) {
  std::vector<uint8_t> scratch(1024);
  if (step % (1 << kFlagBits) != 13) {
    HostPrimitives<Other, kFlagBits> primitives(waiter, transfer, links, scratch.data());
    use(primitives);
  } else {
    HostPrimitives<Protocol::LL, kFlagBits> primitives(waiter, transfer, links, scratch.data());
    use(primitives);
  }
}

template <Protocol Other>
void testStaleCells() {
  RankThreads threads(2);  // provides the connections
  std::vector<std::unique_ptr<Channel>> channels;
  WaitControl controls[2];
  for (int rank = 0; rank < 2; ++rank) {
    controls[rank].events = threads[rank].events();
    controls[rank].timeoutNanos = kTimeoutNanos;
    channels.push_back(std::make_unique<Channel>(0, rank, 2, controls[rank]));
  }
  SendConnection& send = channels[0]->sendTo(1);
  RecvConnection& recv = channels[1]->recvFrom(0);
  const ConnectionShape shape = threads[0].segmentShape().connection;
  uint8_t* block = threads[1].segment().block(0, 0);
  auto* head = reinterpret_cast<HeadLine*>(threads[0].segment().block(1, 0));
  send.memory = recv.memory = {block, head, shape};
  send.receiverEvents = threads[1].events();
  recv.senderEvents = threads[0].events();

  // Long messages are rare and come at every phase of the wrap. Most cells of a slot keep an old flag for several
  // rounds.
  const auto lengthOf = [](int step) { return step % 61 == 7 || step % 67 == 3 ? size_t{400} : size_t(step % 5); };
  constexpr int kSteps = 20000;
  std::thread sender([&] {
    std::vector<uint8_t> data(400);
    for (int step = 0; step < kSteps; ++step) {
      std::fill(data.begin(), data.end(), static_cast<uint8_t>(step * 7 + 1));
      Transfer transfer;
      transfer.input = data.data();
      transfer.sliceCount = 400;
      SendConnection* sends[] = {&send};
      const Links links{nullptr, 0, sends, 1, 0};
      bool failed = false;
      withPrimitives<Other>(step, channels[0]->waiter(), transfer, links, [&](auto& primitives) {
        primitives.send(0, lengthOf(step));
        failed = primitives.failed();
      });
      if (failed) return;
    }
  });
  std::vector<uint8_t> data(400);
  int wrong = 0;
  for (int step = 0; step < kSteps && wrong == 0; ++step) {
    std::fill(data.begin(), data.end(), 0);
    Transfer transfer;
    transfer.output = data.data();
    transfer.sliceCount = 400;
    RecvConnection* recvs[] = {&recv};
    const Links links{recvs, 1, nullptr, 0, 0};
    bool failed = false;
    withPrimitives<Other>(step, channels[1]->waiter(), transfer, links, [&](auto& primitives) {
      primitives.recv(0, lengthOf(step));
      failed = primitives.failed();
    });
    for (size_t i = 0; i < lengthOf(step); ++i) wrong += data[i] != static_cast<uint8_t>(step * 7 + 1);
    EXPECT_FALSE(failed) << "step=" << step;
    EXPECT_EQ(wrong, 0) << "step=" << step;
    if (failed) break;
  }
  if (wrong != 0) controls[0].fail(Code::Aborted);
  sender.join();
}

TEST(FlagWrap, StaleCellsNeverCountAsCurrent) { testStaleCells<Protocol::LL>(); }

TEST(FlagWrap, StaleCellsNeverCountAsCurrentAfterAWrapOfOtherProtocols) {
  testStaleCells<Protocol::LL128>();
  testStaleCells<Protocol::Simple>();
}

// A step that must scrub leaves no flag of another step, with any protocol.
TEST(FlagWrap, AStepScrubsTheCellsThatItDoesNotWrite) {
  using Flags = LLFlags<kFlagBits>;
  const Block block(ConnectionShape(4096, 1024, 1024));
  EventCount events;
  for (const Protocol protocol : {Protocol::LL, Protocol::LL128, Protocol::Simple}) {
    SendConnection send;
    send.memory = block.memory();
    send.receiverEvents = &events;
    send.step = Flags::kHalf;
    uint8_t* const slot = send.memory.llSlot(send.step);
    const uint32_t later = Flags::flagOf(send.step + kSlots);
    const size_t cells = send.memory.shape.llSlotBytes() / kLLCellBytes;
    for (size_t cell = 0; cell < cells; ++cell) LLCodec::store(slot, cell, 1, later);
    const size_t written = protocol == Protocol::LL ? LLCodec::cells(5) : 0;
    if (protocol == Protocol::Simple) {
      send.publish<kFlagBits>(protocol, 5, 0);
    } else {
      send.publishPacked<kFlagBits>(protocol, LLCodec::wireBytes(5));
    }
    for (size_t cell = 0; cell < cells; ++cell) {
      uint32_t payload = 0;
      ASSERT_EQ(cell < written, LLCodec::load(slot, cell, later, payload)) << "cell=" << cell;
    }
  }
}

TEST(FlagWrap, ScrubbingFlagsAreNeverWaitedFor) {
  using Flags = LLFlags<kFlagBits>;
  for (uint64_t step = 0; step < 1000; ++step) {
    for (uint64_t other = step % kSlots; other < 1000; other += kSlots) {
      ASSERT_NE(Flags::neverFlagOf(step), Flags::flagOf(other));
    }
  }
  // A slot is scrubbed between two uses of the same flag.
  for (uint64_t step = 0; step < 1000; ++step) {
    bool scrubbed = false;
    for (uint64_t later = step + kSlots; later < step + 64; later += kSlots)
      scrubbed = scrubbed || Flags::mustScrub(later);
    ASSERT_TRUE(scrubbed) << "step=" << step;
  }
}

}  // namespace
}  // namespace jccl::test::flag_wrap_test
