// Tests of operations over a network, which move large chunks from user memory to user memory.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "test/net_pair.h"
#include "test/net_ranks.h"

namespace jccl::test::zero_copy_transfer_test {
namespace {

constexpr Variant kVariants[] = {{"tree", Algorithm::Tree},
                                 {"ring", Algorithm::Ring},
                                 {"direct", Algorithm::Direct},
                                 {"direct_two_shot", Algorithm::Direct, Choice::kTwoShot},
                                 {"direct_by_hosts", Algorithm::Direct, Choice::kByHosts},
                                 {"direct_in_rounds", Algorithm::Direct, Choice::kByHosts | Choice::kInRounds},
                                 {"direct_by_shares", Algorithm::Direct, Choice::kByHosts | Choice::kTwoShot}};
// All variants but the tree: in these, both ranks of a pair send chunks of equal sizes.
constexpr std::span kSymmetricVariants = std::span(kVariants).subspan(1);

std::string nameOfVariant(const ::testing::TestParamInfo<Variant>& info) { return info.param.name; }

float valueOf(size_t rank, size_t i, int round) { return static_cast<float>((i * 7 + rank * 3 + round) % 1000); }

void reduceAgainAndAgain(NetRanks& ranks, size_t rank, const Variant& variant, size_t count, bool inPlace) {
  std::vector<float> send(count);
  std::vector<float> recv(count);
  for (int round = 0; round < 5; ++round) {
    for (size_t i = 0; i < count; ++i) send[i] = valueOf(rank, i, round);
    float* out = inPlace ? send.data() : recv.data();
    ASSERT_EQ(Code::Ok, ranks.allReduce(rank, variant, send.data(), out, count))
        << ranks.communicators[rank]->lastError();
    size_t wrong = 0;
    for (size_t i = 0; i < count; ++i) {
      float sum = 0;
      for (size_t peer = 0; peer < ranks.communicators.size(); ++peer) sum += valueOf(peer, i, round);
      wrong += out[i] != sum ? 1 : 0;
    }
    ASSERT_EQ(0u, wrong) << "count=" << count << " inPlace=" << inPlace << " round=" << round;
    // The network must have released both buffers: the values that are stored now must not reach the peer.
    std::fill(send.begin(), send.end(), -1e6f);
    std::fill(recv.begin(), recv.end(), -1e6f);
  }
}

class ZeroCopyTransfer : public ::testing::TestWithParam<Variant> {};

void expectExactSums(NetRanks& ranks, const Variant& variant) {
  for (const size_t count : {1, 4095, 4096, 4097, 32768, 100'003, 1'000'003}) {
    for (const bool inPlace : {false, true}) {
      std::vector<std::thread> threads;
      for (size_t rank = 0; rank < ranks.communicators.size(); ++rank) {
        threads.emplace_back([&, rank] { reduceAgainAndAgain(ranks, rank, variant, count, inPlace); });
      }
      for (std::thread& thread : threads) thread.join();
    }
  }
}

TEST_P(ZeroCopyTransfer, SumsAreExactForAllSizesInPlaceAndOutOfPlace) {
  NetRanks ranks({0, 1});
  expectExactSums(ranks, GetParam());
}

TEST_P(ZeroCopyTransfer, SumsAreExactWhereSomeRanksShareMemory) {
  NetRanks ranks({0, 0, 1});
  expectExactSums(ranks, GetParam());
}

TEST_P(ZeroCopyTransfer, SumsAreExactBetweenSeveralRanksOfEachHost) {
  NetRanks ranks({0, 0, 1, 1});
  expectExactSums(ranks, GetParam());
}

TEST_P(ZeroCopyTransfer, SumsAreExactOverAPlugin) {
  NetRanks ranks({0, 0, 1, 1}, TransportKind::Plugin,
                 [](CommunicatorConfig& config) { config.plugin = JCCL_TEST_PLUGIN_V12; });
  expectExactSums(ranks, GetParam());
}

// Gathers and scatters on all ranks again and again, also in place, and stores other values after each operation.
void gatherAndScatter(NetRanks& ranks, size_t rank, size_t part) {
  const size_t size = ranks.communicators.size();
  const size_t all = size * part;
  const auto run = [&](Collective collective, const float* send, float* recv) {
    const Choice choice = choiceOf(Algorithm::Direct, Protocol::Simple, 1, 0, Choice::kByHosts | Choice::kTwoShot);
    ASSERT_EQ(Code::Ok, ranks.communicators[rank]->engine().run(
                            {collective, DataType::Float32, ReduceOp::Sum}, choice, reinterpret_cast<uint64_t>(send),
                            reinterpret_cast<uint64_t>(recv), static_cast<int64_t>(part), 0, kTimeoutNanos))
        << ranks.communicators[rank]->lastError();
  };
  std::vector<float> send(all), recv(all);
  for (int round = 0; round < 4; ++round) {
    const bool inPlace = round % 2 == 1;
    for (size_t i = 0; i < all; ++i) send[i] = valueOf(rank, i, round);
    float* out = inPlace ? send.data() : recv.data();
    float* own = send.data() + rank * part;
    run(Collective::AllGather, inPlace ? own : send.data(), out);
    for (size_t i = 0; i < all; ++i) {
      const size_t from = i / part;
      ASSERT_EQ(valueOf(from, inPlace ? i : i % part, round), out[i]) << "part=" << part << " i=" << i;
    }
    for (size_t i = 0; i < all; ++i) send[i] = valueOf(rank, i, round);
    out = inPlace ? own : recv.data();
    run(Collective::ReduceScatter, send.data(), out);
    for (size_t i = 0; i < part; ++i) {
      float sum = 0;
      for (size_t peer = 0; peer < size; ++peer) sum += valueOf(peer, rank * part + i, round);
      ASSERT_EQ(sum, out[i]) << "part=" << part << " i=" << i;
    }
    std::fill(send.begin(), send.end(), -1e6f);
    std::fill(recv.begin(), recv.end(), -1e6f);
  }
}

TEST(ZeroCopyShares, PartsAreExactOnAllLayoutsOfHosts) {
  for (const std::vector<int>& hosts : {std::vector<int>{0, 0, 1, 1}, {0, 1, 1, 1}, {0, 1, 0, 2, 1}}) {
    NetRanks ranks(hosts);
    for (const size_t part : {1, 1023, 8192, 32769, 300'007}) {
      std::vector<std::thread> threads;
      for (size_t rank = 0; rank < hosts.size(); ++rank) {
        threads.emplace_back([&, rank] { gatherAndScatter(ranks, rank, part); });
      }
      for (std::thread& thread : threads) thread.join();
    }
  }
}

TEST_P(ZeroCopyTransfer, NothingTouchesTheBufferOfAFailedOperation) {
  NetRanks ranks({0, 1});
  constexpr size_t kCount = 8u << 20;  // more data than sockets and slots hold
  constexpr size_t kBytes = kCount * sizeof(float);
  void* memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(MAP_FAILED, memory);
  auto* buffer = static_cast<float*>(memory);
  ASSERT_EQ(Code::Timeout, ranks.allReduce(0, GetParam(), buffer, buffer, kCount, 200'000'000));
  // From now on the kernel refuses every access to the buffer, and such an access fails the connection.
  ASSERT_EQ(0, ::mprotect(memory, kBytes, PROT_NONE));
  const std::string before = ranks.communicators[0]->lastError();
  // The late peer receives the data that has been sent. This frees space, so rank 0 would send more now if its failed
  // operation still used the buffer.
  std::vector<float> late(kCount);
  EXPECT_EQ(Code::Timeout, ranks.allReduce(1, GetParam(), late.data(), late.data(), kCount, 500'000'000));
  ranks.communicators[0]->engine().abort(Code::Aborted);
  EXPECT_EQ(before, ranks.communicators[0]->lastError());
  ::munmap(memory, kBytes);
}

INSTANTIATE_TEST_SUITE_P(Algorithms, ZeroCopyTransfer, ::testing::ValuesIn(kVariants), nameOfVariant);

// Simulates a rank's peer and the network to it: every chunk that the rank sends comes back as a chunk of the peer.
// Sends from user memory end when endSending() is called.
class EchoingNetwork final : public ProgressEngine {
 public:
  explicit EchoingNetwork(const ConnectionShape& shape) : out_(shape), in_(shape) {}

  ConnectionMemory out() const { return out_.memory(); }
  ConnectionMemory in() const { return in_.memory(); }

  // Delivers the chunks that were published since the previous call.
  int poll() override {
    int moved = 0;
    while (step_ < kSlots && out().slotHeader(step_)->published.load(std::memory_order_acquire) == step_ + 1) {
      const SlotHeader* sent = out().slotHeader(step_);
      const uint8_t* userData = out().zeroCopySlot(step_).userData;
      zeroCopy_ = zeroCopy_ || userData != nullptr;
      std::memcpy(in().simpleSlot(step_), userData != nullptr ? userData : out().simpleSlot(step_), sent->bytes);
      publish(in(), step_, Protocol::Simple, sent->bytes, sent->check);
      ++step_;
      ++moved;
    }
    return moved;
  }
  void waitForEvents(int64_t /*nanos*/) override { std::this_thread::yield(); }
  void kick() override {}

  bool sentZeroCopy() const { return zeroCopy_; }
  void endSending() { out().head->head.store(step_, std::memory_order_release); }

 private:
  Block out_, in_;
  uint64_t step_ = 0;
  bool zeroCopy_ = false;
};

class ZeroCopySendTest : public ::testing::TestWithParam<Variant> {};

TEST_P(ZeroCopySendTest, AnOperationReturnsOnlyWhenItsUserMemoryHasBeenSent) {
  EngineConfig config;
  config.size = 2;
  MappedMemory segment;
  ASSERT_TRUE(MappedMemory::mapAnonymous(Engine::segmentShape(config).bytes(), segment).isOk());
  Engine communicator(config, segment.base());
  EchoingNetwork network(communicator.segmentShape().connection);
  ASSERT_TRUE(communicator.connectNet(1, TransportKind::Socket, 0, network.out(), network.in()).isOk());
  ASSERT_TRUE(communicator.setProgress(&network).isOk());
  ASSERT_TRUE(communicator.setRing(0, {0, 1}).isOk());

  // Not in place, because an in-place operation overwrites what it sends and therefore waits for the send.
  const std::vector<float> send(8192, 3);
  std::vector<float> recv(send.size());
  std::atomic<bool> returned{false};
  std::thread rank([&] {
    const Choice choice = choiceOf(GetParam().algorithm, Protocol::Simple, 1, 0, GetParam().flags);
    EXPECT_EQ(Code::Ok, communicator.run(kSum, choice, reinterpret_cast<uint64_t>(send.data()),
                                         reinterpret_cast<uint64_t>(recv.data()), static_cast<int64_t>(send.size()), 0,
                                         kTimeoutNanos))
        << communicator.lastError();
    returned.store(true);
  });
  const auto waitsForTheNetwork = [&] {
    const std::vector<ChannelWait> waits = communicator.waiting();
    return !waits.empty() && waits.front().place.waitFor == WaitFor::Credit;
  };
  while (!returned.load() && !waitsForTheNetwork()) std::this_thread::yield();
  EXPECT_FALSE(returned.load()) << "the buffers are the caller's again while the network still sends from them";
  network.endSending();
  rank.join();
  EXPECT_TRUE(network.sentZeroCopy());
  EXPECT_EQ(recv, std::vector<float>(recv.size(), 6));
}

INSTANTIATE_TEST_SUITE_P(Algorithms, ZeroCopySendTest, ::testing::ValuesIn(kSymmetricVariants), nameOfVariant);

}  // namespace
}  // namespace jccl::test::zero_copy_transfer_test
