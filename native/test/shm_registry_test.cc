// Tests of the registry of shared segments: its server, the processes that fetch segments, and their views.
#include "transport/shm_registry.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "base/page.h"
#include "test/descriptor_limit.h"
#include "transport/shm_client.h"
#include "transport/shm_server.h"
#include "transport/shm_socket.h"
#include "transport/shm_views.h"

namespace jccl::shm_registry_test {
namespace {

std::shared_ptr<ShmSegment> makeSegment(size_t bytes) {
  auto segment = std::make_shared<ShmSegment>();
  const Status created = ShmSegment::create("test", bytes, ShmBacking::Auto, segment.get());
  EXPECT_TRUE(created.isOk()) << created.message();
  segment->markLive();
  return segment;
}

UniqueFd connectRaw(const ShmProcess& process) {
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const AbstractAddress address(process.socketName());
  EXPECT_EQ(0, ::connect(socket.get(), address.get(), address.bytes()));
  return socket;
}

// Returns true if the server drops the client without an answer.
bool isDropped(int socket) {
  char byte;
  const ssize_t got = ::recv(socket, &byte, 1, 0);
  return got == 0 || (got < 0 && errno == ECONNRESET);
}

class ShmRegistryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const Status acquired = ShmRegistry::acquire(&registry_);
    ASSERT_TRUE(acquired.isOk()) << acquired.message();
  }

  // Fetches a segment through the socket, although the server is in the same process.
  Status fetch(uint64_t id, ShmSegment* view) {
    UniqueFd fd;
    if (Status fetched = fetchShmDescriptor(registry_->process(), id, &fd); !fetched) return fetched;
    return ShmSegment::map(std::move(fd), 0, view);
  }

  std::shared_ptr<ShmRegistry> registry_;
};

TEST_F(ShmRegistryTest, ThereIsOnePerProcess) {
  std::shared_ptr<ShmRegistry> again;
  ASSERT_TRUE(ShmRegistry::acquire(&again).isOk());
  EXPECT_EQ(registry_.get(), again.get());
}

TEST_F(ShmRegistryTest, AWithdrawnSegmentStaysMappedButIsNotOffered) {
  const std::shared_ptr<ShmSegment> segment = makeSegment(4 * pageBytes());
  const uint64_t id = registry_->add(segment);
  ShmSegment view;
  ASSERT_TRUE(fetch(id, &view).isOk());
  segment->address()[pageBytes()] = 7;
  const size_t before = segment->residentBytes();
  registry_->withdraw(id);
  EXPECT_EQ(-1, segment->fd());
  EXPECT_EQ(7, view.address()[pageBytes()]);
  EXPECT_EQ(before, segment->residentBytes());
  EXPECT_LE(2 * pageBytes(), before);  // the page with the live flag, and the one that was written
  ShmSegment late;
  EXPECT_EQ(Code::Transport, fetch(id, &late).code());
  SharedRange range;
  EXPECT_TRUE(registry_->find(segment->address(), 8, &range));
  registry_->remove(id);
}

TEST_F(ShmRegistryTest, TheServerStopsWithItsLastUserAndAFreshOneHasAFreshToken) {
  const ShmProcess before = registry_->process();
  registry_.reset();
  UniqueFd fd;
  EXPECT_EQ(Code::System, fetchShmDescriptor(before, 1, &fd).code());
  ASSERT_TRUE(ShmRegistry::acquire(&registry_).isOk());
  EXPECT_NE(before.token, registry_->process().token);
}

TEST_F(ShmRegistryTest, AnEncodedProcessDecodesToTheSameProcess) {
  ShmProcess read;
  ASSERT_TRUE(ShmProcess::decode(registry_->process().encode(), &read).isOk());
  EXPECT_TRUE(registry_->isThisProcess(read));
  EXPECT_EQ(registry_->process().socketName(), read.socketName());
  ShmProcess::Wire wire = registry_->process().encode();
  wire[4] ^= 1;
  EXPECT_EQ(Code::Transport, ShmProcess::decode(wire, &read).code());
  EXPECT_EQ(Code::Transport, ShmProcess::decode(std::span(wire).first(47), &read).code());
}

TEST_F(ShmRegistryTest, TheSocketNameDoesNotGiveTheTokenAway) {
  const std::string name = registry_->process().socketName();
  char firstByte[3];
  std::snprintf(firstByte, sizeof firstByte, "%02x", registry_->process().token[0]);
  std::string tokenHex;
  for (const uint8_t byte : registry_->process().token) {
    std::snprintf(firstByte, sizeof firstByte, "%02x", byte);
    tokenHex += firstByte;
  }
  EXPECT_EQ(std::string::npos, name.find(tokenHex.substr(0, 8)));
}

TEST_F(ShmRegistryTest, WithinAProcessTheMemoryItselfIsShared) {
  auto segment = makeSegment(4096);
  const uint64_t id = registry_->add(segment);
  std::shared_ptr<ShmSegment> view;
  ASSERT_TRUE(registry_->import(registry_->process(), id, 4096, {}, &view).isOk());
  EXPECT_EQ(segment->address(), view->address());
}

TEST_F(ShmRegistryTest, AnotherProcessSeesAndWritesTheMemory) {
  int wire[2];
  ASSERT_EQ(0, ::pipe(wire));
  registry_.reset();  // no thread may run at the fork
  const pid_t child = ::fork();
  if (child == 0) {
    struct {
      ShmProcess process;
      uint64_t id;
    } offer;
    if (::read(wire[0], &offer, sizeof offer) != sizeof offer) ::_exit(2);
    UniqueFd fd;
    ShmSegment view;
    if (!fetchShmDescriptor(offer.process, offer.id, &fd)) ::_exit(3);
    if (!ShmSegment::map(std::move(fd), 4096, &view)) ::_exit(4);
    if (view.address()[0] != 1) ::_exit(5);
    view.address()[1] = 2;
    ::_exit(0);
  }
  ASSERT_TRUE(ShmRegistry::acquire(&registry_).isOk());
  auto segment = makeSegment(4096);
  segment->address()[0] = 1;
  struct {
    ShmProcess process;
    uint64_t id;
  } const offer = {registry_->process(), registry_->add(segment)};
  ASSERT_EQ(static_cast<ssize_t>(sizeof offer), ::write(wire[1], &offer, sizeof offer));
  int status = 0;
  ASSERT_EQ(child, ::waitpid(child, &status, 0));
  EXPECT_EQ(0, WEXITSTATUS(status));
  EXPECT_EQ(2, segment->address()[1]);
  ::close(wire[0]);
  ::close(wire[1]);
}

TEST_F(ShmRegistryTest, AServerWithoutDescriptorsReportsItsLimit) {
  if (test::kSanitizerNeedsDescriptors) GTEST_SKIP() << "the sanitizer needs a descriptor itself";
  const uint64_t id = registry_->add(makeSegment(4096));
  UniqueFd client(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  ShmRequest request;
  request.token = registry_->process().token;
  request.segment = id;
  ShmAnswer answer;
  const timeval limitOfAnswer = {20, 0};
  ::setsockopt(client.get(), SOL_SOCKET, SO_RCVTIMEO, &limitOfAnswer, sizeof limitOfAnswer);
  const AbstractAddress address(registry_->process().socketName());
  rlim_t limit = 0;
  {
    // The limit applies to the whole process. The server has a spare descriptor for the connection, but none for the
    // answer.
    const test::NoMoreDescriptors none;
    limit = none.limit();
    ASSERT_EQ(0, ::connect(client.get(), address.get(), address.bytes()));
    ASSERT_EQ(static_cast<ssize_t>(sizeof request), ::send(client.get(), &request, sizeof request, 0));
    ASSERT_EQ(static_cast<ssize_t>(sizeof answer), ::recv(client.get(), &answer, sizeof answer, 0));
  }
  EXPECT_EQ(ShmAnswer::kNoDescriptors, answer.result);
  EXPECT_EQ(limit, answer.bytes);
}

TEST_F(ShmRegistryTest, AProcessThatCannotReceiveADescriptorReportsItsOwnLimit) {
  int wire[2];
  ASSERT_EQ(0, ::pipe(wire));
  registry_.reset();  // no thread may run at the fork
  struct Offer {
    ShmProcess process;
    uint64_t id;
  };
  const pid_t child = ::fork();
  if (child == 0) {
    Offer offer;
    if (::read(wire[0], &offer, sizeof offer) != sizeof offer) ::_exit(2);
    // Leaves one descriptor free, for the connection.
    const int next = ::dup(wire[0]);
    ::close(next);
    const rlimit one{static_cast<rlim_t>(next) + 1, static_cast<rlim_t>(next) + 1};
    if (::setrlimit(RLIMIT_NOFILE, &one) != 0) ::_exit(3);
    UniqueFd fd;
    const Status fetched = fetchShmDescriptor(offer.process, offer.id, &fd);
    if (fetched || fetched.code() != Code::System) ::_exit(4);
    const std::string limit = "RLIMIT_NOFILE=" + std::to_string(next + 1);
    ::_exit(fetched.message().find(limit) == std::string::npos ? 5 : 0);
  }
  ASSERT_TRUE(ShmRegistry::acquire(&registry_).isOk());
  const Offer offer = {registry_->process(), registry_->add(makeSegment(4096))};
  ASSERT_EQ(static_cast<ssize_t>(sizeof offer), ::write(wire[1], &offer, sizeof offer));
  int status = 0;
  ASSERT_EQ(child, ::waitpid(child, &status, 0));
  EXPECT_EQ(0, WEXITSTATUS(status));
  ::close(wire[0]);
  ::close(wire[1]);
}

TEST_F(ShmRegistryTest, AProcessThatCannotReadItsHostIsNotTakenForAnotherHost) {
  if (test::kSanitizerNeedsDescriptors) GTEST_SKIP() << "the sanitizer needs a descriptor itself";
  const test::NoMoreDescriptors none;
  ShmProcess process;
  const Status made = ShmProcess::ofThisProcess(&process);
  EXPECT_EQ(Code::System, made.code());
  EXPECT_NE(std::string::npos, made.message().find(none.text())) << made.message();
}

TEST_F(ShmRegistryTest, IsolatedMemoryKeepsItsBytesAndHasNoPagesThatOthersMap) {
  const size_t page = pageBytes();
  auto segment = makeSegment(4 * page);
  uint8_t* ours = segment->address();
  const uint64_t id = registry_->add(segment);
  ShmSegment theirs;
  ASSERT_TRUE(fetch(id, &theirs).isOk());
  for (size_t i = 0; i < 4 * page; ++i) ours[i] = static_cast<uint8_t>(i % 251);
  ASSERT_TRUE(registry_->isolate(ours + page + 1, page).isOk());
  std::memset(theirs.address(), 255, theirs.bytes());
  for (size_t i = 0; i < 4 * page; ++i) {
    const bool isolated = i / page == 1 || i / page == 2;  // the range begins in page 1 and ends in page 2
    ASSERT_EQ(isolated ? i % 251 : 255u, ours[i]) << i;
  }
  SharedRange range;
  EXPECT_FALSE(registry_->find(ours + 3 * page, page, &range)) << "ordinary memory from now on";
  EXPECT_TRUE(registry_->isolate(ours, 4 * page).isOk()) << "again, and more of it";
  EXPECT_FALSE(registry_->isolate(ours, 4 * page + 1).isOk()) << "more than the segment";
  registry_->remove(id);
  EXPECT_FALSE(registry_->isolate(ours, 1).isOk()) << "no segment";
}

TEST_F(ShmRegistryTest, AProcessCountsAsRunningUntilItEndsEvenIfItIsStopped) {
  EXPECT_TRUE(isRunning(registry_->process()));
  int wire[2];
  ASSERT_EQ(0, ::pipe(wire));
  registry_.reset();  // no thread may run at the fork
  const pid_t child = ::fork();
  if (child == 0) {
    std::shared_ptr<ShmRegistry> own;
    if (!ShmRegistry::acquire(&own)) ::_exit(1);
    const ShmProcess process = own->process();
    if (::write(wire[1], &process, sizeof process) != sizeof process) ::_exit(2);
    ::raise(SIGSTOP);
    ::_exit(3);
  }
  ShmProcess process;
  ASSERT_EQ(static_cast<ssize_t>(sizeof process), ::read(wire[0], &process, sizeof process));
  int status = 0;
  ASSERT_EQ(child, ::waitpid(child, &status, WUNTRACED));
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(isRunning(process)) << "it does not answer, but it runs, i=" << i;
  ASSERT_EQ(0, ::kill(child, SIGKILL));
  ASSERT_EQ(child, ::waitpid(child, &status, 0));
  EXPECT_FALSE(isRunning(process));
  ::close(wire[0]);
  ::close(wire[1]);
}

TEST_F(ShmRegistryTest, AWrongTokenGetsNothing) {
  const uint64_t id = registry_->add(makeSegment(4096));
  ShmRequest request;
  request.token = registry_->process().token;
  request.token[15] ^= 1;
  request.segment = id;
  UniqueFd socket = connectRaw(registry_->process());
  ASSERT_EQ(static_cast<ssize_t>(sizeof request), ::send(socket.get(), &request, sizeof request, 0));
  EXPECT_TRUE(isDropped(socket.get()));
}

TEST_F(ShmRegistryTest, GarbageAndSilenceDoNotKeepOthersWaiting) {
  const uint64_t id = registry_->add(makeSegment(4096));
  std::vector<UniqueFd> unauthenticated;
  for (int i = 0; i < 200; ++i) {
    unauthenticated.push_back(connectRaw(registry_->process()));
    const std::vector<char> garbage(static_cast<size_t>(i % 64) + 1, static_cast<char>(i));
    if (i % 2 == 0) {
      EXPECT_GT(::send(unauthenticated.back().get(), garbage.data(), garbage.size(), MSG_NOSIGNAL), 0);
    }
    if (i % 20 == 0) {
      ShmSegment view;
      const Status fetched = fetch(id, &view);
      EXPECT_TRUE(fetched.isOk()) << fetched.message();
    }
  }
  ShmSegment view;
  EXPECT_TRUE(fetch(id, &view).isOk());
  for (const UniqueFd& client : unauthenticated) EXPECT_TRUE(isDropped(client.get()));
}

TEST_F(ShmRegistryTest, AServerThatClosesWithoutAnAnswerIsAskedAgain) {
  ShmProcess process = registry_->process();
  process.token[0] ^= 1;  // gives the server another socket name
  constexpr int kNotOpen = 1 << 29;
  const auto segment = makeSegment(4096);
  std::atomic<int> asked{0};
  std::atomic<int> failures{2};
  ShmServer server(process, [&](uint64_t) {
    return ShmOffer{nullptr, ++asked > failures ? segment->fd() : kNotOpen, 0};
  });
  ASSERT_TRUE(server.start().isOk());
  UniqueFd fd;
  Status fetched = fetchShmDescriptor(process, 1, &fd);
  EXPECT_TRUE(fetched.isOk()) << fetched.message();
  EXPECT_EQ(3, asked.load());

  failures = 100;
  fetched = fetchShmDescriptor(process, 1, &fd);
  EXPECT_EQ(Code::Transport, fetched.code());
  EXPECT_NE(std::string::npos, fetched.message().find("without an answer")) << fetched.message();
  EXPECT_EQ(6, asked.load()) << "not for ever";
}

TEST_F(ShmRegistryTest, AnUnknownSegmentIsAnErrorThatNamesIt) {
  ShmSegment view;
  const Status fetched = fetch(987654, &view);
  EXPECT_EQ(Code::Transport, fetched.code());
  EXPECT_NE(std::string::npos, fetched.message().find("segment=987654")) << fetched.message();
}

TEST_F(ShmRegistryTest, SegmentsAreAddedAndRemovedWhileOthersFetch) {
  std::vector<std::thread> users;
  for (int user = 0; user < 4; ++user) {
    users.emplace_back([this, user] {
      for (int round = 0; round < 50; ++round) {
        auto segment = makeSegment(4096);
        segment->address()[0] = static_cast<uint8_t>(user * 50 + round);
        const uint64_t id = registry_->add(segment);
        ShmSegment view;
        const Status fetched = fetch(id, &view);
        ASSERT_TRUE(fetched.isOk()) << fetched.message();
        EXPECT_EQ(segment->address()[0], view.address()[0]);
        registry_->remove(id);
        EXPECT_EQ(nullptr, registry_->segment(id));
      }
    });
  }
  for (std::thread& user : users) user.join();
}

TEST_F(ShmRegistryTest, FindsTheSegmentOfAnAddress) {
  const size_t bytes = 2 * pageBytes();
  auto segment = makeSegment(bytes);
  const uint64_t id = registry_->add(segment);
  SharedRange range;
  ASSERT_TRUE(registry_->find(segment->address() + 100, bytes - 100, &range));
  EXPECT_EQ(id, range.segment);
  EXPECT_EQ(100u, range.offset);
  EXPECT_EQ(bytes, range.segmentBytes);
  EXPECT_FALSE(registry_->find(segment->address() + 100, bytes - 99, &range));
  EXPECT_FALSE(registry_->find(&range, 1, &range));
  registry_->remove(id);
  EXPECT_FALSE(registry_->find(segment->address(), 1, &range));
}

TEST_F(ShmRegistryTest, AnotherHeaderOrSizeThanExpectedIsRefused) {
  auto segment = makeSegment(4096);
  std::memcpy(segment->address(), "JCCL", 4);
  const uint64_t id = registry_->add(segment);
  std::shared_ptr<ShmSegment> view;
  const std::array<uint8_t, 4> good = {'J', 'C', 'C', 'L'};
  const std::array<uint8_t, 4> bad = {'J', 'C', 'C', 'M'};
  EXPECT_TRUE(registry_->import(registry_->process(), id, 4096, good, &view).isOk());
  EXPECT_EQ(Code::Transport, registry_->import(registry_->process(), id, 4096, bad, &view).code());
  EXPECT_EQ(Code::Transport, registry_->import(registry_->process(), id, pageBytes() + 1, good, &view).code());
}

TEST_F(ShmRegistryTest, AProcessElsewhereIsNotReachable) {
  ShmProcess elsewhere = registry_->process();
  elsewhere.token[0] ^= 1;
  elsewhere.networkNamespace ^= 1;
  std::shared_ptr<ShmSegment> view;
  const Status imported = registry_->import(elsewhere, 1, 0, {}, &view);
  EXPECT_EQ(Code::Transport, imported.code());
  EXPECT_NE(std::string::npos, imported.message().find("network_namespace=")) << imported.message();
  elsewhere = registry_->process();
  elsewhere.token[0] ^= 1;
  elsewhere.host ^= 1;
  EXPECT_EQ(Code::Transport, registry_->import(elsewhere, 1, 0, {}, &view).code());
}

TEST_F(ShmRegistryTest, ViewsAreKeptUntilThereAreTooMany) {
  constexpr size_t kMax = 16;
  ShmViews views(registry_, kMax, kMax / 2);
  const ShmProcess& self = registry_->process();
  uint8_t* address = nullptr;
  std::vector<uint64_t> ids;
  std::vector<std::weak_ptr<ShmSegment>> segments;
  for (size_t i = 0; i < kMax + 1; ++i) {
    auto segment = makeSegment(4096);
    segments.push_back(segment);
    ids.push_back(registry_->add(segment));
  }
  for (size_t i = 0; i < kMax; ++i) ASSERT_TRUE(views.resolve(0, self, ids[i], 0, 4096, &address).isOk());
  ASSERT_TRUE(views.resolve(0, self, ids[0], 96, 4000, &address).isOk());
  EXPECT_EQ(segments[0].lock()->address() + 96, address);
  ASSERT_TRUE(views.resolve(0, self, ids[kMax], 0, 1, &address).isOk());
  EXPECT_EQ(kMax, views.size());
  // A removed segment stays alive while `views` maps it. `views` has unmapped only the least recently used segment.
  for (const uint64_t id : ids) registry_->remove(id);
  EXPECT_FALSE(segments[0].expired());
  EXPECT_TRUE(segments[1].expired());
  for (size_t i = 2; i < segments.size(); ++i) EXPECT_FALSE(segments[i].expired()) << i;
}

TEST_F(ShmRegistryTest, ViewsOfFreedSegmentsAreDroppedWhenAnotherIsFetched) {
  constexpr size_t kInUse = 2;
  ShmViews views(registry_, 16, kInUse);
  uint8_t* address = nullptr;
  for (int i = 0; i < 20; ++i) {
    auto segment = makeSegment(4096);
    const uint64_t id = registry_->add(segment);
    ASSERT_TRUE(views.resolve(0, registry_->process(), id, 0, 4096, &address).isOk());
    registry_->remove(id);
    ASSERT_TRUE(segment->discard(false).isOk());
    EXPECT_EQ(0, *address) << "what was requested last stays mapped";
    EXPECT_LE(views.size(), kInUse + 1);
  }
}

TEST_F(ShmRegistryTest, AnOfferOutlivesTheDescriptorOfItsSegment) {
  auto segment = makeSegment(4096);
  const uint64_t id = registry_->add(segment);
  const ShmOffer offer = registry_->offer(id);
  registry_->remove(id);
  ASSERT_TRUE(segment->discard(true).isOk());
  EXPECT_EQ(-1, segment->fd());
  EXPECT_GE(::fcntl(offer.fd, F_GETFD), 0);
  EXPECT_EQ(-1, registry_->offer(id).fd);
}

TEST_F(ShmRegistryTest, ViewsRefuseMemoryThatDoesNotExist) {
  ShmViews views(registry_, 4, 2);
  const size_t bytes = pageBytes();
  const uint64_t id = registry_->add(makeSegment(bytes));
  uint8_t* address = nullptr;
  EXPECT_EQ(Code::Transport, views.resolve(3, registry_->process(), id, 1, bytes, &address).code());
  EXPECT_EQ(Code::Transport, views.resolve(3, registry_->process(), id, bytes + 1, 0, &address).code());
  EXPECT_EQ(Code::Transport, views.resolve(3, registry_->process(), id + 1000, 0, 1, &address).code());
  EXPECT_EQ(nullptr, address);
  EXPECT_EQ(1u, views.size());
}

}  // namespace
}  // namespace jccl::shm_registry_test
