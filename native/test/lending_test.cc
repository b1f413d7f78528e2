// Direct all-reduces between ranks that a network joins: large pieces are sent from where they lie.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <thread>
#include <vector>

#include "engine/endpoint.h"
#include "test/rank_threads.h"

namespace jccl::test {
namespace {

constexpr OperationCode kSum{Collective::AllReduce, DataType::Float32, ReduceOp::Sum};

// Two ranks of one process, joined by sockets only.
class NetRanks {
 public:
  NetRanks() {
    std::array<std::vector<uint8_t>, 2> info;
    for (const size_t rank : {0, 1}) {
      EndpointConfig config;
      config.communicator.rank = static_cast<int>(rank);
      config.communicator.size = 2;
      config.communicator.localRanks = 2;
      config.communicator.cores = 2;
      config.secret.assign(16, 42);
      check(Endpoint::create(config, endpoints[rank]));
      check(endpoints[rank]->connectInfo({"127.0.0.1"}, info[rank]));
    }
    for (const size_t rank : {0, 1}) {
      check(endpoints[rank]->connect(static_cast<int>(1 - rank), TransportKind::Net, info[1 - rank]));
      check(endpoints[rank]->communicator().setRing(0, {0, 1}));
    }
  }

  Code allReduce(size_t rank, const float* send, float* recv, size_t count, int64_t timeoutNanos = kTimeoutNanos) {
    return endpoints[rank]->communicator().run(kSum, choiceOf(Algorithm::Direct, Protocol::Simple),
                                               reinterpret_cast<uint64_t>(send), reinterpret_cast<uint64_t>(recv),
                                               static_cast<int64_t>(count), 0, timeoutNanos);
  }

  std::array<std::unique_ptr<Endpoint>, 2> endpoints;

 private:
  static void check(const Status& status) { EXPECT_TRUE(status.isOk()) << status.message(); }
};

float valueOf(size_t rank, size_t i, int turn) { return static_cast<float>((i * 7 + rank * 3 + turn) % 1000); }

void reduceAgainAndAgain(NetRanks& ranks, size_t rank, size_t count, bool inPlace) {
  std::vector<float> send(count);
  std::vector<float> recv(count);
  for (int turn = 0; turn < 10; ++turn) {
    for (size_t i = 0; i < count; ++i) send[i] = valueOf(rank, i, turn);
    float* out = inPlace ? send.data() : recv.data();
    ASSERT_EQ(Code::Ok, ranks.allReduce(rank, send.data(), out, count)) << ranks.endpoints[rank]->lastError();
    size_t wrong = 0;
    for (size_t i = 0; i < count; ++i) wrong += out[i] != valueOf(0, i, turn) + valueOf(1, i, turn) ? 1 : 0;
    ASSERT_EQ(0u, wrong) << "count=" << count << " inPlace=" << inPlace << " turn=" << turn;
    // The network has let go of the buffer: what is in it now must not reach the peer.
    std::fill(send.begin(), send.end(), -1e6f);
  }
}

TEST(Lending, SumsAreExactWhateverTheSizeInPlaceAndOutOfPlace) {
  NetRanks ranks;
  for (const size_t count : {1, 4095, 4096, 4097, 32768, 100'003, 1'000'003}) {
    for (const bool inPlace : {false, true}) {
      std::thread other([&] { reduceAgainAndAgain(ranks, 1, count, inPlace); });
      reduceAgainAndAgain(ranks, 0, count, inPlace);
      other.join();
    }
  }
}

TEST(Lending, AFailedOperationLeavesNothingThatReadsItsBuffer) {
  NetRanks ranks;
  constexpr size_t kCount = 8u << 20;  // more than sockets and slots hold
  constexpr size_t kBytes = kCount * sizeof(float);
  void* memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(MAP_FAILED, memory);
  auto* buffer = static_cast<float*>(memory);
  ASSERT_EQ(Code::Timeout, ranks.allReduce(0, buffer, buffer, kCount, 200'000'000));
  // Whoever reads the buffer now is refused by the kernel, and the connection fails.
  ASSERT_EQ(0, ::mprotect(memory, kBytes, PROT_NONE));
  const std::string before = ranks.endpoints[0]->lastError();
  // The peer comes late and takes what has been sent: now there would be room for more.
  std::vector<float> late(kCount);
  EXPECT_EQ(Code::Timeout, ranks.allReduce(1, late.data(), late.data(), kCount, 500'000'000));
  ranks.endpoints[0]->communicator().abort(Code::Aborted);
  EXPECT_EQ(before, ranks.endpoints[0]->lastError());
  ::munmap(memory, kBytes);
}

}  // namespace
}  // namespace jccl::test
