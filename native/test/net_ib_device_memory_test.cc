// Tests of SIMPLE slots in GPU memory over verbs, on real queue pairs; scripts/rdma-vm provides these on a host without
// adapters. Ordinary memory stands for GPU memory. It is registered separately, and flushed after each message by an
// RDMA read over a queue pair that is connected to itself. A library between the test and libibverbs counts the reads,
// and can make one fail.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "base/log.h"
#include "test/net_scenarios.h"
#include "test/verbs_objects.h"
#include "transport/net_ib.h"

#ifdef JCCL_FAILING_VERBS
namespace jccl::net_ib_device_memory_test {
namespace {

using test::Consumer;
using test::Pair;
using test::Producer;

const ConnectionShape kShape(64 * 1024, 16 * 1024, 16 * 1024);

class NetIbDeviceMemory : public ::testing::Test {
 protected:
  void SetUp() override {
    std::error_code none;
    int number = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/sys/class/infiniband", none)) {
      adapters_.insert(number);
      numbers_ += std::to_string(number++) + " " + entry.path().filename().string() + ":1\n";
    }
    library_ = ::dlopen(JCCL_FAILING_VERBS, RTLD_NOW);
    ASSERT_NE(nullptr, library_) << ::dlerror();  // NOLINT(concurrency-mt-unsafe)
    std::unique_ptr<NetTransport> net;
    const Status made = NetTransport::create(test::configOf(0, 2), &net, IbNet::open);
    if (!made) GTEST_SKIP() << made.message();
    call<void (*)(int)>("failing_verbs_fail_read")(-1);
  }
  void TearDown() override {
    if (library_ != nullptr) ::dlclose(library_);
  }

  template <typename Function>
  Function call(const char* name) const {
    return reinterpret_cast<Function>(::dlsym(library_, name));
  }
  int reads() const { return call<int (*)()>("failing_verbs_reads")(); }

  // Returns two ranks that use the library between test and libibverbs.
  Pair pairOf() const {
    return Pair(
        [this](NetConfig& config) {
          config.ib.adapter.library = JCCL_FAILING_VERBS;
          EXPECT_TRUE(NetDeviceNumbers::parse(numbers_, &config.devices).isOk());
        },
        "127.0.0.1", {IbNet::open, IbNet::open});
  }

  // A connection from rank 0 to rank 1 with the SIMPLE slots of both ends in device memory.
  struct Ends {
    Ends(Pair& pair, NetIbDeviceMemory& test) : producer(kShape, test.place(0)), consumer(kShape, test.place(1)) {
      for (const int rank : {0, 1}) {
        const NetDeviceMemory memory = {test.place(rank), kShape.simpleSlotsBytes(), -1};
        const Status reached = pair.net[Pair::at(rank)]->setDeviceMemory(memory, test.adapters_);
        EXPECT_TRUE(reached.isOk()) << reached.message();
      }
      pair.connectOneWay(producer, consumer);
    }

    Producer producer;
    Consumer consumer;
  };

  // Returns the device memory of a rank, which outlives the transports.
  uint8_t* place(int rank) {
    std::vector<uint8_t>& memory = memory_[Pair::at(rank)];
    memory.resize(kShape.simpleSlotsBytes() + 4096);
    return memory.data() + 4096 - reinterpret_cast<uintptr_t>(memory.data()) % 4096;
  }

  std::array<std::vector<uint8_t>, 2> memory_;
  std::string numbers_;
  std::set<int> adapters_;
  void* library_ = nullptr;
};

TEST_F(NetIbDeviceMemory, EveryMessageOfSimpleIsFlushedAndArrivesWhole) {
  Pair pair = pairOf();
  Ends ends(pair, *this);
  const std::vector<uint32_t> sizes = test::sizesOf(kShape, Protocol::Simple);
  const int before = reads();
  test::transfer(pair, ends.producer, ends.consumer, Protocol::Simple, sizes);
  const auto empty = std::count(sizes.begin(), sizes.end(), 0u);
  EXPECT_EQ(before + static_cast<int>(sizes.size()) - static_cast<int>(empty), reads());
}

TEST_F(NetIbDeviceMemory, OtherProtocolsUseHostMemory) {
  Pair pair = pairOf();
  Ends ends(pair, *this);
  const int before = reads();
  test::transfer(pair, ends.producer, ends.consumer, Protocol::LL, {1, 100, 2000});
  test::transfer(pair, ends.producer, ends.consumer, Protocol::LL128, {1, 100});
  EXPECT_EQ(before, reads());
  test::transfer(pair, ends.producer, ends.consumer, Protocol::Simple, {1, 60'000});
  EXPECT_EQ(before + 2, reads());
}

// The processor can inline small data into requests, but not from GPU memory, which it cannot read.
TEST_F(NetIbDeviceMemory, NoDataIsInlined) {
  const auto inlined = call<int (*)()>("failing_verbs_inlined");
  Pair pair = pairOf();
  Ends ends(pair, *this);
  const int before = inlined();
  test::transfer(pair, ends.producer, ends.consumer, Protocol::Simple, {1, 8, 64, 128});
  EXPECT_EQ(before, inlined());
  test::transfer(pair, ends.producer, ends.consumer, Protocol::LL, {1});
  EXPECT_EQ(before + 1, inlined());
}

// Data that has arrived must not be reported if its flush fails. The connection ends with an error that says why.
TEST_F(NetIbDeviceMemory, AFlushThatFailsEndsTheConnectionWithADecodedError) {
  Pair pair = pairOf();
  Ends ends(pair, *this);
  test::transfer(pair, ends.producer, ends.consumer, Protocol::Simple, {100, 200});
  call<void (*)(int)>("failing_verbs_fail_read")(0);
  ends.producer.send(Protocol::Simple, 300);
  pair.net[0]->kick();
  EXPECT_FALSE(test::drive(*pair.net[1], [&] { return ends.consumer.tryReceive(Protocol::Simple, 300); }));
  int peer = -1;
  const Status error = pair.net[1]->error(&peer);
  EXPECT_EQ(Code::Transport, error.code());
  EXPECT_EQ(0, peer);
  for (const char* part :
       {"rank 0", "flushing memory of the GPU failed", "REM_ACCESS_ERR", "gid=", "qp=", "receiving step=2"}) {
    EXPECT_NE(std::string::npos, error.message().find(part)) << part << " is not in: " << error.message();
  }
  EXPECT_EQ(2u, ends.consumer.step()) << "a message was published that was not flushed";
}

TEST_F(NetIbDeviceMemory, AdaptersOfThePlanThatThisRankDoesNotUseAreRefused) {
  Pair pair = pairOf();
  const Status reached = pair.net[0]->setDeviceMemory({this, 4096, -1}, {77});
  EXPECT_EQ(Code::Invalid, reached.code());
  EXPECT_NE(std::string::npos, reached.message().find("NET/77 of the plan is not in use on this rank"))
      << reached.message();
}

TEST_F(NetIbDeviceMemory, NothingIsLeftBehind) {
  const auto cycle = [this] {
    Pair pair = pairOf();
    Ends ends(pair, *this);
    test::transfer(pair, ends.producer, ends.consumer, Protocol::Simple, {100, 60'000});
    for (const int rank : {0, 1}) pair.net[Pair::at(rank)]->close(10'000'000'000);
  };
  cycle();  // the first cycle also creates objects that live as long as the process
  const std::string before = test::verbsObjects();
  for (int i = 0; i < 5 && !HasFailure(); ++i) cycle();
  EXPECT_EQ(before, test::verbsObjects());
}

}  // namespace
}  // namespace jccl::net_ib_device_memory_test
#endif
