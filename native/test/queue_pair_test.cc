// Tests of the state machine of queue pairs and of their failures, on real queue pairs.
#include "verbs/queue_pair.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "base/clock.h"
#include "base/page.h"
#include "verbs/adapter.h"
#include "verbs/verbs_text.h"

namespace jccl::verbs::queue_pair_test {
namespace {

using State = QueuePairObject::State;
constexpr size_t kBytes = 8192;

// One end of a connection: a queue pair with its completions and some registered memory.
struct End {
  Adapter* adapter = nullptr;
  std::unique_ptr<Completions> completions;
  std::unique_ptr<QueuePairObject> qp;
  std::shared_ptr<uint8_t> memory{static_cast<uint8_t*>(std::aligned_alloc(pageBytes(), std::max(kBytes, pageBytes()))),
                                  std::free};
  MemoryCache::Shared region;

  explicit End(Adapter& a) : adapter(&a) {
    EXPECT_TRUE(Completions::make(a.device(), 64, &completions).isOk());
    const Status made = QueuePairObject::make(a.device(), *completions, {16, 16, 64}, &qp);
    EXPECT_TRUE(made.isOk()) << made.message();
    EXPECT_TRUE(a.memory().get(memory.get(), kBytes, true, &region).isOk());
  }

  RemoteEnd asRemote() const {
    RemoteEnd end;
    end.qpNumber = qp->number();
    end.mtu = adapter->port().attributes.activeMtu;
    end.gid = adapter->port().gid;
    end.psn = qp->sendPsn();
    return end;
  }

  // Returns the next completion, or one with status -1 if none comes within `limitNanos`.
  WorkCompletion next(int64_t limitNanos = 20'000'000'000) {
    std::array<WorkCompletion, 1> got{};
    const int64_t end = monotonicNanos() + limitNanos;
    while (monotonicNanos() < end) {
      size_t count = 0;
      EXPECT_TRUE(completions->poll(got, &count).isOk());
      if (count == 1) return got[0];
      std::this_thread::yield();
    }
    got[0].status = -1;
    return got[0];
  }

  Status write(uint64_t id, uint64_t address, uint32_t rkey, uint32_t bytes = 64) {
    ScatterGather entry{reinterpret_cast<uintptr_t>(memory.get()), bytes, region->lkey()};
    SendRequest request{};
    request.id = id;
    request.list = &entry;
    request.listLength = 1;
    request.opcode = kWrRdmaWrite;
    request.flags = kSendSignaled;
    request.rdma = {address, rkey};
    return qp->postSends(&request);
  }
};

class QueuePairs : public ::testing::Test {
 protected:
  void SetUp() override { open({}); }

  void open(const AdapterSettings& settings) {
    adapters_.clear();
    const Status opened = openAdapters(settings, "/sys", &adapters_);
    if (!opened) GTEST_SKIP() << opened.message();
  }

  Adapter& first() { return *adapters_.front(); }
  Adapter& last() { return *adapters_.back(); }

  static void bring(End& end, State to, const End& other) {
    if (to == State::Reset) return;
    ASSERT_TRUE(end.qp->initialise(end.adapter->path(), kAccessRemoteWrite).isOk());
    if (to == State::Init) return;
    Status connected = end.qp->connect(other.asRemote());
    ASSERT_TRUE(connected.isOk()) << connected.message();
    if (to == State::ReadyToReceive) return;
    ASSERT_TRUE(end.qp->start().isOk());
    if (to == State::ReadyToSend) return;
    ASSERT_TRUE(end.qp->fail().isOk());
    if (to == State::Error) return;
    ASSERT_TRUE(end.qp->destroy().isOk());
  }

  static Status go(End& end, State to, const End& other) {
    switch (to) {
      case State::Reset:
        return end.qp->reset();
      case State::Init:
        return end.qp->initialise(end.adapter->path(), kAccessRemoteWrite);
      case State::ReadyToReceive:
        return end.qp->connect(other.asRemote());
      case State::ReadyToSend:
        return end.qp->start();
      case State::Error:
        return end.qp->fail();
      case State::Destroyed:
        return end.qp->destroy();
    }
    return Status::ok();
  }

  std::vector<std::unique_ptr<Adapter>> adapters_;
};

TEST_F(QueuePairs, EveryLegalTransitionIsMadeAndEveryOtherRefused) {
  constexpr std::array<State, 6> kAll = {State::Reset,       State::Init,  State::ReadyToReceive,
                                         State::ReadyToSend, State::Error, State::Destroyed};
  int legal = 0;
  for (State from : kAll) {
    for (State to : kAll) {
      End a(first());
      End b(last());
      bring(a, from, b);
      ASSERT_EQ(from, a.qp->state());
      const Status gone = go(a, to, b);
      const std::string arrow = std::string(QueuePairObject::nameOf(from)) + " -> " + QueuePairObject::nameOf(to);
      if (QueuePairObject::isLegal(from, to)) {
        ++legal;
        EXPECT_TRUE(gone.isOk()) << arrow << ": " << gone.message();
        EXPECT_EQ(to, a.qp->state()) << arrow;
      } else {
        EXPECT_EQ(Code::Invalid, gone.code()) << arrow;
        EXPECT_NE(std::string::npos, gone.message().find(std::string("state=") + QueuePairObject::nameOf(from)));
        EXPECT_EQ(from, a.qp->state()) << arrow;
      }
    }
  }
  EXPECT_EQ(12, legal);
}

TEST_F(QueuePairs, NothingIsPostedInTheWrongState) {
  End a(first());
  End b(last());
  EXPECT_EQ(Code::Invalid, a.qp->postReceives(1, 1).code());
  bring(a, State::ReadyToReceive, b);
  EXPECT_TRUE(a.qp->postReceives(1, 1).isOk());
  EXPECT_EQ(Code::Invalid, a.write(1, 0, 0).code());
}

TEST_F(QueuePairs, AWriteArrivesAndAnErrorFlushesWhatIsPosted) {
  End a(first());
  End b(last());
  bring(a, State::ReadyToSend, b);
  bring(b, State::ReadyToSend, a);
  std::fill_n(a.memory.get(), 64, 0x5a);
  ASSERT_TRUE(a.write(7, reinterpret_cast<uintptr_t>(b.memory.get()) + 100, b.region->rkey()).isOk());
  const WorkCompletion done = a.next();
  EXPECT_EQ(kWcSuccess, done.status);
  EXPECT_EQ(7u, done.id);
  EXPECT_TRUE(std::equal(a.memory.get(), a.memory.get() + 64, b.memory.get() + 100));
  ASSERT_TRUE(b.qp->postReceives(9, 1).isOk());
  ASSERT_TRUE(b.qp->fail().isOk());
  const WorkCompletion flushed = b.next();
  EXPECT_EQ(kWcWrFlushError, flushed.status);
  EXPECT_EQ(9u, flushed.id);
  // A failed queue pair can be reset and used again.
  ASSERT_TRUE(b.qp->reset().isOk());
  EXPECT_TRUE(b.qp->initialise(last().path(), kAccessRemoteWrite).isOk());
}

TEST_F(QueuePairs, AWrongKeyIsRefusedByTheOtherEnd) {
  End a(first());
  End b(last());
  bring(a, State::ReadyToSend, b);
  bring(b, State::ReadyToSend, a);
  ASSERT_TRUE(a.write(1, reinterpret_cast<uintptr_t>(b.memory.get()), b.region->rkey() ^ 0x5500).isOk());
  const WorkCompletion done = a.next();
  EXPECT_EQ(kWcRemoteAccessError, done.status);
  const std::string text = completionText(done, {first().port().label, gidText(first().port().gid), a.qp->number()},
                                          {last().port().label, gidText(last().port().gid), b.qp->number()}, 20, 7);
  EXPECT_NE(std::string::npos, text.find("REM_ACCESS_ERR")) << text;
  EXPECT_NE(std::string::npos, text.find("has not registered this memory")) << text;
  a.qp->noteFailure();
  EXPECT_EQ(State::Error, a.qp->state());
}

// Measures how long a queue pair takes to give up a peer that has gone. For comparison, a thread sleeps as often and as
// long as the queue pair should wait for an answer, because a busy host delays both.
class RetryTimer {
 public:
  RetryTimer(int timeout, int retries) : predicted_(retryNanos(timeout, retries)) {
    sleeper_ = std::thread([this, times = retries + 1] {
      for (int i = 0; i < times; ++i) std::this_thread::sleep_for(std::chrono::nanoseconds(predicted_ / times));
      slept_ = monotonicNanos() - start_;
    });
  }
  ~RetryTimer() { sleeper_.join(); }

  // Call this when the queue pair has given up the peer. Expects at least half of the time that timeout and retries
  // predict. Returns true if less than 1.5 times the thread's time has passed.
  bool endedInTime() {
    const int64_t took = monotonicNanos() - start_;
    EXPECT_GT(took, predicted_ / 2);
    while (slept_ == 0) std::this_thread::yield();
    std::printf("predicted %.0f ms, slept %.0f ms, given up after %.0f ms\n", static_cast<double>(predicted_) / 1e6,
                static_cast<double>(slept_) / 1e6, static_cast<double>(took) / 1e6);
    return took < slept_ + slept_ / 2;
  }

 private:
  const int64_t predicted_;
  const int64_t start_ = monotonicNanos();
  std::atomic<int64_t> slept_{0};
  std::thread sleeper_;
};

// Largest number of attempts to be in time: a queue pair whose kernel thread waits for a core can be later than
// RetryTimer allows.
constexpr int kAttempts = 5;

TEST_F(QueuePairs, AMissingPeerIsNoticedAfterTimeoutAndRetries) {
  for (const auto& [timeout, retries] : {std::pair{14, 6}, std::pair{16, 3}, std::pair{17, 2}}) {
    SCOPED_TRACE("timeout=" + std::to_string(timeout) + " retries=" + std::to_string(retries));
    AdapterSettings settings;
    settings.timeout = timeout;
    settings.retryCount = retries;
    open(settings);
    if (IsSkipped()) return;
    bool inTime = false;
    for (int attempt = 0; attempt < kAttempts && !inTime; ++attempt) {
      End a(first());
      auto b = std::make_unique<End>(last());
      bring(a, State::ReadyToSend, *b);
      bring(*b, State::ReadyToSend, a);
      const uint64_t address = reinterpret_cast<uintptr_t>(b->memory.get());
      const uint32_t rkey = b->region->rkey();
      ASSERT_TRUE(a.write(1, address, rkey).isOk());
      ASSERT_EQ(kWcSuccess, a.next().status);
      b.reset();
      RetryTimer timer(timeout, retries);
      ASSERT_TRUE(a.write(2, address, rkey).isOk());
      ASSERT_TRUE(a.write(3, address, rkey).isOk());
      ASSERT_EQ(kWcRetryExceeded, a.next().status);
      inTime = timer.endedInTime();
      EXPECT_EQ(kWcWrFlushError, a.next().status);
    }
    EXPECT_TRUE(inTime) << "not once in " << kAttempts << " attempts";
  }
}

// The data by which another process reaches a queue pair and its memory.
struct Published {
  RemoteEnd end;
  uint64_t address = 0;
  uint32_t rkey = 0;
};

TEST_F(QueuePairs, AKilledProcessIsNoticedAfterTimeoutAndRetries) {
  AdapterSettings settings;
  settings.timeout = 16;
  settings.retryCount = 3;
  bool inTime = false;
  for (int attempt = 0; attempt < kAttempts && !inTime; ++attempt) {
    int toChild[2];
    int toParent[2];
    ASSERT_EQ(0, ::pipe(toChild));
    ASSERT_EQ(0, ::pipe(toParent));
    adapters_.clear();  // each process opens its own adapters
    const pid_t child = ::fork();
    open(settings);
    End mine(child == 0 ? last() : first());
    const Published own = {mine.asRemote(), reinterpret_cast<uintptr_t>(mine.memory.get()), mine.region->rkey()};
    const int out = child == 0 ? toParent[1] : toChild[1];
    const int in = child == 0 ? toChild[0] : toParent[0];
    Published theirs;
    ASSERT_EQ(sizeof own, ::write(out, &own, sizeof own));
    ASSERT_EQ(sizeof theirs, ::read(in, &theirs, sizeof theirs));
    ASSERT_TRUE(mine.qp->initialise(mine.adapter->path(), kAccessRemoteWrite).isOk());
    ASSERT_TRUE(mine.qp->connect(theirs.end).isOk());
    ASSERT_TRUE(mine.qp->start().isOk());
    uint8_t ready = 1;
    ASSERT_EQ(1, ::write(out, &ready, 1));
    ASSERT_EQ(1, ::read(in, &ready, 1));
    while (child == 0) ::pause();
    ASSERT_TRUE(mine.write(1, theirs.address, theirs.rkey).isOk());
    EXPECT_EQ(kWcSuccess, mine.next().status);
    ASSERT_EQ(0, ::kill(child, SIGKILL));
    ASSERT_EQ(child, ::waitpid(child, nullptr, 0));
    RetryTimer timer(settings.timeout, settings.retryCount);
    ASSERT_TRUE(mine.write(2, theirs.address, theirs.rkey).isOk());
    ASSERT_EQ(kWcRetryExceeded, mine.next().status);
    inTime = timer.endedInTime();
    for (const int fd : {toChild[0], toChild[1], toParent[0], toParent[1]}) ::close(fd);
  }
  EXPECT_TRUE(inTime) << "not once in " << kAttempts << " attempts";
}

// With seven retries, Soft-RoCE retries for ever; adapters give up. In both cases the posted requests come back.
TEST_F(QueuePairs, AFailedQueuePairReturnsPostedRequestsIfRetriesNeverEnd) {
  AdapterSettings settings;
  settings.timeout = 14;
  settings.retryCount = 7;
  open(settings);
  if (IsSkipped()) return;
  End a(first());
  auto b = std::make_unique<End>(last());
  bring(a, State::ReadyToSend, *b);
  bring(*b, State::ReadyToSend, a);
  const uint64_t address = reinterpret_cast<uintptr_t>(b->memory.get());
  const uint32_t rkey = b->region->rkey();
  b.reset();
  ASSERT_TRUE(a.write(1, address, rkey).isOk());
  WorkCompletion done = a.next(3 * retryNanos(settings.timeout, settings.retryCount));
  if (done.status == -1) {
    ASSERT_TRUE(a.qp->fail().isOk());
    done = a.next();
    EXPECT_EQ(kWcWrFlushError, done.status);
  } else {
    EXPECT_EQ(kWcRetryExceeded, done.status);
  }
  EXPECT_EQ(1u, done.id);
}

TEST_F(QueuePairs, RegionsAreSharedAndGoWithTheirLastUser) {
  MemoryCache& cache = first().memory();
  const size_t before = cache.size();
  const size_t page = pageBytes();
  const std::unique_ptr<uint8_t, void (*)(void*)> memory(static_cast<uint8_t*>(std::aligned_alloc(page, 4 * page)),
                                                         std::free);
  MemoryCache::Shared whole;
  MemoryCache::Shared part;
  MemoryCache::Shared beyond;
  MemoryCache::Shared readOnly;
  ASSERT_TRUE(cache.get(memory.get() + 10, 2 * page, true, &whole).isOk());
  EXPECT_EQ(memory.get() + 10, whole->address());
  EXPECT_EQ(2 * page, whole->bytes());
  ASSERT_TRUE(cache.get(memory.get() + page + 1, 100, false, &part).isOk());
  EXPECT_EQ(whole, part);
  ASSERT_TRUE(cache.get(memory.get() + 3 * page, 1, false, &readOnly).isOk());
  ASSERT_TRUE(cache.get(memory.get() + 3 * page, 1, true, &beyond).isOk());
  EXPECT_NE(whole, beyond);
  EXPECT_NE(readOnly, beyond) << "what may only be read must not be written";
  EXPECT_EQ(before + 3, cache.size());
  readOnly.reset();
  whole.reset();
  EXPECT_EQ(before + 2, cache.size());
  part.reset();
  beyond.reset();
  EXPECT_EQ(before, cache.size());
}

TEST_F(QueuePairs, AnAdapterThatTheSettingsExcludeIsNotOpened) {
  AdapterSettings settings;
  settings.hca = "^" + first().device()->name();
  std::vector<std::unique_ptr<Adapter>> others;
  const Status opened = openAdapters(settings, "/sys", &others);
  for (const auto& adapter : others) EXPECT_NE(first().device()->name(), adapter->device()->name());
  if (others.empty()) {
    EXPECT_NE(std::string::npos, opened.message().find("is not in JCCL_IB_HCA")) << opened.message();
  }
}

}  // namespace
}  // namespace jccl::verbs::queue_pair_test
