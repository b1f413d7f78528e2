#include "base/fiber.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

namespace jccl {
namespace {

TEST(Fiber, ContinuesAfterEachPauseOnWhicheverThreadResumesIt) {
  Fiber fiber;
  ASSERT_TRUE(fiber.open().isOk());
  for (int round = 0; round < 3; ++round) {
    int done = 0;
    bool ended = fiber.start([&] {
      for (int i = 0; i < 100; ++i) {
        ++done;
        fiber.pause();
      }
    });
    for (int i = 1; i <= 100; ++i) {
      ASSERT_FALSE(ended);
      ASSERT_TRUE(fiber.isPaused());
      ASSERT_EQ(i, done);
      if (i % 10 == 0) {
        std::thread([&] { ended = fiber.resume(); }).join();
      } else {
        ended = fiber.resume();
      }
    }
    EXPECT_TRUE(ended);
    EXPECT_FALSE(fiber.isPaused());
  }
}

TEST(Fiber, EndsAtOnceIfTheBodyDoesNotPause) {
  Fiber fiber;
  ASSERT_TRUE(fiber.open().isOk());
  int done = 0;
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(fiber.start([&] { ++done; }));
  EXPECT_EQ(1000, done);
}

TEST(Fiber, ExceptionsPassFramesOnItsStack) {
  Fiber fiber;
  ASSERT_TRUE(fiber.open().isOk());
  std::string caught;
  EXPECT_FALSE(fiber.start([&] {
    try {
      fiber.pause();
      throw std::runtime_error("thrown after a pause");
    } catch (const std::exception& e) {
      caught = e.what();
    }
  }));
  std::thread([&] { EXPECT_TRUE(fiber.resume()); }).join();
  EXPECT_EQ("thrown after a pause", caught);
}

}  // namespace
}  // namespace jccl
