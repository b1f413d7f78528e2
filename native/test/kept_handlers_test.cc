// Tests of KeptHandlers, which restores signal handlers that a library has replaced.
#include "base/kept_handlers.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <memory>
#include <string>

#include "base/log.h"

namespace jccl::kept_handlers_test {
namespace {

using Handler = void (*)(int);

void ours(int) {}
void theirs(int) {}
void applications(int) {}

Handler handlerOf(int number) {
  struct sigaction now {};
  sigaction(number, nullptr, &now);
  return now.sa_handler;
}

std::string lastLogged() {
  LogRecord record;
  std::string text;
  while (takeLogRecord(&record)) text = record.text;
  return text;
}

class KeptHandlersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    sigaction(SIGUSR2, nullptr, &before_);
    ::signal(SIGUSR2, ours);
    lastLogged();
  }
  void TearDown() override { sigaction(SIGUSR2, &before_, nullptr); }

 private:
  struct sigaction before_ {};
};

TEST_F(KeptHandlersTest, HandlersThatALibraryReplacesAreRestored) {
  {
    const KeptHandlers kept("libother.so");
    ::signal(SIGUSR2, theirs);
  }
  EXPECT_EQ(handlerOf(SIGUSR2), ours);
  EXPECT_EQ(lastLogged().rfind("libother.so replaced handlers of signals=SIGUSR2, ", 0), 0u);
}

TEST_F(KeptHandlersTest, UnchangedHandlersAreNotLogged) {
  { const KeptHandlers kept("libother.so"); }
  EXPECT_EQ(handlerOf(SIGUSR2), ours);
  EXPECT_EQ(lastLogged(), "");
}

TEST_F(KeptHandlersTest, TheApplicationsOwnChangesStay) {
  { const KeptHandlers kept("libother.so"); }
  ::signal(SIGUSR2, applications);
  { const KeptHandlers kept("libother.so"); }
  EXPECT_EQ(handlerOf(SIGUSR2), applications);
}

// The second object is created after the library that the first object guards against has replaced a handler.
TEST_F(KeptHandlersTest, ObjectsOfSeveralThreadsCanOverlap) {
  auto first = std::make_unique<KeptHandlers>("first");
  ::signal(SIGUSR2, theirs);
  auto second = std::make_unique<KeptHandlers>("second");
  first.reset();
  EXPECT_EQ(handlerOf(SIGUSR2), ours);
  ::signal(SIGUSR2, theirs);
  second.reset();
  EXPECT_EQ(handlerOf(SIGUSR2), ours);
}

}  // namespace
}  // namespace jccl::kept_handlers_test
