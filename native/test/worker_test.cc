// Tests of Worker, a thread that runs jobs for others and is abandoned if a call does not return.
#include "engine/worker.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <new>

namespace jccl::worker_test {
namespace {

TEST(WorkerTest, RunsEachJobOnItsThread) {
  for (const bool hasCore : {true, false}) {
    Worker worker(nullptr, hasCore);
    int jobs = 0;
    std::thread::id thread;
    ASSERT_TRUE(worker
                    .open("jccl-test",
                          [&] {
                            ++jobs;
                            thread = std::this_thread::get_id();
                          })
                    .isOk());
    for (int i = 1; i <= 1000; ++i) {
      worker.start();
      ASSERT_TRUE(worker.join());
      ASSERT_EQ(i, jobs);
    }
    EXPECT_NE(std::this_thread::get_id(), thread);
  }
}

TEST(WorkerTest, ContinuesAfterAJobThatThrows) {
  Worker worker(nullptr);
  int jobs = 0;
  ASSERT_TRUE(worker
                  .open("jccl-test",
                        [&jobs] {
                          if (++jobs < 3) throw std::bad_alloc();
                        })
                  .isOk());
  for (int i = 1; i <= 4; ++i) {
    worker.start();
    ASSERT_TRUE(worker.join());
    ASSERT_EQ(i, jobs);
  }
}

TEST(WorkerTest, IsAbandonedInACallThatDoesNotReturn) {
  static std::atomic<std::thread::id> held;  // static, because the abandoned thread outlives the test
  Worker worker([](std::thread::id thread) { return held.load() == thread; });
  std::atomic<bool> goes{true};
  ASSERT_TRUE(worker
                  .open("jccl-test",
                        [&goes] {
                          if (goes.load()) return;
                          held.store(std::this_thread::get_id());
                          for (;;) ::pause();
                        })
                  .isOk());
  worker.start();
  ASSERT_TRUE(worker.join());
  goes.store(false);
  worker.start();
  EXPECT_FALSE(worker.join());
}

}  // namespace
}  // namespace jccl::worker_test
