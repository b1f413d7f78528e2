// Tests of LL flags that wrap around on network connections, which begin just before a step that scrubs a slot.
#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "primitives/codecs.h"
#include "test/faulty_net.h"
#include "test/net_scenarios.h"
#include "transport/net_ib.h"

namespace jccl::test::net_flag_wrap_test {
namespace {

constexpr size_t kBytes = 400;

// A network, the first step that scrubs a slot, and the protocol of the steps around it.
using Wrap = std::tuple<const char*, uint64_t, Protocol>;

class NetFlagWrap : public ::testing::TestWithParam<Wrap> {
 protected:
  NetFlagWrap() { pair_.connectOneWay(producer_, consumer_); }

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

  // Transfers `steps` messages, each of `units` in the protocol's unit.
  void move(Protocol protocol, uint64_t steps, uint32_t units) {
    transfer(pair_, producer_, consumer_, protocol, std::vector<uint32_t>(steps, units));
  }

  const uint64_t scrubbed_ = std::get<1>(GetParam());
  const ConnectionShape shape_{4096, 1024, 1024};
  Producer producer_{shape_, nullptr, scrubbed_ - kSlots};
  Consumer consumer_{shape_, nullptr, scrubbed_ - kSlots};
  Pair pair_ = pairOver(std::get<0>(GetParam()));
};

TEST_P(NetFlagWrap, StaleCellsNeverCountAsCurrent) {
  const ConnectionMemory received = consumer_.memory();
  const uint64_t later = scrubbed_ + kSlots;
  for (uint64_t step = later; step < later + kSlots; ++step) {
    const std::vector<uint8_t> stale(kBytes, 0xEE);
    LLCodec::pack(received.llSlot(step), LLFlags<32>::flagOf(step), 0, stale.data(), kBytes);
  }
  move(std::get<2>(GetParam()), 2 * kSlots, 1);
  if (HasFailure()) return;
  for (uint64_t step = later; step < later + kSlots; ++step) {
    for (size_t cell = 0; cell < shape_.llSlotBytes() / kLLCellBytes; ++cell) {
      uint32_t payload = 0;
      ASSERT_FALSE(LLCodec::load(received.llSlot(step), cell, LLFlags<32>::flagOf(step), payload))
          << "step=" << step << " cell=" << cell;
    }
  }
  move(Protocol::LL, 3 * kSlots, LLCodec::cells(kBytes));
}

INSTANTIATE_TEST_SUITE_P(Over, NetFlagWrap,
                         ::testing::Combine(::testing::Values("sockets", "simulated", "verbs"),
                                            ::testing::Values(uint64_t{1} << 31, uint64_t{1} << 32),
                                            ::testing::Values(Protocol::LL, Protocol::LL128, Protocol::Simple)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param)) + "At2To" +
                                  (std::get<1>(info.param) >> 32 == 0 ? "31" : "32") + titleOf(std::get<2>(info.param));
                         });

}  // namespace
}  // namespace jccl::test::net_flag_wrap_test
