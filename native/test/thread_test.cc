// Tests of native threads: which signals reach them, what they throw, and what they log.
#include "base/thread.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "base/limited_run.h"

namespace jccl::thread_test {
namespace {

template <typename Body>
std::thread started(Body body) {
  std::thread thread;
  const Status status = startQuietThread("jccl-test", std::move(body), &thread);
  EXPECT_TRUE(status.isOk()) << status.message();
  return thread;
}

sigset_t maskOfANativeThread() {
  sigset_t mask;
  sigemptyset(&mask);
  started([&mask] { pthread_sigmask(SIG_SETMASK, nullptr, &mask); }).join();
  return mask;
}

TEST(NativeThread, LeavesTheApplicationsSignalsToTheApplicationsThreads) {
  const sigset_t mask = maskOfANativeThread();
  for (const int signal :
       {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD, SIGALRM, SIGPIPE, SIGIO, SIGWINCH}) {
    EXPECT_EQ(1, sigismember(&mask, signal)) << ::strsignal(signal);  // NOLINT(concurrency-mt-unsafe)
  }
  EXPECT_EQ(1, sigismember(&mask, SIGRTMIN + 3));
}

TEST(NativeThread, ReceivesTheSignalsOfFaultsAndProfilers) {
  const sigset_t mask = maskOfANativeThread();
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPROF, SIGVTALRM}) {
    EXPECT_EQ(0, sigismember(&mask, signal)) << ::strsignal(signal);  // NOLINT(concurrency-mt-unsafe)
  }
}

TEST(NativeThread, EndsAloneWhenItsBodyThrows) {
  started([] { throw std::bad_alloc(); }).join();
  started([] { throw std::runtime_error("of the test"); }).join();
  started([] { throw 1; }).join();  // NOLINT(hicpp-exception-baseclass)
}

TEST(NativeThread, RepeatsRoundsThatThrow) {
  int rounds = 0;
  started([&rounds] {
    repeatRounds("jccl-test", [&rounds] {
      if (++rounds < 4) throw std::system_error(EAGAIN, std::generic_category());
      return rounds < 6;
    });
  }).join();
  EXPECT_EQ(6, rounds);
}

TEST(NativeThread, ExceptionsBecomeAStatus) {
  EXPECT_EQ(Code::NoMemory, orThrown([]() -> Status { throw std::bad_alloc(); }).code());
  const Status other = orThrown([]() -> Status { throw std::runtime_error("of the test"); });
  EXPECT_EQ(Code::Internal, other.code());
  EXPECT_EQ("of the test", other.message());
  EXPECT_TRUE(orThrown([] { return Status::ok(); }).isOk());
}

TEST(NativeThread, ALimitedRunThrowsTheExceptionOfItsBody) {
  bool isOver = false;
  const auto run = [&isOver] {
    (void)runWithin(
        10'000'000'000, "jccl-test", [] { throw std::bad_alloc(); }, &isOver);
  };
  EXPECT_THROW(run(), std::bad_alloc);
}

TEST(NativeThread, ItsCreatorKeepsItsOwnMask) {
  sigset_t before;
  sigset_t after;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  maskOfANativeThread();
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (int signal = 1; signal < 32; ++signal) {
    EXPECT_EQ(sigismember(&before, signal), sigismember(&after, signal)) << signal;
  }
}

TEST(NativeThread, LogsUnderTheSubjectOfItsCreator) {
  const auto subject = [](int rank) { return std::make_shared<const LogSubject>(LogSubject{rank, "a"}); };
  const LogScope outer(subject(1));
  std::thread thread;
  std::atomic<bool> goesOn{false};
  {
    const LogScope inner(subject(2));
    const auto body = [&goesOn] {
      while (!goesOn.load()) std::this_thread::yield();
      logMessage(LogLevel::Error, "test", "of the thread");
    };
    ASSERT_TRUE(startQuietThread("jccl-test", body, &thread).isOk());
  }
  for (LogRecord record; takeLogRecord(&record);) continue;
  logMessage(LogLevel::Error, "test", "of its maker");
  goesOn.store(true);
  thread.join();
  {
    const LogScope none(nullptr);
    logMessage(LogLevel::Error, "test", "of nobody");
  }
  std::vector<int> ranks;
  for (LogRecord record; takeLogRecord(&record);) ranks.push_back(record.subject ? record.subject->rank : -1);
  EXPECT_EQ((std::vector<int>{1, 2, -1}), ranks);
}

// A handler for faults of any thread, like that of the JVM, which writes its report.
void reportAndExit(int signal) { ::_exit(100 + signal); }

using NativeThreadDeathTest = ::testing::Test;

TEST(NativeThreadDeathTest, AFaultReachesTheProcesssHandler) {
  ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      {
        ::signal(SIGSEGV, reportAndExit);
        started([] { ::pthread_kill(::pthread_self(), SIGSEGV); }).join();
      },
      ::testing::ExitedWithCode(100 + SIGSEGV), "");
}

}  // namespace
}  // namespace jccl::thread_test
