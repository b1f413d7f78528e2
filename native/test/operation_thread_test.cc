// Tests of the thread on which a communicator runs operations over a network whose calls may block.
#include <gtest/gtest.h>

#include <stdexcept>

#include "base/mapped_memory.h"
#include "engine/engine.h"

namespace jccl::test::operation_thread_test {
namespace {

class ThrowingNetwork final : public ProgressEngine {
 public:
  int poll() override { return 0; }
  void waitForEvents(int64_t /*nanos*/) override {}
  void kick() override { throw std::runtime_error("of the test"); }
  bool mayBlock() const override { return true; }
};

TEST(OperationThreadTest, AnExceptionFailsTheCommunicatorAndItsTextIsKept) {
  EngineConfig config;
  config.size = 2;
  MappedMemory segment;
  ASSERT_TRUE(MappedMemory::mapAnonymous(Engine::segmentShape(config).bytes(), segment).isOk());
  ThrowingNetwork network;  // outlives the communicator, which calls it until its end
  Engine communicator(config, segment.base());
  ASSERT_TRUE(communicator.setProgress(&network).isOk());
  EXPECT_EQ(Code::Internal, communicator.runPointToPoint({}, 1'000'000'000));
  EXPECT_EQ("of the test", communicator.lastError());
}

}  // namespace
}  // namespace jccl::test::operation_thread_test
