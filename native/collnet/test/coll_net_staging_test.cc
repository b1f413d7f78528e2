// Tests of the staging between GPU kernels and CollNet. Threads write and read slots in place of kernels.
#include "collnet/coll_net_staging.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "base/mapped_memory.h"
#include "collnet/test/switch_process.h"
#include "test/rank_threads.h"

namespace jccl::test::coll_net_staging_test {
namespace {

constexpr uint32_t kSlotBytes = 4096;
constexpr std::chrono::seconds kAwaitLimit{30};

// A leader: its CollNet group, its slots, and the functions with which a thread acts as its kernel.
class Leader {
 public:
  explicit Leader(int64_t callNanos = kTimeoutNanos) {
    check(CollNet::open(collNetPlugin(12), 7, {kTimeoutNanos, callNanos}, &net_));
    check(net_->listen(0, &handle_));
    for (ConnectionMemory* one : {&toNetwork_, &fromNetwork_}) {
      MappedMemory& memory = memory_.emplace_back();
      check(MappedMemory::mapAnonymous(shape_.blockBytes(), memory));
      *one = {memory.base(), reinterpret_cast<HeadLine*>(memory.base() + shape_.headOffset()), shape_};
    }
  }
  ~Leader() {
    if (began_) activity_.end();
  }

  const CollNetHandle& handle() const { return handle_; }
  void connect(std::span<const CollNetHandle> handles, int member, int ranks, int ranksOfHost) {
    check(net_->connect(0, handles, member, kTimeoutNanos));
    staging_ = std::make_unique<CollNetStaging>(
        std::vector<CollNetStaging::Led>{{toNetwork_, fromNetwork_, net_->group(0)}}, ranks, ranksOfHost);
    const Status started = staging_->start(activity_);
    EXPECT_TRUE(started.isOk()) << started.message();
  }
  void setOther(const Leader& other) { other_ = &other; }
  CollNetStaging& staging() { return *staging_; }

  void begin() {
    began_ = true;
    activity_.begin();
  }
  void end() {
    began_ = false;
    activity_.end();
  }

  void publish(const void* data, uint32_t bytes, DataType type, ReduceOp op, uint32_t check,
               Collective collective = Collective::AllReduce) {
    await([&] { return sent_ < toNetwork_.head->head.load() + kSlots; });
    SlotHeader* header = toNetwork_.slotHeader(sent_);
    if (bytes != 0) std::memcpy(toNetwork_.simpleSlot(sent_), data, bytes);
    header->check = check;
    header->bytes = bytes;
    header->protocol = static_cast<uint8_t>(Protocol::Simple);
    header->collective = static_cast<uint8_t>(collective);
    header->type = static_cast<uint8_t>(type);
    header->op = static_cast<uint8_t>(op);
    header->published.store(++sent_);
  }
  // Waits for the next slot and takes its data. Returns false if the network has failed on either host.
  bool take(void* data, uint32_t bytes, uint32_t check) {
    SlotHeader* header = fromNetwork_.slotHeader(taken_);
    bool failed = false;
    await([&] {
      failed = staging_->failed() || other_->staging_->failed();
      return failed || header->published.load() == taken_ + 1;
    });
    if (failed) return false;
    EXPECT_EQ(bytes, header->bytes);
    EXPECT_EQ(check, header->check);
    if (bytes != 0) std::memcpy(data, fromNetwork_.simpleSlot(taken_), bytes);
    fromNetwork_.head->head.store(++taken_);
    return true;
  }

 private:
  static void check(const Status& status) { EXPECT_TRUE(status.isOk()) << status.message(); }
  template <class Condition>
  static void await(Condition&& condition) {
    const auto deadline = std::chrono::steady_clock::now() + kAwaitLimit;
    while (!condition()) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      std::this_thread::yield();
    }
  }

  const ConnectionShape shape_{kSlotBytes, 1024, 1024};
  std::vector<MappedMemory> memory_;
  ConnectionMemory toNetwork_, fromNetwork_;
  std::unique_ptr<CollNet> net_;
  CollNetHandle handle_{};
  StagingActivity activity_;
  std::unique_ptr<CollNetStaging> staging_;
  const Leader* other_ = nullptr;
  uint64_t sent_ = 0, taken_ = 0;
  bool began_ = false;
};

class Leaders {
 public:
  explicit Leaders(int64_t callNanos = kTimeoutNanos, int ranks = 2, int ranksOfHost = 1)
      : leaders_{Leader(callNanos), Leader(callNanos)} {
    const std::array<CollNetHandle, 2> handles = {leaders_[0].handle(), leaders_[1].handle()};
    run([&](Leader& leader, int member) { leader.connect(handles, member, ranks, ranksOfHost); });
    leaders_[0].setOther(leaders_[1]);
    leaders_[1].setOther(leaders_[0]);
  }

  template <class Body>
  void run(Body&& body) {
    std::thread other([&] { body(leaders_[1], 1); });
    body(leaders_[0], 0);
    other.join();
  }
  Leader& operator[](size_t member) { return leaders_[member]; }

 private:
  SwitchProcess networkSwitch_;
  std::array<Leader, 2> leaders_;
};

TEST(CollNetStagingThread, SumsComeBackInOrder) {
  Leaders leaders;
  leaders.run([](Leader& leader, int member) {
    constexpr uint32_t kSteps = 100;
    leader.begin();
    std::thread kernel([&] {
      for (uint32_t step = 0; step < kSteps; ++step) {
        std::vector<int32_t> values(step % 5 == 0 ? 0 : 7 * step);
        std::iota(values.begin(), values.end(), static_cast<int32_t>(step) * (member + 1));
        leader.publish(values.data(), static_cast<uint32_t>(4 * values.size()), DataType::Int32, ReduceOp::Sum, step);
      }
    });
    for (uint32_t step = 0; step < kSteps; ++step) {
      std::vector<int32_t> sums(step % 5 == 0 ? 0 : 7 * step);
      EXPECT_TRUE(leader.take(sums.data(), static_cast<uint32_t>(4 * sums.size()), step));
      for (size_t i = 0; i < sums.size(); ++i) EXPECT_EQ(static_cast<int32_t>(3 * step + 2 * i), sums[i]);
    }
    kernel.join();
    leader.end();
  });
}

TEST(CollNetStagingThread, AveragesDivideByTheNumberOfAllRanks) {
  Leaders leaders(kTimeoutNanos, 8);
  leaders.run([](Leader& leader, int) {
    const float sum = 12;  // the sum over the ranks of one host
    float average = 0;
    leader.begin();
    leader.publish(&sum, 4, DataType::Float32, ReduceOp::Avg, 1);
    EXPECT_TRUE(leader.take(&average, 4, 1));
    EXPECT_EQ(3, average);
    leader.end();
  });
}

TEST(CollNetStagingThread, PartsAreGatheredAndScattered) {
  constexpr int kOfHost = 2, kRanks = 4;
  Leaders leaders(kTimeoutNanos, kRanks, kOfHost);
  leaders.run([](Leader& leader, int member) {
    leader.begin();
    uint32_t check = 0;
    // Parts of many sizes, and an empty one.
    for (const uint32_t count : {1u, 0u, 700u, 3u, 1024u}) {
      const uint32_t bytes = 4 * count;
      std::vector<int32_t> part(count), found(count);
      ++check;
      for (int rank = kOfHost * member; rank < kOfHost * (member + 1); ++rank) {
        std::iota(part.begin(), part.end(), 1000 * rank);
        leader.publish(part.data(), bytes, DataType::Int32, ReduceOp::Sum, check, Collective::AllGather);
      }
      for (int rank = 0; rank < kRanks; ++rank) {
        std::iota(part.begin(), part.end(), 1000 * rank);
        EXPECT_TRUE(leader.take(found.data(), bytes, check));
        EXPECT_EQ(part, found);
      }
      ++check;
      for (int rank = 0; rank < kRanks; ++rank) {
        std::iota(part.begin(), part.end(), 1000 * rank + member);
        leader.publish(part.data(), bytes, DataType::Int32, ReduceOp::Max, check, Collective::ReduceScatter);
      }
      for (int rank = kOfHost * member; rank < kOfHost * (member + 1); ++rank) {
        std::iota(part.begin(), part.end(), 1000 * rank + 1);
        EXPECT_TRUE(leader.take(found.data(), bytes, check));
        EXPECT_EQ(part, found);
      }
    }
    leader.end();
  });
}

TEST(CollNetStagingThread, StepsOfAChunkMustBelongToOneOperation) {
  Leaders leaders(kTimeoutNanos, 4, 2);
  Leader& leader = leaders[0];
  const std::array<uint8_t, 8> data{};
  leader.begin();
  leader.publish(data.data(), 8, DataType::Int32, ReduceOp::Sum, 1, Collective::AllGather);
  leader.publish(data.data(), 4, DataType::Int32, ReduceOp::Sum, 1, Collective::AllGather);
  std::array<uint8_t, 8> found{};
  EXPECT_FALSE(leader.take(found.data(), 8, 1));
  const std::string error = leader.staging().error().message();
  EXPECT_NE(std::string::npos, error.find("step=1 bytes=4 belongs to another operation")) << error;
}

TEST(CollNetStagingThread, AWrongHeaderIsAnError) {
  Leaders leaders;
  Leader& leader = leaders[0];
  const std::array<uint8_t, 8> data{};
  leader.begin();
  leader.publish(data.data(), 7, DataType::Int32, ReduceOp::Sum, 1);
  std::array<uint8_t, 8> sums{};
  EXPECT_FALSE(leader.take(sums.data(), 7, 1));
  const std::string error = leader.staging().error().message();
  EXPECT_NE(std::string::npos, error.find("step=0 protocol=2 collective=0 type=2 op=0 bytes=7")) << error;
}

TEST(CollNetStagingThread, ACallThatDoesNotReturnFailsAllLeaders) {
  const Fault fault("blocks=iallreduce");
  const Variable length("JCCL_TEST_COLLNET_BLOCK_MS", "60000");
  Leaders leaders(200'000'000);
  std::array<bool, 2> ended{};
  leaders.run([&](Leader& leader, int member) {
    leader.begin();
    const float one = 1;
    float sum = 0;
    bool good = true;
    for (uint32_t step = 0; good && step < 100; ++step) {
      leader.publish(&one, 4, DataType::Float32, ReduceOp::Sum, step);
      good = leader.take(&sum, 4, step);
    }
    ended[static_cast<size_t>(member)] = !good;
  });
  EXPECT_TRUE(ended[0] && ended[1]);
  const std::string errors = leaders[0].staging().error().message() + leaders[1].staging().error().message();
  EXPECT_NE(std::string::npos, errors.find("iallreduce has not returned")) << errors;
}

}  // namespace
}  // namespace jccl::test::coll_net_staging_test
