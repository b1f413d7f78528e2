// LL flags that wrap behind a network: connections that begin just before the step at which a slot is scrubbed.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <thread>
#include <tuple>
#include <vector>

#include "primitives/host_primitives.h"
#include "test/faulty_net.h"
#include "test/net_scenarios.h"
#include "test/rank_threads.h"
#include "transport/net_ib.h"

namespace jccl::test {
namespace {

constexpr size_t kBytes = 400;

// A network, the first step to scrub a slot at, and the protocol of the steps there.
using Wrap = std::tuple<const char*, uint64_t, Protocol>;

class NetFlagWrap : public ::testing::TestWithParam<Wrap> {
 protected:
  NetFlagWrap() {
    for (size_t rank : {0, 1}) {
      pair_.kept.push_back(blocks_[rank]);
      controls_[rank].events = &events_[rank];
      controls_[rank].progress = pair_.net[rank].get();
      controls_[rank].timeoutNanos = kTimeoutNanos;
      blocks_[rank].memory().head->head = first_;
    }
    send_.memory = blocks_[0].memory();
    recv_.memory = blocks_[1].memory();
    send_.transport = recv_.transport = TransportKind::Net;
    send_.step = send_.cachedHead = recv_.step = first_;
    EXPECT_TRUE(pair_.net[0]->sendConnection(1, 0, send_.memory).isOk());
    EXPECT_TRUE(pair_.net[1]->recvConnection(0, 0, recv_.memory).isOk());
  }

  static Pair pairOver(const std::string& network) {
    if (network == "sockets") return Pair();
    if (network == "simulated") {
      NetFaults faults;
      faults.maxDelayNanos = 20'000;
      const FaultyNetwork simulated(faults);
      return Pair({}, "simulated", {simulated.maker(), simulated.maker()});
    }
    return Pair([](NetConfig& config) { config.ib.adapter.library = JCCL_FAKE_VERBS; }, "127.0.0.1",
                {IbNet::open, IbNet::open});
  }

  static uint8_t valueOf(uint64_t step) { return static_cast<uint8_t>(step * 7 + 1); }

  template <Protocol P>
  bool send(uint64_t step, size_t bytes) {
    std::vector<uint8_t> data(kBytes, valueOf(step)), scratch(2 * kBytes);
    Transfer transfer;
    transfer.input = data.data();
    transfer.sliceCount = kBytes;
    SendConnection* sends[] = {&send_};
    const Links links{nullptr, 0, sends, 1, 0};
    HostPrimitives<P> primitives(waiters_[0], transfer, links, scratch.data());
    primitives.send(0, bytes);
    return !primitives.failed();
  }

  template <Protocol P>
  bool receive(uint64_t step, size_t bytes) {
    std::vector<uint8_t> data(kBytes), scratch(2 * kBytes);
    Transfer transfer;
    transfer.output = data.data();
    transfer.sliceCount = kBytes;
    RecvConnection* recvs[] = {&recv_};
    const Links links{recvs, 1, nullptr, 0, 0};
    HostPrimitives<P> primitives(waiters_[1], transfer, links, scratch.data());
    primitives.recv(0, bytes);
    EXPECT_EQ(std::count(data.begin(), data.begin() + static_cast<ptrdiff_t>(bytes), valueOf(step)),
              static_cast<ptrdiff_t>(bytes))
        << "step=" << step;
    return !primitives.failed();
  }

  // Moves so many bytes in each step up to `end`.
  template <Protocol P>
  void move(uint64_t end, size_t bytes) {
    std::thread sender([&] {
      for (uint64_t step = send_.step; step < end && send<P>(step, bytes);) ++step;
      pair_.net[0]->kick();
    });
    for (uint64_t step = recv_.step; step < end && receive<P>(step, bytes);) ++step;
    if (recv_.step != end) controls_[0].fail(Code::Aborted);
    sender.join();
    for (const auto& net : pair_.net) {
      int peer = -1;
      ASSERT_FALSE(net->failed()) << net->error(&peer).message();
    }
    ASSERT_EQ(end, recv_.step);
  }

  const uint64_t scrubbed_ = std::get<1>(GetParam());
  const uint64_t first_ = scrubbed_ - kSlots;
  Pair pair_ = pairOver(std::get<0>(GetParam()));
  const ConnectionShape shape_{4096, 1024, 1024};
  std::array<Block, 2> blocks_{Block(shape_), Block(shape_)};  // the sender's, the receiver's
  std::array<EventCount, 2> events_;
  std::array<WaitControl, 2> controls_;
  std::array<ProgressRecord, 2> records_;
  std::array<Waiter, 2> waiters_{Waiter(controls_[0], records_[0], false), Waiter(controls_[1], records_[1], false)};
  SendConnection send_;
  RecvConnection recv_;
};

TEST_P(NetFlagWrap, StaleCellsNeverCountAsCurrent) {
  const uint64_t later = scrubbed_ + kSlots;
  for (uint64_t step = later; step < later + kSlots; ++step) {
    const std::vector<uint8_t> stale(kBytes, 0xEE);
    LLCodec::pack(recv_.memory.llSlot(step), LLFlags<32>::flagOf(step), 0, stale.data(), kBytes);
  }
  switch (std::get<2>(GetParam())) {
    case Protocol::LL:
      move<Protocol::LL>(later, 5);
      break;
    case Protocol::LL128:
      move<Protocol::LL128>(later, 5);
      break;
    case Protocol::Simple:
      move<Protocol::Simple>(later, 5);
      break;
  }
  if (HasFatalFailure()) return;
  for (uint64_t step = later; step < later + kSlots; ++step) {
    for (size_t cell = 0; cell < shape_.llSlotBytes() / kLLCellBytes; ++cell) {
      uint32_t payload = 0;
      ASSERT_FALSE(LLCodec::load(recv_.memory.llSlot(step), cell, LLFlags<32>::flagOf(step), payload))
          << "step=" << step << " cell=" << cell;
    }
  }
  move<Protocol::LL>(later + 3 * kSlots, kBytes);
}

INSTANTIATE_TEST_SUITE_P(Over, NetFlagWrap,
                         ::testing::Combine(::testing::Values("sockets", "simulated", "verbs"),
                                            ::testing::Values(uint64_t{1} << 31, uint64_t{1} << 32),
                                            ::testing::Values(Protocol::LL, Protocol::LL128, Protocol::Simple)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param)) + "At2To" +
                                  (std::get<1>(info.param) >> 32 == 0 ? "31" : "32") +
                                  test::nameOf(std::get<2>(info.param));
                         });

}  // namespace
}  // namespace jccl::test
