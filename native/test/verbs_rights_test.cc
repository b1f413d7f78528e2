// Tests of the access rights that connections over verbs request. The fake adapters (verbs/fake_transfers.cc) check
// every request: a missing right fails the transfer, and rights that nothing needed are listed.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "test/net_scenarios.h"
#include "transport/net_ib.h"

namespace jccl::test::verbs_rights_test {
namespace {

const ConnectionShape kShape(64 * 1024, 16 * 1024, 16 * 1024);

class VerbsRights : public ::testing::Test {
 protected:
  void SetUp() override {
    library_ = ::dlopen(JCCL_FAKE_VERBS, RTLD_NOW);
    ASSERT_NE(nullptr, library_) << ::dlerror();  // NOLINT(concurrency-mt-unsafe)
    call<void (*)()>("fake_verbs_forget")();
  }
  void TearDown() override {
    if (library_ != nullptr) ::dlclose(library_);
  }

  template <typename Function>
  Function call(const char* name) const {
    return reinterpret_cast<Function>(::dlsym(library_, name));
  }
  std::string unneeded() const { return call<const char* (*)()>("fake_verbs_unneeded_rights")(); }

  static Pair pairOf(int queuePairs = 1) {
    return Pair(
        [queuePairs](NetConfig& config) {
          config.ib.adapter.library = JCCL_FAKE_VERBS;
          config.ib.queuePairs = queuePairs;
          EXPECT_TRUE(NetDeviceNumbers::parse("0 fake0:1\n1 fake0:2\n2 fake1:1\n", &config.devices).isOk());
        },
        "127.0.0.1", {IbNet::open, IbNet::open});
  }

  void* library_ = nullptr;
};

TEST_F(VerbsRights, SlotsAndQueuePairsHaveOnlyRightsThatSomeProtocolNeeds) {
  {
    Pair pair = pairOf();
    Producer producer(kShape);
    Consumer consumer(kShape);
    pair.connectOneWay(producer, consumer);
    for (const Protocol protocol : {Protocol::Simple, Protocol::LL, Protocol::LL128}) {
      transfer(pair, producer, consumer, protocol, sizesOf(kShape, protocol));
    }
    for (const int rank : {0, 1}) pair.net[Pair::at(rank)]->close(10'000'000'000);
  }
  EXPECT_EQ("", unneeded());
}

TEST_F(VerbsRights, EachOfSeveralQueuePairsHasOnlyTheRightToWrite) {
  {
    Pair pair = pairOf(2);
    sendBothWays(pair, 3, 40);
    for (const int rank : {0, 1}) pair.net[Pair::at(rank)]->close(10'000'000'000);
  }
  EXPECT_EQ(std::string::npos, unneeded().find("queue pair")) << unneeded();
}

// A flush of GPU memory reads through a queue pair of its own, which no peer reaches.
TEST_F(VerbsRights, OnlyTheQueuePairThatFlushesMayRead) {
  uint8_t* places[2];
  std::vector<uint8_t> memory(2 * kShape.simpleSlotsBytes() + 4096);
  places[0] = memory.data() + 4096 - reinterpret_cast<uintptr_t>(memory.data()) % 4096;
  places[1] = places[0] + kShape.simpleSlotsBytes();
  {
    Pair pair = pairOf();
    Producer producer(kShape);
    Consumer consumer(kShape, places[1]);
    const Status reached = pair.net[1]->setDeviceMemory({places[1], kShape.simpleSlotsBytes(), -1}, {0, 1, 2});
    ASSERT_TRUE(reached.isOk()) << reached.message();
    pair.connectOneWay(producer, consumer);
    transfer(pair, producer, consumer, Protocol::Simple, {1, 100, 60'000});
    transfer(pair, producer, consumer, Protocol::LL, {1});
    for (const int rank : {0, 1}) pair.net[Pair::at(rank)]->close(10'000'000'000);
  }
  // The memory is registered with all adapters, but the connection uses only one. Ignores the regions of the other
  // adapters.
  std::string text = unneeded();
  const std::string others = "region bytes=" + std::to_string(kShape.simpleSlotsBytes());
  for (size_t at; (at = text.find(others)) != std::string::npos;) text.erase(at, text.find('\n', at) + 1 - at);
  EXPECT_EQ("", text);
}

// User memory that the network sends from or receives into without a copy is registered for that use alone.
TEST_F(VerbsRights, UserMemoryHasOnlyTheRightsThatItsUseNeeds) {
  std::vector<uint8_t> sent(40'000, 7);
  std::vector<uint8_t> received(sent.size());
  {
    Pair pair = pairOf();
    Producer producer(kShape);
    Consumer consumer(kShape);
    pair.connectOneWay(producer, consumer);
    pair.net[0]->addUserMemory(sent.data(), sent.size(), false);
    pair.net[1]->addUserMemory(received.data(), received.size(), true);
    const auto bytes = static_cast<uint32_t>(sent.size());
    transfer(pair, producer, consumer, Protocol::Simple, {8});
    const uint8_t* place = nullptr;
    // A sender that has not received the address in time writes into the slot.
    for (uint64_t step = 1; place != received.data(); ++step) {
      ASSERT_LT(step, 50u);
      postAddress(consumer, step, received);
      drive(
          *pair.net[1], [] { return false; }, 5'000'000);
      producer.memory().zeroCopySlot(step).userData = sent.data();
      publish(producer.memory(), step, Protocol::Simple, bytes, static_cast<uint32_t>(step * 31));
      pair.net[0]->kick();
      const std::atomic<uint64_t>& published = consumer.memory().slotHeader(step)->published;
      ASSERT_TRUE(drive(*pair.net[1], [&] { return published.load(std::memory_order_acquire) == step + 1; }));
      place = consumer.memory().zeroCopySlot(step).userData;
      consumer.memory().head->head.store(step + 1, std::memory_order_release);
      ASSERT_TRUE(drive(*pair.net[0], [&] { return producer.freed() == step + 1; }));
    }
    for (const int rank : {0, 1}) pair.net[Pair::at(rank)]->clearUserMemory();
  }
  EXPECT_EQ(sent, received);
  EXPECT_EQ(std::string::npos, unneeded().find("region bytes=40")) << unneeded();
}

// Tests the fake adapters themselves, because the other tests rely on them.
TEST_F(VerbsRights, AWriteThatTheOtherEndDoesNotAllowIsRefused) {
  verbs::AdapterSettings settings;
  settings.library = JCCL_FAKE_VERBS;
  std::vector<std::unique_ptr<verbs::Adapter>> adapters;
  ASSERT_TRUE(verbs::openAdapters(settings, "/sys", &adapters).isOk());
  verbs::Adapter& adapter = *adapters.front();
  uint64_t from = 5;
  for (const bool byQueuePair : {false, true}) {
    for (const bool byRegion : {false, true}) {
      uint64_t to = 0;
      std::unique_ptr<verbs::Completions> completions;
      ASSERT_TRUE(verbs::Completions::make(adapter.device(), 16, &completions).isOk());
      std::unique_ptr<verbs::Region> source;
      std::unique_ptr<verbs::Region> target;
      const int written = verbs::kAccessLocalWrite | (byRegion ? verbs::kAccessRemoteWrite : 0);
      ASSERT_TRUE(verbs::Region::make(adapter.device(), &from, sizeof from, 0, false, &source).isOk());
      ASSERT_TRUE(verbs::Region::make(adapter.device(), &to, sizeof to, written, false, &target).isOk());
      std::unique_ptr<verbs::QueuePairObject> qp;
      ASSERT_TRUE(verbs::QueuePairObject::make(adapter.device(), *completions, {4, 4, 0}, &qp).isOk());
      ASSERT_TRUE(qp->initialise(adapter.path(), byQueuePair ? verbs::kAccessRemoteWrite : 0).isOk());
      verbs::RemoteEnd itself;
      itself.qpNumber = qp->number();
      itself.psn = qp->sendPsn();
      ASSERT_TRUE(qp->connect(itself).isOk());
      ASSERT_TRUE(qp->start().isOk());
      verbs::ScatterGather entry{reinterpret_cast<uintptr_t>(&from), sizeof from, source->lkey()};
      verbs::SendRequest request{};
      request.list = &entry;
      request.listLength = 1;
      request.opcode = verbs::kWrRdmaWrite;
      request.flags = verbs::kSendSignaled;
      request.rdma = {reinterpret_cast<uintptr_t>(&to), target->rkey()};
      ASSERT_TRUE(qp->postSends(&request).isOk());
      std::array<verbs::WorkCompletion, 2> completed{};
      size_t count = 0;
      ASSERT_TRUE(completions->poll(completed, &count).isOk());
      ASSERT_EQ(1u, count);
      const bool allowed = byQueuePair && byRegion;
      EXPECT_EQ(allowed ? verbs::kWcSuccess : verbs::kWcRemoteAccessError, completed[0].status);
      EXPECT_EQ(allowed ? 5u : 0u, to);
    }
  }
}

// A process that can guess the number of a queue pair must not be able to guess its packet sequence numbers.
TEST_F(VerbsRights, EveryQueuePairBeginsWithAPacketSequenceNumberOfItsOwn) {
  {
    Pair pair = pairOf(4);
    sendBothWays(pair, 2, 3);
  }
  const size_t senders = call<size_t (*)()>("fake_verbs_senders")();
  ASSERT_EQ(32u, senders) << "2 ends x 2 directions x 2 channels x 4 queue pairs";
  std::set<uint32_t> psns;
  for (size_t i = 0; i < senders; ++i) psns.insert(call<uint32_t (*)(size_t)>("fake_verbs_first_psn")(i));
  EXPECT_GE(psns.size(), senders - 1) << "32 of 2^24 random numbers collide once in 34 thousand runs";
  EXPECT_LT(*psns.rbegin(), 1u << 24);
}

// Registered memory ends with the buffer, so that the peer cannot access other data on its last page.
TEST_F(VerbsRights, MemoryThatAPeerMayWriteIsNotWidenedToItsPages) {
  verbs::AdapterSettings settings;
  settings.library = JCCL_FAKE_VERBS;
  std::vector<std::unique_ptr<verbs::Adapter>> adapters;
  ASSERT_TRUE(verbs::openAdapters(settings, "/sys", &adapters).isOk());
  std::vector<uint8_t> memory(3 * 4096);
  verbs::MemoryCache::Shared region;
  verbs::MemoryCache::Shared part;
  ASSERT_TRUE(adapters.front()->memory().get(memory.data() + 10, 5000, true, &region).isOk());
  EXPECT_EQ(memory.data() + 10, region->address());
  EXPECT_EQ(5000u, region->bytes());
  ASSERT_TRUE(adapters.front()->memory().get(memory.data() + 11, 4999, true, &part).isOk());
  EXPECT_EQ(region, part);
}

}  // namespace
}  // namespace jccl::test::verbs_rights_test
