// Tests of network transports over verbs, on real queue pairs. On hosts without adapters, scripts/rdma-vm provides
// these.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string_view>
#include <vector>

#include "test/net_scenarios.h"
#include "test/verbs_objects.h"
#include "transport/ib_memory.h"
#include "transport/net_ib.h"

namespace jccl::net_ib_test {
namespace {

using test::configOf;
using test::Consumer;
using test::drive;
using test::errorOf;
using test::Pair;
using test::Producer;
using test::transfer;

const ConnectionShape kShape(256 * 1024, 16 * 1024, 16 * 1024);

NetMaker overVerbs() { return IbNet::open; }

class NetIb : public ::testing::Test {
 protected:
  void SetUp() override {
    std::unique_ptr<NetTransport> net;
    const Status made = NetTransport::create(configOf(0, 2), &net, overVerbs());
    if (!made) GTEST_SKIP() << made.message();
  }

  static Pair pairOf(const std::function<void(NetConfig&)>& change = {}) {
    return Pair(change, "127.0.0.1", {overVerbs(), overVerbs()});
  }
};

struct Shape {
  Protocol protocol;
  int queuePairs;
  bool split;
};

// Without this operator, GoogleTest prints the object's bytes, including uninitialised padding.
std::ostream& operator<<(std::ostream& out, const Shape& shape) {
  return out << test::titleOf(shape.protocol) << " queuePairs=" << shape.queuePairs << " split=" << shape.split;
}

class NetIbTransfers : public NetIb, public ::testing::WithParamInterface<Shape> {};

TEST_P(NetIbTransfers, AllSizesArriveInOrderAndWhole) {
  Pair pair = pairOf([](NetConfig& config) {
    config.ib.queuePairs = GetParam().queuePairs;
    config.ib.splitData = GetParam().split;
  });
  Producer producer(kShape);
  Consumer consumer(kShape);
  pair.connectOneWay(producer, consumer);
  transfer(pair, producer, consumer, GetParam().protocol, test::sizesOf(kShape, GetParam().protocol));
}

std::string nameOf(const ::testing::TestParamInfo<Shape>& info) {
  return std::string(test::titleOf(info.param.protocol)) + "Over" + std::to_string(info.param.queuePairs) +
         (info.param.split ? "QpsSplit" : "Qps");
}

INSTANTIATE_TEST_SUITE_P(Shapes, NetIbTransfers,
                         ::testing::Values(Shape{Protocol::Simple, 1, false}, Shape{Protocol::Simple, 3, false},
                                           Shape{Protocol::Simple, 3, true}, Shape{Protocol::LL, 1, false},
                                           Shape{Protocol::LL, 2, true}, Shape{Protocol::LL128, 1, false},
                                           Shape{Protocol::LL128, 2, false}),
                         nameOf);

TEST_F(NetIb, AKilledPeerIsNamedAtOnce) {
  test::killAPeer(overVerbs(), [](NetConfig& config) { config.ib.adapter.retryCount = 6; });
}

// With seven retries, Soft-RoCE retries for ever. The end of the process must be noticed nevertheless.
TEST_F(NetIb, AKilledPeerIsNamedIfQueuePairsRetryForEver) {
  test::killAPeer(overVerbs(), [](NetConfig& config) { config.ib.adapter.retryCount = 7; });
}

TEST_F(NetIb, ManyChannelsInBothDirectionsAtOnce) {
  Pair pair = pairOf([](NetConfig& config) { config.ib.queuePairs = 2; });
  test::sendBothWays(pair, 3, 40);
}

TEST_F(NetIb, ConnectingAheadPingsBeforeAnythingIsSent) {
  Pair pair = pairOf();
  Producer producer(kShape);
  Consumer consumer(kShape);
  pair.connectOneWay(producer, consumer);
  const Status ahead = pair.net[0]->connectAhead({{1, 0}});
  EXPECT_TRUE(ahead.isOk()) << ahead.message();
  transfer(pair, producer, consumer, Protocol::Simple, {1, 2, 3});
}

TEST_F(NetIb, AFinIsNoFailure) {
  Pair pair = pairOf();
  test::sendFin(pair, kShape);
}

TEST_F(NetIb, AMessageThatDoesNotFitTheReceiverIsNotSent) {
  Pair pair = pairOf();
  Producer producer(kShape);
  Consumer consumer(ConnectionShape(4096, 4096, 4096));
  pair.connectOneWay(producer, consumer);
  producer.send(Protocol::Simple, 8192);
  EXPECT_FALSE(drive(*pair.net[0], [&] { return producer.freed() == 1; }));
  int peer = -1;
  const std::string text = errorOf(*pair.net[0], &peer);
  EXPECT_EQ(1, peer);
  EXPECT_NE(std::string::npos, text.find("bytes=8192")) << text;
  EXPECT_NE(std::string::npos, text.find("capacity_bytes=4096")) << text;
}

TEST_F(NetIb, AnotherNumberOfQueuePairsIsRefusedWithItsReason) {
  Pair pair = pairOf([](NetConfig& config) { config.ib.queuePairs = 1 + config.rank; });
  Producer producer(kShape);
  Consumer consumer(kShape);
  pair.connectOneWay(producer, consumer);
  producer.send(Protocol::Simple, 1);
  pair.net[0]->kick();
  EXPECT_FALSE(drive(*pair.net[1], [] { return false; }));
  int peer = -1;
  const std::string text = errorOf(*pair.net[1], &peer);
  EXPECT_EQ(0, peer);
  EXPECT_NE(std::string::npos, text.find("qps=1, expected 2")) << text;
}

// A network that registers other memory than requested, so that its keys do not fit the addresses.
class NetOfWrongKeys final : public Net {
 public:
  static Status open(const NetConfig& config, EventSet& controlEvents, EventSet& dataEvents,
                     std::unique_ptr<Net>* net) {
    auto made = std::make_unique<NetOfWrongKeys>();
    Status opened = IbNet::open(config, controlEvents, dataEvents, &made->net_);
    *net = std::move(made);
    return opened;
  }

  const char* name() const override { return net_->name(); }
  const std::vector<NetDevice>& devices() const override { return net_->devices(); }
  Status listen(const std::vector<std::string>& addresses, std::unique_ptr<NetListener>* listener) override {
    return net_->listen(addresses, listener);
  }
  Status connect(const NetRoute& route, std::span<const uint8_t> listenerInfo,
                 std::unique_ptr<NetSendConnection>* connection) override {
    return net_->connect(route, listenerInfo, connection);
  }
  Status reachable(std::span<const uint8_t> listenerInfo) const override { return net_->reachable(listenerInfo); }
  bool needsRegisteredMemory() const override { return true; }
  Status registerMemory(void*, size_t, NetAccess access, std::unique_ptr<NetMemory>* memory) override {
    return net_->registerMemory(elsewhere_.memory().block, 4096, access, memory);
  }

 private:
  test::Block elsewhere_{ConnectionShape(4096, 4096, 4096)};  // outlives the network's regions
  std::unique_ptr<Net> net_;
};

TEST_F(NetIb, AWrongKeyEndsBothRanksWithADecodedError) {
  Pair pair({}, "127.0.0.1", {overVerbs(), NetOfWrongKeys::open});
  Producer producer(kShape);
  Consumer consumer(kShape);
  pair.connectOneWay(producer, consumer);
  const int64_t start = monotonicNanos();
  producer.send(Protocol::Simple, 100);
  EXPECT_FALSE(drive(*pair.net[0], [&] { return producer.freed() == 1; }));
  EXPECT_FALSE(drive(*pair.net[1], [] { return false; }));
  EXPECT_LT(monotonicNanos() - start, 10'000'000'000);
  int peer = -1;
  const std::string text = errorOf(*pair.net[0], &peer);
  EXPECT_EQ(1, peer);
  EXPECT_EQ(Code::Transport, pair.net[0]->error(&peer).code());
  for (const char* part : {"rank 1", "REM_ACCESS_ERR", "has not registered this memory", "gid=", "qp="}) {
    EXPECT_NE(std::string::npos, text.find(part)) << part << " is not in: " << text;
  }
  EXPECT_TRUE(pair.net[1]->failed());
  EXPECT_EQ(Code::Transport, pair.net[1]->error(&peer).code());
  EXPECT_NE(std::string::npos, errorOf(*pair.net[1], &peer).find("rank 0")) << errorOf(*pair.net[1], &peer);
}

// Creates and destroys JCCL_LEAK_CYCLES pairs of ranks.
TEST_F(NetIb, PairsThatComeAndGoLeaveNothingBehind) {
  const auto cycle = [] {
    Pair pair = pairOf();
    Producer producer(kShape);
    Consumer consumer(kShape);
    pair.connectOneWay(producer, consumer);
    transfer(pair, producer, consumer, Protocol::Simple, {100, 100'000});
    for (int rank : {0, 1}) pair.net[Pair::at(rank)]->close(10'000'000'000);
  };
  const auto descriptors = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  const char* text = std::getenv("JCCL_LEAK_CYCLES");
  const int cycles = text == nullptr ? 10 : std::atoi(text);
  cycle();  // the first cycle also creates objects that live as long as the process
  const auto openBefore = descriptors();
  const std::string before = test::verbsObjects();
  for (int i = 0; i < cycles && !HasFailure(); ++i) cycle();
  EXPECT_EQ(openBefore, descriptors());
  EXPECT_EQ(before, test::verbsObjects());
  std::printf("%d cycles; descriptors %td; in the kernel: %s\n", cycles, descriptors(), before.c_str());
}

// Soft-RoCE uses interfaces that can be taken down. Rank 0 sends through rx0, rank 1 receives through rx1.
class NetIbPortDown : public NetIb {
 protected:
  void SetUp() override {
    NetIb::SetUp();
    if (!IsSkipped() && !setLink("rx0", "up")) GTEST_SKIP() << "there is no Soft-RoCE on an interface rx0";
  }
  void TearDown() override {
    for (const char* interface : {"rx0", "rx1"}) setLink(interface, "up");
  }

  // Calls the kernel directly. A child process that changes the link could fail for other reasons during traffic.
  static ::testing::AssertionResult setLink(const char* interface, const char* state) {
    const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq request{};
    std::snprintf(request.ifr_name, sizeof request.ifr_name, "%s", interface);
    if (::ioctl(socket.get(), SIOCGIFFLAGS, &request) != 0) {
      return ::testing::AssertionFailure() << interface << ": SIOCGIFFLAGS: " << errorText(errno);
    }
    const bool up = std::string_view(state) == "up";
    request.ifr_flags = static_cast<short>(up ? request.ifr_flags | IFF_UP : request.ifr_flags & ~IFF_UP);
    if (::ioctl(socket.get(), SIOCSIFFLAGS, &request) == 0) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << interface << " " << state << ": SIOCSIFFLAGS: " << errorText(errno);
  }

  // Calls `doIt`, which harms the network, during traffic. Expects that both ranks fail; `texts` receives their errors.
  static void harm(const std::function<::testing::AssertionResult()>& doIt, int retryCount,
                   std::array<std::string, 2>* texts, const char* library = verbs::kDefaultLibrary) {
    Pair pair = pairOf([&](NetConfig& config) {
      config.ib.adapter.library = library;
      config.ib.adapter.hca = "rxe";
      config.ib.adapter.timeout = 14;
      config.ib.adapter.retryCount = retryCount;
    });
    Producer producer(kShape);
    Consumer consumer(kShape);
    pair.connectOneWay(producer, consumer);
    transfer(pair, producer, consumer, Protocol::Simple, {100});
    ASSERT_TRUE(doIt());
    const int64_t start = monotonicNanos();
    producer.send(Protocol::Simple, 200);
    pair.net[0]->kick();
    for (int rank : {0, 1}) {
      EXPECT_FALSE(drive(*pair.net[Pair::at(rank)], [] { return false; })) << "rank " << rank;
      ASSERT_TRUE(pair.net[Pair::at(rank)]->failed()) << "rank " << rank;
    }
    EXPECT_LT(monotonicNanos() - start, 10'000'000'000);
    for (int rank : {0, 1}) {
      int peer = -1;
      const Status error = pair.net[Pair::at(rank)]->error(&peer);
      EXPECT_EQ(Code::Transport, error.code());
      EXPECT_EQ(1 - rank, peer);
      (*texts)[Pair::at(rank)] = error.message();
    }
  }

  static void takeDown(const char* interface, int retryCount, std::array<std::string, 2>* texts) {
    harm([=] { return setLink(interface, "down"); }, retryCount, texts);
  }

  // Returns true if the text names one of the errors of a port that is down. Soft-RoCE fails a request without a route
  // at once; adapters retry until the retries are used up.
  static bool isDecoded(const std::string& text) {
    return text.find("LOC_QP_OP_ERR") != std::string::npos || text.find("RETRY_EXC_ERR") != std::string::npos ||
           text.find("has been down for") != std::string::npos;
  }
};

TEST_F(NetIbPortDown, EndsBothRanksWithADecodedError) {
  std::array<std::string, 2> texts;
  takeDown("rx0", 3, &texts);
  EXPECT_TRUE(isDecoded(texts[0])) << texts[0];
  EXPECT_NE(std::string::npos, texts[0].find("down")) << texts[0];
  EXPECT_NE(std::string::npos, texts[1].find("rank 0")) << texts[1];
}

// The sender would retry for ever. The receiver notices that its own port is down, and its failure ends the sender.
TEST_F(NetIbPortDown, EndsBothRanksIfQueuePairsRetryForEver) {
  std::array<std::string, 2> texts;
  takeDown("rx1", 7, &texts);
  EXPECT_TRUE(isDecoded(texts[1])) << texts[1];
  EXPECT_NE(std::string::npos, texts[1].find("down")) << texts[1];
  EXPECT_NE(std::string::npos, texts[0].find("rank 1")) << texts[0];
}

#ifdef JCCL_FAILING_VERBS
// An adapter that fails or is removed reports this by an event. Soft-RoCE never does. Here a library turns the event of
// a port that goes down into the failure of an adapter.
TEST_F(NetIbPortDown, AnAdapterThatFailsEndsBothRanks) {
  void* library = ::dlopen(JCCL_FAILING_VERBS, RTLD_NOW);
  ASSERT_NE(nullptr, library) << ::dlerror();  // NOLINT(concurrency-mt-unsafe)
  const auto arm = reinterpret_cast<void (*)()>(::dlsym(library, "failing_verbs_arm"));
  const auto reported = reinterpret_cast<int (*)()>(::dlsym(library, "failing_verbs_reported"));
  std::array<std::string, 2> texts;
  // Waits for the event before the pair sends anything, because a send could fail, since the port is down, before the
  // event arrives.
  const auto fail = [arm, reported]() -> ::testing::AssertionResult {
    arm();
    const int all = reported() + 2;  // one report for each rank, since both have opened the adapter
    if (const auto down = setLink("rx0", "down"); !down) return down;
    const int64_t end = monotonicNanos() + 5'000'000'000;
    while (reported() < all && monotonicNanos() < end) std::this_thread::yield();
    if (reported() >= all) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "no event after 5 s";
  };
  harm(fail, 7, &texts, JCCL_FAILING_VERBS);
  EXPECT_NE(std::string::npos, texts[0].find("the adapter has failed or was removed")) << texts[0];
  EXPECT_NE(std::string::npos, texts[0].find("rxe0")) << texts[0];
  EXPECT_NE(std::string::npos, texts[1].find("rank 0")) << texts[1];
  ::dlclose(library);
}
#endif

}  // namespace
}  // namespace jccl::net_ib_test
