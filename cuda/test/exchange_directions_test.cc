// Tests of exchanges whose ranks send and receive different amounts: half of a block's warps send while the other half
// receive.
#include "cuda/test/compared_cases.h"
#include "cuda/test/exchange_group.h"

namespace jccl::test::exchange_directions_test {
namespace {

constexpr size_t kSlotBytes = 4096;

// Messages from one rank to another, which may be itself.
struct Flow {
  int from, to;
  std::vector<size_t> sizes;
};

// Ranks that run an exchange of `flows` on one channel.
class Exchange {
 public:
  Exchange(int size, const std::vector<Flow>& flows, uint32_t slotBytes = kSlotBytes)
      : ranks_(size, 1, ConnectionShape(slotBytes, 1024, 1024)), groups_(size) {
    size_t messages = 0;
    for (const Flow& flow : flows) messages += flow.sizes.size();
    sends_.reserve(messages);
    recvs_.reserve(messages);
    for (const Flow& flow : flows) {
      std::vector<ExchangeTask> out, in;
      for (const size_t bytes : flow.sizes) {
        const auto value = static_cast<uint8_t>(sends_.size() * 7 + 1);
        Guarded& send = sends_.emplace_back(bytes, 0, value);
        Guarded& recv = recvs_.emplace_back(bytes, 0, uint8_t{0xEE});
        const uint32_t print = messageFingerprint(DataType::Int8, bytes);
        if (flow.from == flow.to) {
          groups_[flow.from].copies.push_back(
              {ExchangeTask::Kind::Copy, flow.from, send.data(), recv.data(), bytes, 0});
        } else {
          out.push_back({ExchangeTask::Kind::Send, flow.to, send.data(), nullptr, bytes, print});
          in.push_back({ExchangeTask::Kind::Recv, flow.from, recv.data(), nullptr, bytes, print});
        }
      }
      const int distance = (flow.to - flow.from + size) % size;
      const uint32_t window = distance == 0 ? 0 : static_cast<uint32_t>(distance - 1) / device::kMaxLinks;
      groups_[flow.from].add(out, window);
      groups_[flow.to].add(in, window);
    }
    for (int rank = 0; rank < size; ++rank) launches_.push_back(groups_[rank].launchOf(ranks_, rank, 1, false));
  }

  // Runs the kernels with this many threads per block. Each rank first calls `before` and at last `after`.
  emulator::Report run(unsigned threads, emulator::Options options = {}, const std::function<void(int)>& before = {},
                       const std::function<void(int)>& after = {}) {
    emulator::MemoryPlaces places;
    ranks_.addTo(places);
    options.places = &places;
    emulator::Machine machine(options);
    for (int rank = 0; rank < ranks_.size(); ++rank) {
      machine.launch(1, threads, [&, rank] {
        if (before) before(rank);
        exchangeKernel(launches_[rank]);
        if (after) after(rank);
      });
    }
    return machine.run();
  }

  void expectDelivered(const emulator::Report& report) {
    ASSERT_TRUE(report.finished()) << report.text;
    for (int rank = 0; rank < ranks_.size(); ++rank) ASSERT_EQ(ranks_.result(rank), Code::Ok) << "rank=" << rank;
    for (size_t m = 0; m < sends_.size(); ++m) {
      ASSERT_TRUE(recvs_[m].intact());
      ASSERT_EQ(std::memcmp(recvs_[m].data(), sends_[m].data(), recvs_[m].bytes()), 0) << "message=" << m;
    }
  }

 private:
  DeviceRanks ranks_;
  std::vector<ExchangeGroup> groups_;
  std::vector<Guarded> sends_, recvs_;
  std::vector<ExchangeLaunch> launches_;
};

const std::vector<size_t> kMoreThanAllSlots{kSlots * kSlotBytes * 3 + 5};
const std::vector<size_t> kManySmall{1, 0, 4096, 5, 9001, 16, 0, 77};

TEST(ExchangeDirections, EveryMixtureOfSendsAndReceivesEnds) {
  const std::vector<std::vector<Flow>> mixtures{
      {{0, 1, kMoreThanAllSlots}},                                                 // one only sends, one only receives
      {{0, 1, kMoreThanAllSlots}, {1, 0, {3}}},                                    // unequal sizes
      {{0, 1, kManySmall}, {1, 0, kMoreThanAllSlots}, {2, 0, {1}}},                // unequal numbers
      {{0, 1, kMoreThanAllSlots}, {1, 2, kMoreThanAllSlots}, {2, 0, kManySmall}},  // a cycle
      {{0, 0, kManySmall}, {1, 1, kMoreThanAllSlots}},                             // copies only
      {{0, 0, kManySmall}, {0, 1, kMoreThanAllSlots}, {1, 0, kMoreThanAllSlots}, {1, 1, {7}}},
      {{0, 2, kManySmall}, {1, 2, kMoreThanAllSlots}},  // two to one
  };
  for (const unsigned threads : {32U, 64U, 96U, 384U}) {
    for (size_t i = 0; i < mixtures.size(); ++i) {
      for (uint64_t seed = 1; seed <= 3; ++seed) {
        SCOPED_TRACE("threads=" + std::to_string(threads) + " mixture=" + std::to_string(i));
        Exchange exchange(3, mixtures[i]);
        exchange.expectDelivered(exchange.run(threads, bySeed(seed)));
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Every rank has more queues than a block holds. The long messages fill all slots, so they end only if both ends run their
// windows.
TEST(ExchangeDirections, MoreQueuesThanABlockHoldsEnd) {
  constexpr int kSize = device::kMaxDirectRanks + 8;
  for (const bool receivesMore : {false, true}) {
    std::vector<Flow> flows;
    for (int distance = 1; distance < kSize; ++distance) {
      const bool isLong = distance % 10 == 1 || distance == device::kMaxLinks || distance == kSize - 1;
      for (int from = 0; from < kSize; ++from) {
        if (receivesMore && from % 3 == 0 && distance > 5) continue;  // others have more receives than sends
        flows.push_back({from, (from + distance) % kSize,
                         isLong ? std::vector<size_t>{512 * kSlots * 2 + 5, 1} : std::vector<size_t>{7}});
      }
    }
    for (const unsigned threads : {32U, 64U}) {
      SCOPED_TRACE("threads=" + std::to_string(threads) + " receivesMore=" + std::to_string(receivesMore));
      Exchange exchange(kSize, flows, 512);
      exchange.expectDelivered(exchange.run(threads));
      if (HasFatalFailure()) return;
    }
  }
}

TEST(ExchangeDirections, IsRightUnderWeakMemory) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    emulator::Options options = bySeed(seed);
    options.memory = emulator::Memory::Weak;
    Exchange exchange(2, {{0, 1, {kSlotBytes * 9, 5}}, {1, 0, {70}}, {0, 0, {9}}}, 512);
    exchange.expectDelivered(exchange.run(64, options));
    if (HasFatalFailure()) return;
  }
}

// Rank 1 begins when rank 2 has ended, so one direction of rank 0 waits for rank 1 while the other one moves.
TEST(ExchangeDirections, AWaitingDirectionDelaysNotTheOther) {
  for (const bool sendsToLate : {true, false}) {
    const std::vector<size_t> sizes{100 * kSlotBytes};
    Exchange exchange(3, sendsToLate ? std::vector<Flow>{{0, 1, sizes}, {2, 0, sizes}}
                                     : std::vector<Flow>{{1, 0, sizes}, {0, 2, sizes}});
    uint64_t done = 0;
    const auto before = [&](int rank) {
      while (rank == 1 && simt::loadAcquire(&done) == 0) simt::pause();
    };
    const auto after = [&](int rank) {
      if (rank == 2) simt::storeRelease(&done, uint64_t{1});
    };
    exchange.expectDelivered(exchange.run(64, {}, before, after));
    if (HasFatalFailure()) return;
  }
}

// A chunk of the maximum size takes two full rounds of loads if the whole block moves it, and four if half of it does;
// each thread loads 8 x 16 bytes in a round.
TEST(ExchangeDirections, ChunksAreWholeRounds) {
  constexpr unsigned kThreads = device::kMaxBlockThreads;
  constexpr size_t kRoundBytes = kThreads * size_t{8} * 16, kChunk = kMaxChunkBytes;
  static_assert(kChunk % kRoundBytes == 0 && kChunk % (kRoundBytes / 2) == 0);
  const auto roundsOf = [&](const std::vector<Flow>& flows, int rank) {
    Exchange exchange(2, flows, 2 * kChunk);
    const emulator::Report report = exchange.run(kThreads);
    exchange.expectDelivered(report);
    return report.transactions[rank].rounds;
  };
  // Rounds of two chunks, without what an exchange of any size waits for.
  const auto ofTwo = [&](auto&& flowsOf) {
    return roundsOf(flowsOf({3 * kChunk}), 0) - roundsOf(flowsOf({kChunk}), 0);
  };
  using Sizes = std::vector<size_t>;
  const auto oneWay = [](const Sizes& sizes) { return std::vector<Flow>{{0, 1, sizes}}; };
  const auto bothWays = [](const Sizes& sizes) { return std::vector<Flow>{{0, 1, sizes}, {1, 0, sizes}}; };
  EXPECT_EQ(ofTwo(oneWay), 2 * (kChunk / kRoundBytes));
  // A thread of the half that receives also waits for the word that publishes a chunk.
  EXPECT_LE(ofTwo(bothWays), 2 * (2 * kChunk / kRoundBytes + 1));
}

}  // namespace
}  // namespace jccl::test::exchange_directions_test
