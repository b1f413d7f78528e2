// Tests of which peers a stream reports as lost: those whose host does not answer, but not those that read late.
#include "transport/socket_stream.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "transport/socket_options.h"

namespace jccl::socket_stream_test {
namespace {

constexpr int64_t kMillisecond = 1'000'000;
constexpr int kPacketBytes = 1400;
constexpr int64_t kSecond = 1'000 * kMillisecond;

// Counts the frames that have arrived.
class CountingReceiver final : public SocketStream::Receiver {
 public:
  Status place(const SocketFrame& frame, const SocketStream&, uint8_t** to) override {
    data_.resize(frame.length);
    *to = data_.data();
    return Status::ok();
  }
  void placed(const SocketFrame&) override { ++frames; }

  int frames = 0;

 private:
  std::vector<uint8_t> data_;
};

// A stream over TCP whose other end the test holds.
class SocketStreamTest : public ::testing::Test {
 protected:
  void SetUp() override {
    config_.peerTimeoutNanos = PeerSilence::kShortestNanos;
    config_.sendBufferBytes = config_.receiveBufferBytes = 32 * 1024;
    UniqueFd own, listener;
    ASSERT_TRUE(openDataSocket(AF_INET, Distance::Network, config_, &listener).isOk());
    ASSERT_TRUE(openDataSocket(AF_INET, Distance::Network, config_, &own).isOk());
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof address;
    ASSERT_EQ(0, ::setsockopt(own.get(), IPPROTO_TCP, TCP_MAXSEG, &kPacketBytes, sizeof kPacketBytes));
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    ASSERT_EQ(0, ::bind(listener.get(), generic, bytes));
    ASSERT_EQ(0, ::listen(listener.get(), 1));
    ASSERT_EQ(0, ::getsockname(listener.get(), generic, &bytes));
    ::connect(own.get(), generic, bytes);
    while (!peer_) {
      peer_.reset(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
      std::this_thread::yield();
    }
    ASSERT_TRUE(tuneDataSocket(own.get(), config_).isOk());
    ASSERT_TRUE(events_.open().isOk());
    stream_ = std::make_unique<SocketStream>(std::move(own), 1, events_, 0, config_);
    ASSERT_TRUE(stream_->open().isOk());
  }

  void push() {
    SocketFrame frame;
    frame.totalBytes = frame.length = static_cast<uint32_t>(data_.size());
    stream_->push(frame, data_.data());
  }

  // Drops full-sized packets, as a path does whose MTU is smaller than the interface's if the sender gets no ICMP
  // message.
  void dropFullSized() {
    sock_filter small[] = {BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0), BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 800, 0, 1),
                           BPF_STMT(BPF_RET | BPF_K, 0), BPF_STMT(BPF_RET | BPF_K, UINT32_MAX)};
    const sock_fprog program = {4, small};
    ASSERT_EQ(0, ::setsockopt(peer_.get(), SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program));
  }

  // Drops all packets before the kernel acknowledges them, as if the peer's host were gone.
  void dropEverything() {
    sock_filter none = BPF_STMT(BPF_RET | BPF_K, 0);
    const sock_fprog program = {1, &none};
    ASSERT_EQ(0, ::setsockopt(peer_.get(), SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program));
  }

  Status progress() {
    events_.dispatch();
    int work = 0;
    Status sent = stream_->send(&work, [this](uint64_t) { ++left_; });
    return sent ? stream_->checkAnswers(monotonicNanos(), config_.peerTimeoutNanos) : sent;
  }

  // Checks the peer every eighth of the timeout, until an error or `limitNanos`. Returns the last result and the time.
  Status watch(int64_t limitNanos, int64_t* tookNanos) {
    const int64_t began = monotonicNanos();
    Status answers = Status::ok();
    while (answers && monotonicNanos() - began < limitNanos) {
      std::this_thread::sleep_for(std::chrono::nanoseconds(config_.peerTimeoutNanos / 8));
      answers = progress();
    }
    *tookNanos = monotonicNanos() - began;
    return answers;
  }

  void expectLost(std::string* message = nullptr) {
    int64_t took = 0;
    const Status answers = watch(20 * kSecond, &took);
    if (message != nullptr) *message = answers.message();
    EXPECT_EQ(Code::Transport, answers.code());
    EXPECT_NE(std::string::npos, answers.message().find("nothing was answered for 2000 ms")) << answers.message();
    EXPECT_GE(took, kSecond);
    EXPECT_LT(took, 10 * kSecond);
  }

  // Sends a frame of `length` bytes to the stream. Returns true if the stream, once the frame has arrived, is to be polled
  // without an event.
  bool isPolledAfter(uint32_t length) {
    SocketFrame frame;
    frame.totalBytes = frame.length = length;
    std::vector<uint8_t> bytes(sizeof frame + length);
    std::memcpy(bytes.data(), &frame, sizeof frame);
    EXPECT_EQ(static_cast<ssize_t>(bytes.size()), ::send(peer_.get(), bytes.data(), bytes.size(), 0));
    const int awaited = receiver_.frames + 1;
    const int64_t deadline = monotonicNanos() + 20 * kSecond;
    while (receiver_.frames < awaited && monotonicNanos() < deadline) {
      events_.dispatch();
      int work = 0;
      const Status received = stream_->receive(receiver_, bytes.size(), &work);
      if (!received) ADD_FAILURE() << received.message();
    }
    EXPECT_EQ(awaited, receiver_.frames);
    return stream_->eager();
  }

  NetConfig config_;
  EventSet events_;
  UniqueFd peer_;
  std::unique_ptr<SocketStream> stream_;
  std::vector<uint8_t> data_ = std::vector<uint8_t>(4 * 1024 * 1024, 9);
  int left_ = 0;
  CountingReceiver receiver_;
};

TEST_F(SocketStreamTest, IsNotPolledAfterALongMessageIfMemoryIsToBeLookedAt) {
  EXPECT_TRUE(isPolledAfter(100));
  EXPECT_TRUE(isPolledAfter(16 * 1024));
  config_.looksAtMemory->store(true);
  EXPECT_TRUE(isPolledAfter(100));
  EXPECT_FALSE(isPolledAfter(16 * 1024));
}

// A stream of a rank that shares its core with other ranks.
class SocketStreamOnASharedCoreTest : public SocketStreamTest {
 protected:
  void SetUp() override {
    config_.sharesCores = true;
    SocketStreamTest::SetUp();
  }
};

TEST_F(SocketStreamOnASharedCoreTest, IsNeverPolled) {
  EXPECT_FALSE(isPolledAfter(100));
  EXPECT_FALSE(isPolledAfter(16 * 1024));
}

TEST_F(SocketStreamTest, APeerThatReadsLateIsNotLost) {
  push();
  int64_t took = 0;
  const Status waiting = watch(4 * kSecond, &took);
  ASSERT_TRUE(waiting.isOk()) << waiting.message();
  ASSERT_EQ(0, left_);
  std::thread reader([this] {
    std::vector<uint8_t> got(64 * 1024);
    size_t left = data_.size() + sizeof(SocketFrame);
    while (left > 0) {
      const ssize_t bytes = ::recv(peer_.get(), got.data(), got.size(), 0);
      ASSERT_GT(bytes, 0);
      left -= static_cast<size_t>(bytes);
    }
  });
  const int64_t deadline = monotonicNanos() + 20 * kSecond;
  while (left_ == 0 && monotonicNanos() < deadline) {
    const Status moved = progress();
    if (!moved) ADD_FAILURE() << moved.message();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(1, left_);
  if (left_ == 0) ::shutdown(peer_.get(), SHUT_RDWR);
  reader.join();
}

TEST_F(SocketStreamTest, AHostThatDoesNotAcknowledgeDataIsLost) {
  dropEverything();
  push();
  expectLost();
}

TEST_F(SocketStreamTest, LostFullSizedPacketsAreNamedIfSmallOnesPass) {
  dropFullSized();
  std::string message;
  const uint8_t small = 9;
  SocketFrame frame;
  frame.totalBytes = frame.length = 1;
  stream_->push(frame, &small);
  std::vector<uint8_t> got(sizeof frame + 1);
  ASSERT_TRUE(progress().isOk());
  ASSERT_EQ(static_cast<ssize_t>(got.size()), ::recv(peer_.get(), got.data(), got.size(), MSG_WAITALL));
  push();
  expectLost(&message);
  EXPECT_NE(std::string::npos, message.find("acknowledged_bytes=")) << message;
  EXPECT_NE(std::string::npos, message.find("the path drops full-sized packets")) << message;
}

TEST_F(SocketStreamTest, ASmallPacketOrNoneIsNoEvidenceOfLostPackets) {
  EXPECT_EQ("", PeerSilence::packetsLost(0, 10, 1400, 14000));
  EXPECT_EQ("", PeerSilence::packetsLost(5000, 1, 1400, 100));
  EXPECT_EQ("", PeerSilence::packetsLost(5000, 0, 1400, 14000));
}

TEST_F(SocketStreamTest, AHostThatDoesNotAnswerIsLostEvenIfNothingIsSent) {
  dropEverything();
  expectLost();
}

TEST_F(SocketStreamTest, AHostThatVanishesWhileItsProcessReadsLateIsLost) {
  push();
  int64_t took = 0;
  ASSERT_TRUE(watch(kSecond, &took).isOk());
  dropEverything();
  expectLost();
}

TEST_F(SocketStreamTest, AnIdlePeerIsNotLost) {
  int64_t took = 0;
  const Status waiting = watch(4 * kSecond, &took);
  EXPECT_TRUE(waiting.isOk()) << waiting.message();
}

}  // namespace
}  // namespace jccl::socket_stream_test
