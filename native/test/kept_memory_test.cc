// Tests of user memory that stays registered with adapters between operations. The adapters are fakes that count
// registrations (verbs/fake_transfers.cc).
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <string>

#include "test/net_scenarios.h"
#include "transport/net_ib.h"

namespace jccl::test::kept_memory_test {
namespace {

const ConnectionShape kShape(64 * 1024, 16 * 1024, 16 * 1024);
constexpr size_t kBytes = size_t{1} << 20;
constexpr uint32_t kMessage = 40'000;
constexpr uint32_t kCheck = 17;

// Memory that fills whole pages, because memory that is only sent from is registered in whole pages.
class Pages {
 public:
  Pages()
      : address_(static_cast<uint8_t*>(
            ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {}
  ~Pages() { ::munmap(address_, kBytes); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  uint8_t* address() const { return address_; }

 private:
  uint8_t* const address_;
};

class KeptMemory : public ::testing::Test {
 protected:
  void SetUp() override {
    library_ = ::dlopen(JCCL_FAKE_VERBS, RTLD_NOW);
    ASSERT_NE(nullptr, library_) << ::dlerror();  // NOLINT(concurrency-mt-unsafe)
    call<void (*)()>("fake_verbs_forget")();
    const auto change = [](NetConfig& config) { config.ib.adapter.library = JCCL_FAKE_VERBS; };
    pair_ = std::make_unique<Pair>(change, "127.0.0.1", std::array<NetMaker, 2>{IbNet::open, IbNet::open});
    pair_->connectOneWay(producer_, consumer_);
    transfer(*pair_, producer_, consumer_, Protocol::Simple, {8});
  }
  void TearDown() override {
    pair_.reset();
    if (library_ != nullptr) ::dlclose(library_);
  }

  template <typename Function>
  Function call(const char* name) const {
    return reinterpret_cast<Function>(::dlsym(library_, name));
  }
  size_t registrations(const Pages& pages, size_t offset = 0) const {
    return call<size_t (*)(const void*)>("fake_verbs_registrations")(pages.address() + offset);
  }
  size_t regions(const Pages& pages, size_t offset = 0) const {
    return call<size_t (*)(const void*)>("fake_verbs_regions")(pages.address() + offset);
  }
  NetTransport& sender() { return *pair_->net[0]; }
  NetTransport& receiver() { return *pair_->net[1]; }
  uint64_t keep(NetTransport& net, const Pages& pages, size_t bytes = kBytes) {
    return net.keepUserMemory(pages.address(), bytes, [this] { return hasItsPages_; });
  }

  // Moves a message between user memory of both ranks, from `offset` on, as an operation does.
  void exchange(size_t offset = 0) {
    const uint64_t step = step_++;
    uint8_t* from = sent_.address() + offset;
    uint8_t* to = received_.address() + offset;
    std::memset(from, static_cast<int>(step), kMessage);
    std::memset(to, 0, kMessage);
    sender().addUserMemory(from, kBytes - offset, false);
    receiver().addUserMemory(to, kBytes - offset, true);
    ZeroCopySlot& target = consumer_.memory().zeroCopySlot(step);
    target.postedAddress = to;
    target.postedBytes = kMessage;
    target.postedCheck = kCheck;
    target.postedFor.store(step + 1, std::memory_order_release);
    producer_.memory().zeroCopySlot(step).userData = from;
    publish(producer_.memory(), step, Protocol::Simple, kMessage, kCheck);
    sender().kick();
    const std::atomic<uint64_t>& published = consumer_.memory().slotHeader(step)->published;
    ASSERT_TRUE(drive(receiver(), [&] { return published.load(std::memory_order_acquire) == step + 1; }));
    ASSERT_TRUE(drive(sender(), [&] { return producer_.freed() == step + 1; }));
    const uint8_t* arrived = consumer_.memory().zeroCopySlot(step).userData;
    if (arrived == nullptr) arrived = consumer_.memory().simpleSlot(step);
    EXPECT_EQ(0, std::memcmp(from, arrived, kMessage));
    consumer_.memory().head->head.store(step + 1, std::memory_order_release);
    sender().clearUserMemory();
    receiver().clearUserMemory();
  }

  void* library_ = nullptr;
  Producer producer_{kShape};
  Consumer consumer_{kShape};
  std::unique_ptr<Pair> pair_;
  Pages sent_;
  Pages received_;
  bool hasItsPages_ = true;
  uint64_t step_ = 1;
};

TEST_F(KeptMemory, OtherMemoryIsRegisteredForEveryOperation) {
  for (size_t i = 1; i <= 20; ++i) {
    exchange();
    EXPECT_EQ(i, registrations(sent_));
    EXPECT_EQ(i, registrations(received_));
    EXPECT_EQ(0u, regions(sent_) + regions(received_));
  }
}

TEST_F(KeptMemory, IsRegisteredOnceUntilItIsDropped) {
  const uint64_t from = keep(sender(), sent_);
  const uint64_t to = keep(receiver(), received_);
  EXPECT_NE(0u, from);
  EXPECT_EQ(0u, registrations(sent_)) << "expected no registration before the first use, which shows the adapter";
  for (size_t i = 0; i < 20; ++i) {
    exchange(i * 16'384);
    EXPECT_EQ(1u, registrations(sent_, kBytes - 1));
    EXPECT_EQ(1u, registrations(received_, kBytes - 1));
    EXPECT_EQ(1u, regions(sent_));
    EXPECT_EQ(1u, regions(received_));
  }
  sender().dropUserMemory(from);
  receiver().dropUserMemory(to);
  EXPECT_EQ(0u, regions(sent_) + regions(received_));
  exchange();
  EXPECT_EQ(2u, registrations(sent_));
  EXPECT_EQ(0u, regions(sent_) + regions(received_));
  sender().dropUserMemory(from);
}

// Pages change, for example, when the application frees the buffer. The adapter still has the previous pages.
TEST_F(KeptMemory, IsNotUsedAfterItsPagesHaveChanged) {
  const uint64_t number = keep(sender(), sent_);
  exchange();
  hasItsPages_ = false;
  exchange();
  EXPECT_EQ(2u, registrations(sent_));
  EXPECT_EQ(0u, regions(sent_));
  hasItsPages_ = true;
  exchange();
  EXPECT_EQ(3u, registrations(sent_)) << "memory whose pages have changed is not used again";
  sender().dropUserMemory(number);
}

TEST_F(KeptMemory, IsNotUsedForOperationsThatExceedIt) {
  keep(sender(), sent_, kBytes / 2);
  exchange();
  EXPECT_EQ(1u, registrations(sent_, kBytes - 1)) << "expected the registration of the operation";
  EXPECT_EQ(0u, regions(sent_));
}

TEST(KeptMemoryOfSockets, DoesNotExist) {
  Pair pair;
  Pages pages;
  EXPECT_EQ(0u, pair.net[0]->keepUserMemory(pages.address(), kBytes, [] { return true; }));
  pair.net[0]->dropUserMemory(0);
}

}  // namespace
}  // namespace jccl::test::kept_memory_test
