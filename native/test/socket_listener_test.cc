// Tests of the listener and the dialer of data sockets, and of their handshake.
#include "transport/socket_listener.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstring>
#include <random>
#include <set>

#include "base/clock.h"
#include "test/descriptor_limit.h"
#include "test/net_pair.h"
#include "transport/socket_dialer.h"

namespace jccl::socket_listener_test {
namespace {

using test::configOf;

// Rank 0 listens. The listener's time passes only when the test advances it; the kernel's time passes as usual.
class SocketListenerTest : public ::testing::Test, public SocketListener::Judge {
 protected:
  void SetUp() override {
    config_ = configOf(0, 4);
    config_.handshakeTimeoutNanos = 1'000'000'000;
    config_.maxHalfOpen = 16;
    ASSERT_TRUE(events_.open().isOk());
    listener_ = std::make_unique<SocketListener>(config_, events_, *this);
    const Status opened = listener_->open({"127.0.0.1"});
    ASSERT_TRUE(opened.isOk()) << opened.message();
  }

  uint32_t judge(const NetIntroductionHeader&) override { return reply_; }

  SocketAddress address() const { return listener_->addresses().front(); }

  UniqueFd unauthenticatedPeer() {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const timeval limit = {5, 0};
    ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    EXPECT_EQ(0, ::connect(fd.get(), address().get(), address().bytes())) << std::strerror(errno);
    step();
    return fd;
  }

  void step(int64_t laterNanos = 0) {
    now_ += laterNanos;
    events_.dispatch();
    listener_->progress(now_);
  }

  // Steps until `ready` returns true, because the kernel delivers loopback data with a short delay. Returns false after
  // 5 s.
  template <typename Ready>
  bool pollUntil(Ready ready) {
    for (const int64_t end = monotonicNanos() + 5'000'000'000; monotonicNanos() < end;) {
      step();
      if (ready()) return true;
    }
    return false;
  }

  bool isHungUp(int fd) {
    char byte[64];
    ssize_t got;
    while ((got = ::recv(fd, byte, sizeof byte, 0)) > 0) {
    }
    return got == 0 || errno == ECONNRESET;
  }

  NetIntroductionHeader header() const {
    NetIntroductionHeader who;
    who.communicator = config_.communicator;
    who.from = 2;
    who.to = 0;
    return who;
  }

  std::unique_ptr<SocketDialer> dialer(const NetConfig& config) {
    SocketAddress local;
    EXPECT_TRUE(SocketAddress::parse("127.0.0.1", 0, &local).isOk());
    return std::make_unique<SocketDialer>(config, events_, header(),
                                          std::vector<SocketDialer::Pair>{{local, address()}});
  }

  // Drives both ends until the member is connected.
  bool connectMember(SocketDialer& member) {
    return pollUntil([&] {
             int work = 0;
             const Status moved = member.progress(now_, &work);
             EXPECT_TRUE(moved.isOk()) << moved.message();
             // Skips the pause after which a lost attempt is repeated.
             if (member.nextDeadlineNanos() < now_ + 600'000'000) now_ = member.nextDeadlineNanos();
             return !moved.isOk() || member.done();
           }) &&
           member.done();
  }

  NetConfig config_;
  EventSet events_;
  std::unique_ptr<SocketListener> listener_;
  uint32_t reply_ = NetHandshakeReply::kWelcome;
  int64_t now_ = 1'000'000'000'000;
};

TEST_F(SocketListenerTest, AMemberIsAcceptedUnderItsOwnRank) {
  const auto member = dialer(config_);
  ASSERT_TRUE(connectMember(*member));
  SocketListener::Proven proven;
  ASSERT_TRUE(listener_->next(&proven));
  EXPECT_EQ(2, proven.who.from);
  EXPECT_FALSE(listener_->next(&proven));
  EXPECT_EQ(0u, listener_->unauthenticated());
}

// A second attempt would be refused, because the connection exists already.
TEST_F(SocketListenerTest, AMemberThatLearnsLateOfItsAcceptanceDoesNotTryAgain) {
  EventSet dialling;  // dispatched only when the member should notice events
  ASSERT_TRUE(dialling.open().isOk());
  SocketAddress local;
  ASSERT_TRUE(SocketAddress::parse("127.0.0.1", 0, &local).isOk());
  SocketDialer member(config_, dialling, header(), {{local, address()}});
  SocketListener::Proven proven;
  int work = 0;
  ASSERT_TRUE(pollUntil([&] {
    if (listener_->next(&proven)) return true;
    dialling.dispatch();
    EXPECT_TRUE(member.progress(now_, &work).isOk());
    return false;
  }));
  ASSERT_FALSE(member.done());
  now_ += 5 * config_.handshakeTimeoutNanos;
  EXPECT_TRUE(member.progress(now_, &work).isOk());
  ASSERT_TRUE(pollUntil([&] {
    dialling.dispatch();
    EXPECT_TRUE(member.progress(now_, &work).isOk());
    return member.done();
  }));
  EXPECT_FALSE(listener_->next(&proven));
}

TEST_F(SocketListenerTest, AClientThatSendsGarbageIsDisconnected) {
  const UniqueFd fd = unauthenticatedPeer();
  const char garbage[] = "GET / HTTP/1.1\r\n\r\n";
  ASSERT_GT(::send(fd.get(), garbage, sizeof garbage, 0), 0);
  ASSERT_TRUE(pollUntil([&] { return listener_->unauthenticated() == 1; }));
  EXPECT_TRUE(isHungUp(fd.get()));
}

TEST_F(SocketListenerTest, ASilentClientIsDisconnectedAtItsTimeLimitAndNotBefore) {
  const UniqueFd fd = unauthenticatedPeer();
  ASSERT_TRUE(pollUntil([&] { return listener_->nextDeadlineNanos() == now_ + 1'000'000'000; }));
  step(999'999'999);
  EXPECT_EQ(0u, listener_->unauthenticated());
  step(1);
  EXPECT_EQ(1u, listener_->unauthenticated());
  EXPECT_TRUE(isHungUp(fd.get()));
  EXPECT_EQ(INT64_MAX, listener_->nextDeadlineNanos());
}

TEST_F(SocketListenerTest, ARecordedIntroductionIsRefused) {
  const UniqueFd first = unauthenticatedPeer();
  NetChallenge challenge;
  ASSERT_TRUE(pollUntil([&] { return ::recv(first.get(), &challenge, sizeof challenge, MSG_DONTWAIT) > 0; }));
  const NetSecret secret(config_.secret);
  NetIntroduction recorded;
  recorded.header = header();
  recorded.proof = secret.proveConnector(challenge.nonce, recorded.header);
  ASSERT_EQ(88, ::send(first.get(), &recorded, sizeof recorded, 0));
  SocketListener::Proven proven;
  ASSERT_TRUE(pollUntil([&] { return listener_->next(&proven); }));

  const UniqueFd second = unauthenticatedPeer();
  ASSERT_EQ(88, ::send(second.get(), &recorded, sizeof recorded, 0));
  ASSERT_TRUE(pollUntil([&] { return listener_->unauthenticated() == 1; }));
  EXPECT_FALSE(listener_->next(&proven));
  EXPECT_TRUE(isHungUp(second.get()));
}

TEST_F(SocketListenerTest, AnIntroductionChangedInOneBitIsRefused) {
  const NetSecret secret(config_.secret);
  for (size_t bit = 8 * 8; bit < 8 * sizeof(NetIntroduction); bit += 37) {
    const UniqueFd fd = unauthenticatedPeer();
    NetChallenge challenge;
    ASSERT_TRUE(pollUntil([&] { return ::recv(fd.get(), &challenge, sizeof challenge, MSG_DONTWAIT) > 0; }));
    NetIntroduction introduction;
    introduction.header = header();
    introduction.proof = secret.proveConnector(challenge.nonce, introduction.header);
    reinterpret_cast<uint8_t*>(&introduction)[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    const uint64_t before = listener_->unauthenticated();
    ASSERT_EQ(88, ::send(fd.get(), &introduction, sizeof introduction, 0));
    ASSERT_TRUE(pollUntil([&] { return listener_->unauthenticated() == before + 1; })) << "bit=" << bit;
  }
  SocketListener::Proven proven;
  EXPECT_FALSE(listener_->next(&proven));
}

TEST_F(SocketListenerTest, AMemberConnectsDespiteAThousandClientsWithRandomBytes) {
  std::mt19937 random(7);
  std::vector<UniqueFd> held;
  const auto member = dialer(config_);
  int work = 0;
  for (int i = 0; i < 1000; ++i) {
    UniqueFd fd = unauthenticatedPeer();
    std::array<uint8_t, 200> bytes;
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    [[maybe_unused]] const ssize_t sent = ::send(fd.get(), bytes.data(), random() % bytes.size(), MSG_NOSIGNAL);
    if (i % 3 == 0) held.push_back(std::move(fd));  // the other clients disconnect at once
    ASSERT_TRUE(member->progress(now_, &work).isOk());
  }
  EXPECT_TRUE(connectMember(*member));
  SocketListener::Proven proven;
  EXPECT_TRUE(listener_->next(&proven));
  EXPECT_FALSE(listener_->next(&proven));
  EXPECT_GT(listener_->unauthenticated(), 900u);
}

TEST_F(SocketListenerTest, SilentClientsCannotKeepAMemberOut) {
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 100; ++i) silent.push_back(unauthenticatedPeer());
  ASSERT_TRUE(pollUntil([&] { return listener_->unauthenticated() == 100 - config_.maxHalfOpen; }));
  const auto member = dialer(config_);
  EXPECT_TRUE(connectMember(*member));
}

SocketAddress parsed(const std::string& text, uint16_t port) {
  SocketAddress address;
  EXPECT_TRUE(SocketAddress::parse(text, port, &address).isOk());
  return address;
}

TEST_F(SocketListenerTest, AShortageOfDescriptorsIsNoErrorWhileNoClientWaits) {
  if (test::kSanitizerNeedsDescriptors) GTEST_SKIP() << "the sanitizer needs a descriptor itself";
  const test::NoMoreDescriptors none;
  step(1);
  step(3'000'000'000);
  EXPECT_TRUE(listener_->exhausted(now_).isOk()) << listener_->exhausted(now_).message();
}

TEST_F(SocketListenerTest, ALastingShortageOfDescriptorsIsAnErrorUntilItEnds) {
  if (test::kSanitizerNeedsDescriptors) GTEST_SKIP() << "the sanitizer needs a descriptor itself";
  const UniqueFd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  {
    const test::NoMoreDescriptors none;
    ASSERT_EQ(0, ::connect(client.get(), address().get(), address().bytes()));
    EXPECT_TRUE(pollUntil([&] {
      now_ += 100'000'000;
      return !listener_->exhausted(now_).isOk();
    }));
    const Status lasting = listener_->exhausted(now_);
    EXPECT_EQ(Code::System, lasting.code());
    EXPECT_NE(std::string::npos, lasting.message().find(none.text())) << lasting.message();
  }
  EXPECT_TRUE(pollUntil([&] {
    now_ += 100'000'000;
    return listener_->exhausted(now_).isOk();
  }));
}

TEST_F(SocketListenerTest, AMemberWithoutADescriptorGivesUpAndNamesItsLimit) {
  if (test::kSanitizerNeedsDescriptors) GTEST_SKIP() << "the sanitizer needs a descriptor itself";
  const std::unique_ptr<SocketDialer> member = dialer(config_);
  const test::NoMoreDescriptors none;
  int work = 0;
  Status moved = member->progress(now_, &work);
  EXPECT_TRUE(moved.isOk()) << moved.message();
  for (int i = 0; i < 10 && moved; ++i) moved = member->progress(now_ += 500'000'000, &work);
  EXPECT_EQ(Code::System, moved.code());
  EXPECT_NE(std::string::npos, moved.message().find(none.text())) << moved.message();
  EXPECT_EQ(std::string::npos, moved.message().find("firewall")) << moved.message();
}

TEST(SocketDialerPairs, RanksThatPreferDifferentFamiliesAgreeOnOneAndAlternateInterfaces) {
  const std::vector<SocketAddress> local = {parsed("fd00::1", 0), parsed("fd01::1", 0), parsed("10.0.0.1", 0),
                                            parsed("10.0.1.1", 0)};
  const std::vector<uint8_t> published =
      encodeAddresses({parsed("10.0.0.2", 7), parsed("10.0.1.2", 8), parsed("fd00::2", 7), parsed("fd01::2", 8)});
  std::set<std::string> firsts;
  for (size_t rotation = 0; rotation < 4; ++rotation) {
    std::vector<SocketDialer::Pair> pairs;
    ASSERT_TRUE(SocketDialer::pairAddresses(local, published, {{}, rotation, 0}, &pairs).isOk());
    ASSERT_EQ(8u, pairs.size());  // two local by two remote addresses of each family
    for (size_t i = 0; i < pairs.size(); ++i) {
      const int family = i < 4 ? AF_INET : AF_INET6;  // the family of the listener's first address comes first
      EXPECT_EQ(family, pairs[i].local.family()) << "rotation=" << rotation << " i=" << i;
      EXPECT_EQ(family, pairs[i].remote.family()) << "rotation=" << rotation << " i=" << i;
    }
    firsts.insert(pairs[0].local.toString() + " " + pairs[0].remote.toString());
  }
  EXPECT_EQ((std::set<std::string>{"10.0.0.1:0 10.0.0.2:7", "10.0.1.1:0 10.0.1.2:8"}), firsts);
}

TEST(SocketDialerPairs, OneFamilyIsEnoughIfOneEndHasBoth) {
  const std::vector<uint8_t> both = encodeAddresses({parsed("10.0.0.2", 7), parsed("fd00::2", 7)});
  std::vector<SocketDialer::Pair> pairs;
  ASSERT_TRUE(SocketDialer::pairAddresses({parsed("fd00::1", 0)}, both, {}, &pairs).isOk());
  ASSERT_EQ(1u, pairs.size());
  EXPECT_EQ("[fd00::2]:7", pairs[0].remote.toString());
}

SocketAddress of(int device, SocketAddress address) {
  address.setDevice(device);
  return address;
}

std::string firstPair(const NetPaths::Ends& ends, size_t rotation, size_t stream) {
  // The other host numbers its devices in reverse, and its second address has no device.
  const std::vector<SocketAddress> local = {of(0, parsed("10.0.0.1", 0)), of(1, parsed("10.0.1.1", 0)),
                                            of(0, parsed("fd00::1", 0))};
  const std::vector<uint8_t> published = encodeAddresses({of(2, parsed("10.0.0.2", 7)), of(-1, parsed("10.0.3.2", 8)),
                                                          of(1, parsed("10.0.1.2", 9)), of(0, parsed("fd00::2", 7))});
  std::vector<SocketDialer::Pair> pairs;
  EXPECT_TRUE(SocketDialer::pairAddresses(local, published, {ends, rotation, stream}, &pairs).isOk());
  EXPECT_EQ(7u, pairs.size());  // all pairs are tried, whichever comes first
  return pairs[0].local.toString() + " " + pairs[0].remote.toString();
}

TEST(SocketDialerPairs, ThePlansDevicesComeFirstAtBothEnds) {
  EXPECT_EQ("10.0.0.1:0 10.0.0.2:7", firstPair({0, 2, ""}, 0, 0));
  EXPECT_EQ("10.0.0.1:0 10.0.0.2:7", firstPair({0, 2, ""}, 5, 0)) << "whatever the channel's rotation";
  EXPECT_EQ("10.0.1.1:0 10.0.1.2:9", firstPair({1, 1, ""}, 0, 0));
  EXPECT_EQ("10.0.0.1:0 10.0.1.2:9", firstPair({0, 1, ""}, 0, 0)) << "a channel that crosses rails";
  EXPECT_EQ("10.0.0.1:0 10.0.0.2:7", firstPair({1, 1, ""}, 0, 1)) << "further streams begin at the next ones";
}

TEST(SocketDialerPairs, DevicesThatThePlanDoesNotKnowGoByTheOtherEndsPlaceOrInRotation) {
  EXPECT_EQ("10.0.1.1:0 10.0.3.2:8", firstPair({1, 7, ""}, 0, 0)) << "equal places are one network";
  EXPECT_EQ("10.0.1.1:0 10.0.3.2:8", firstPair({7, 2, ""}, 1, 0)) << "the device has no address here";
  EXPECT_EQ("10.0.0.1:0 10.0.1.2:9", firstPair({}, 2, 0));
}

TEST_F(SocketListenerTest, AListenersAddressIsSentWithTheNumberOfItsDevice) {
  NetConfig config = config_;
  ASSERT_TRUE(NetDeviceNumbers::parse("6 lo\n", &config.devices).isOk());
  SocketListener numbered(config, events_, *this);
  ASSERT_TRUE(numbered.open({"127.0.0.1"}).isOk());
  const std::vector<uint8_t> wire = encodeAddresses(numbered.addresses());
  std::vector<SocketAddress> read;
  ASSERT_TRUE(decodeAddresses(wire.data(), wire.size(), &read).isOk());
  EXPECT_EQ(6, read.at(0).device());
}

TEST_F(SocketListenerTest, ARefusalIsBelievedBecauseItIsProven) {
  reply_ = NetHandshakeReply::kOtherRank;
  const auto member = dialer(config_);
  Status moved;
  ASSERT_TRUE(pollUntil([&] {
    int work = 0;
    moved = member->progress(now_, &work);
    return !moved.isOk();
  }));
  EXPECT_EQ(Code::Transport, moved.code());
  EXPECT_NE(std::string::npos, moved.message().find("another rank listens there")) << moved.message();
  SocketListener::Proven proven;
  EXPECT_FALSE(listener_->next(&proven));
}

TEST_F(SocketListenerTest, AMemberWithAnotherSecretGetsTheReason) {
  NetConfig other = config_;
  other.secret.assign(16, 43);
  const auto member = dialer(other);
  const int64_t start = now_;
  int work = 0;
  // Waits until the listener has closed the member's first attempt and the member waits for the next.
  ASSERT_TRUE(pollUntil([&] {
    EXPECT_TRUE(member->progress(now_, &work).isOk());
    return listener_->unauthenticated() == 1 && member->nextDeadlineNanos() < start + config_.handshakeTimeoutNanos;
  }));
  now_ = start + config_.connectTimeoutNanos;
  const Status moved = member->progress(now_, &work);
  EXPECT_EQ(Code::Transport, moved.code());
  EXPECT_NE(std::string::npos, moved.message().find("same secret")) << moved.message();
  SocketListener::Proven proven;
  EXPECT_FALSE(listener_->next(&proven));
}

TEST_F(SocketListenerTest, AListenerThatDoesNotKnowTheSecretIsNotBelieved) {
  // Another process has taken over the port. It sends a challenge, and answers the introduction with a welcome that it
  // cannot prove.
  UniqueFd port(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  SocketAddress local;
  ASSERT_TRUE(SocketAddress::parse("127.0.0.1", 0, &local).isOk());
  ASSERT_EQ(0, ::bind(port.get(), local.get(), local.bytes()));
  ASSERT_EQ(0, ::listen(port.get(), 4));
  SocketDialer member(config_, events_, header(), {{local, SocketAddress::localOf(port.get())}});
  int work = 0;
  ASSERT_TRUE(member.progress(now_, &work).isOk());
  const UniqueFd impostor(::accept(port.get(), nullptr, nullptr));
  const NetChallenge challenge;
  ASSERT_EQ(24, ::send(impostor.get(), &challenge, sizeof challenge, 0));
  NetIntroduction introduction;
  ASSERT_TRUE(pollUntil([&] {
    EXPECT_TRUE(member.progress(now_, &work).isOk());
    return ::recv(impostor.get(), &introduction, sizeof introduction, MSG_DONTWAIT) == 88;
  }));
  const NetHandshakeReply reply;
  ASSERT_EQ(36, ::send(impostor.get(), &reply, sizeof reply, 0));
  Status moved;
  EXPECT_TRUE(pollUntil([&] {
    now_ += 100'000'000;
    moved = member.progress(now_, &work);
    return !moved.isOk();
  }));
  EXPECT_FALSE(member.done());
  EXPECT_EQ(Code::Transport, moved.code());
}

class EncryptedListenerTest : public SocketListenerTest {
 protected:
  void SetUp() override {
    SocketListenerTest::SetUp();
    const Status opened = crypto::Library::open(&config_.crypto);
    if (!opened) GTEST_SKIP() << opened.message();
  }

  // Drives a member that cannot connect until its time is over, and returns the error.
  Status failure(SocketDialer& member) {
    Status moved;
    const int64_t start = now_;
    pollUntil([&] {
      int work = 0;
      moved = member.progress(now_, &work);
      // The first attempt has failed once the member waits for the next one.
      if (moved && member.nextDeadlineNanos() < now_ + 600'000'000) now_ = start + config_.connectTimeoutNanos;
      return !moved.isOk();
    });
    return moved;
  }
};

TEST_F(EncryptedListenerTest, BothEndsDeriveTheSameKeys) {
  const auto member = dialer(config_);
  ASSERT_TRUE(connectMember(*member));
  SocketListener::Proven proven;
  ASSERT_TRUE(listener_->next(&proven));
  EXPECT_EQ(2, proven.who.from);
  const DataSocket socket = member->take();
  ASSERT_TRUE(socket.records != nullptr && proven.socket.records != nullptr);
  const std::array<uint8_t, 5> text = {1, 2, 3, 4, 5};
  const std::array<std::span<const uint8_t>, 1> parts = {text};
  std::array<uint8_t, text.size() + crypto::Records::kOverheadBytes> record;
  size_t bytes = 0;
  ASSERT_TRUE(socket.records->seal(parts, record.data(), &bytes));
  std::array<uint8_t, text.size()> opened{};
  ASSERT_TRUE(proven.socket.records->open(record.data(), opened.data()));
  EXPECT_EQ(text, opened);
}

TEST_F(EncryptedListenerTest, ARecordedIntroductionIsRefused) {
  const UniqueFd first = unauthenticatedPeer();
  NetChallenge challenge;
  ASSERT_TRUE(pollUntil([&] { return ::recv(first.get(), &challenge, sizeof challenge, MSG_DONTWAIT) > 0; }));
  ASSERT_EQ(NetChallenge::kEncrypted, challenge.version);
  std::unique_ptr<crypto::Handshake> handshake;
  ASSERT_TRUE(NetSecret(config_.secret).begin(config_.crypto, challenge, true, &handshake));
  const NetIntroductionHeader who = header();
  std::vector<uint8_t> message;
  ASSERT_TRUE(handshake->write({reinterpret_cast<const uint8_t*>(&who), sizeof who}, &message));
  EncryptedIntroduction recorded;
  std::copy(message.begin(), message.end(), recorded.message.begin());
  ASSERT_EQ(112, ::send(first.get(), &recorded, sizeof recorded, 0));
  SocketListener::Proven proven;
  ASSERT_TRUE(pollUntil([&] { return listener_->next(&proven); }));

  const UniqueFd second = unauthenticatedPeer();
  ASSERT_EQ(112, ::send(second.get(), &recorded, sizeof recorded, 0));
  ASSERT_TRUE(pollUntil([&] { return listener_->unauthenticated() == 1; }));
  EXPECT_FALSE(listener_->next(&proven));
  EXPECT_TRUE(isHungUp(second.get()));
}

TEST_F(EncryptedListenerTest, AnIntroductionChangedInOneBitIsRefused) {
  for (size_t bit = 0; bit < 8 * sizeof(EncryptedIntroduction); bit += 13) {
    const UniqueFd fd = unauthenticatedPeer();
    NetChallenge challenge;
    ASSERT_TRUE(pollUntil([&] { return ::recv(fd.get(), &challenge, sizeof challenge, MSG_DONTWAIT) > 0; }));
    std::unique_ptr<crypto::Handshake> handshake;
    ASSERT_TRUE(NetSecret(config_.secret).begin(config_.crypto, challenge, true, &handshake));
    const NetIntroductionHeader who = header();
    std::vector<uint8_t> message;
    ASSERT_TRUE(handshake->write({reinterpret_cast<const uint8_t*>(&who), sizeof who}, &message));
    EncryptedIntroduction introduction;
    std::copy(message.begin(), message.end(), introduction.message.begin());
    reinterpret_cast<uint8_t*>(&introduction)[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    const uint64_t before = listener_->unauthenticated();
    ASSERT_EQ(112, ::send(fd.get(), &introduction, sizeof introduction, 0));
    ASSERT_TRUE(pollUntil([&] { return listener_->unauthenticated() == before + 1; })) << "bit=" << bit;
  }
  SocketListener::Proven proven;
  EXPECT_FALSE(listener_->next(&proven));
}

TEST_F(EncryptedListenerTest, AMemberWithAnotherSecretGetsTheReason) {
  NetConfig other = config_;
  other.secret.assign(16, 43);
  const auto member = dialer(other);
  const Status moved = failure(*member);
  EXPECT_NE(std::string::npos, moved.message().find("same secret")) << moved.message();
  EXPECT_EQ(1u, listener_->unauthenticated());
}

TEST_F(EncryptedListenerTest, ARefusalIsBelievedBecauseItIsProven) {
  reply_ = NetHandshakeReply::kOtherRank;
  const auto member = dialer(config_);
  Status moved;
  ASSERT_TRUE(pollUntil([&] {
    int work = 0;
    moved = member->progress(now_, &work);
    return !moved.isOk();
  }));
  EXPECT_NE(std::string::npos, moved.message().find("another rank listens there")) << moved.message();
  SocketListener::Proven proven;
  EXPECT_FALSE(listener_->next(&proven));
}

TEST_F(EncryptedListenerTest, AMemberThatDoesNotEncryptGetsTheReason) {
  NetConfig plain = config_;
  plain.crypto = nullptr;
  const auto member = dialer(plain);
  const Status moved = failure(*member);
  EXPECT_NE(std::string::npos, moved.message().find("the listener encrypts and this rank does not")) << moved.message();
}

TEST_F(SocketListenerTest, AMemberThatEncryptsGetsTheReasonFromAListenerThatDoesNot) {
  NetConfig encrypting = config_;
  config_.crypto = nullptr;  // also if JCCL_ENCRYPTION is set
  if (const Status opened = crypto::Library::open(&encrypting.crypto); !opened) GTEST_SKIP() << opened.message();
  const auto member = dialer(encrypting);
  Status moved;
  const int64_t start = now_;
  ASSERT_TRUE(pollUntil([&] {
    int work = 0;
    moved = member->progress(now_, &work);
    if (moved && member->nextDeadlineNanos() < now_ + 600'000'000) now_ = start + config_.connectTimeoutNanos;
    return !moved.isOk();
  }));
  EXPECT_NE(std::string::npos, moved.message().find("this rank encrypts and the listener does not")) << moved.message();
}

}  // namespace
}  // namespace jccl::socket_listener_test
