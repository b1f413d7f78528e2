// Tests of host staging on emulated GPUs: the order of operations, stream signals and stream waits.
#include "cuda/runtime/device_staging.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "base/clock.h"

namespace jccl::device::device_staging_test {
namespace {

using Kind = StagingStep::Kind;

constexpr int64_t kTimeoutNanos = 20'000'000'000;
constexpr int64_t kMomentNanos = 20'000'000;
constexpr uint64_t kFirst = DeviceStaging::kFirst;

StagingStep copy(std::vector<int>& to, const std::vector<int>& from) {
  return {Kind::Copy, to.data(), from.data(), from.size() * sizeof(int)};
}
StagingStep signal(uint64_t number) { return {Kind::Signal, nullptr, nullptr, number}; }
StagingStep wait(uint64_t number) { return {Kind::Wait, nullptr, nullptr, number}; }

// The staging of a rank, with two streams of the caller.
class Staging : public testing::Test {
 protected:
  Staging() {
    EXPECT_TRUE(guard_.status()) << guard_.status().message();
    static uint64_t communicators = 0;
    config_.token[0] = ++communicators;
    const Status status = DeviceStaging::create(config_, kTimeoutNanos, staging_);
    EXPECT_TRUE(status) << status.message();
    for (Stream& stream : streams_) EXPECT_TRUE(createStream(stream));
  }
  ~Staging() override {
    staging_.reset();
    for (Stream stream : streams_) (void)destroyStream(stream);
  }

  void put(const std::vector<StagingStep>& steps, Stream stream) {
    size_t done = 0;
    const Status status = staging_->put(steps, stream, done);
    ASSERT_TRUE(status) << status.message();
    ASSERT_EQ(done, steps.size());
  }
  bool reaches(uint64_t number, int64_t nanos = kTimeoutNanos) {
    bool reached = false;
    const Status status = staging_->await(number, nanos, reached);
    EXPECT_TRUE(status) << status.message();
    return reached;
  }

  const DeviceGuard guard_{0};  // makes the device's context current, as on the application's thread
  DeviceStaging::Config config_;
  std::unique_ptr<DeviceStaging> staging_;
  Stream streams_[2] = {};
};

TEST_F(Staging, AStreamWaitHoldsLaterWorkUntilItIsOpened) {
  const std::vector<int> sent(1000, 7);
  std::vector<int> staged(1000, 0), received(1000, 0), later(1000, 0);
  put({copy(staged, sent), signal(kFirst), wait(kFirst), copy(received, staged), signal(kFirst + 1)}, streams_[0]);
  ASSERT_TRUE(copyAsync(later.data(), received.data(), later.size() * sizeof(int), streams_[0]));
  ASSERT_TRUE(reaches(kFirst));
  EXPECT_EQ(staged, sent);
  EXPECT_FALSE(reaches(kFirst + 1, kMomentNanos));
  EXPECT_EQ(received[0], 0);
  for (int& value : staged) value *= 2;  // stands for the collective that the host executes
  staging_->open(kFirst);
  EXPECT_TRUE(reaches(kFirst + 1));
  EXPECT_EQ(received, staged);
  ASSERT_TRUE(synchronize(streams_[0]));
  EXPECT_EQ(later, staged);
}

TEST_F(Staging, OpeningAWaitOpensEarlierWaitsAndNoLaterOnes) {
  put({wait(kFirst), signal(kFirst), wait(kFirst + 1), signal(kFirst + 1), wait(kFirst + 2), signal(kFirst + 2)},
      streams_[0]);
  EXPECT_FALSE(reaches(kFirst, kMomentNanos));
  staging_->open(kFirst + 1);
  staging_->open(kFirst);  // must not close the later wait, which is open already
  EXPECT_TRUE(reaches(kFirst + 1));
  EXPECT_FALSE(reaches(kFirst + 2, kMomentNanos));
}

TEST_F(Staging, OperationsOnDifferentStreamsRunInTheirOrder) {
  const std::vector<int> sent(1000, 7);
  std::vector<int> first(1000, 0), second(1000, 0);
  put({wait(kFirst), copy(first, sent), signal(kFirst)}, streams_[0]);
  put({copy(second, first), signal(kFirst + 1)}, streams_[1]);
  EXPECT_FALSE(reaches(kFirst + 1, kMomentNanos));
  staging_->open(kFirst);
  EXPECT_TRUE(reaches(kFirst + 1));
  EXPECT_EQ(second, sent);
}

TEST_F(Staging, TheEndOfTheStagingOpensAllWaits) {
  put({wait(kFirst), signal(kFirst)}, streams_[0]);
  const int64_t start = monotonicNanos();
  staging_.reset();
  EXPECT_TRUE(synchronize(streams_[0]));
  EXPECT_LT(monotonicNanos() - start, kTimeoutNanos);
}

TEST_F(Staging, NumbersWrap) {
  constexpr uint64_t kStride = uint64_t{1} << 30;
  for (uint64_t number = kStride; number < 6 * kStride; number += kStride) {
    put({signal(number), wait(number), signal(number + 1)}, streams_[0]);
    ASSERT_TRUE(reaches(number));
    ASSERT_FALSE(reaches(number + 1, kMomentNanos)) << number;
    staging_->open(number);
    ASSERT_TRUE(reaches(number + 1));
  }
}

TEST_F(Staging, ACapturedStreamIsRefusedAndNothingIsPutOnIt) {
  ASSERT_TRUE(beginCapture(streams_[0]));
  const StagingStep step = signal(kFirst);
  size_t done = 0;
  const Status status = staging_->put({&step, 1}, streams_[0], done);
  EXPECT_EQ(status.code(), Code::Invalid);
  EXPECT_NE(status.message().find("cannot be captured"), std::string::npos);
  EXPECT_EQ(staging_->lastError(), status.message());
  EXPECT_EQ(done, 0u);
  Graph graph = nullptr;
  ASSERT_TRUE(endCapture(streams_[0], graph));
  ASSERT_TRUE(destroyGraph(graph));
  put({signal(kFirst)}, streams_[0]);
  EXPECT_TRUE(reaches(kFirst));
}

TEST_F(Staging, TwoRanksOfACommunicatorDoNotShareAStream) {
  put({signal(kFirst)}, streams_[0]);
  DeviceStaging::Config other = config_;
  other.rank = 1;
  std::unique_ptr<DeviceStaging> staging;
  ASSERT_TRUE(DeviceStaging::create(other, kTimeoutNanos, staging));
  const StagingStep step = signal(kFirst);
  size_t done = 0;
  EXPECT_EQ(staging->put({&step, 1}, streams_[0], done).code(), Code::Invalid);
  EXPECT_TRUE(staging->put({&step, 1}, streams_[1], done));
}

TEST_F(Staging, ALargerAreaLeavesTheOlderOneAsItIs) {
  void *small = nullptr, *again = nullptr, *large = nullptr;
  ASSERT_TRUE(staging_->area(10'000, small));
  ASSERT_TRUE(staging_->area(5'000, again));
  EXPECT_EQ(small, again);
  static_cast<char*>(small)[9'999] = 7;
  ASSERT_TRUE(staging_->area(1'000'000, large));
  EXPECT_NE(small, large);
  EXPECT_EQ(static_cast<char*>(small)[9'999], 7);
  ASSERT_TRUE(staging_->area(10'000, again));
  EXPECT_EQ(again, large);
  EXPECT_GE(staging_->areaBytes(), 1'010'000u);
}

}  // namespace
}  // namespace jccl::device::device_staging_test
