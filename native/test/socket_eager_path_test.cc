// Tests of the eager path: short messages of both directions share a socket, and none is lost or confused with another.
#include <gtest/gtest.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <filesystem>
#include <map>
#include <random>
#include <thread>

#include "test/net_pair.h"
#include "test/poll_config.h"
#include "transport/socket_connection.h"

namespace jccl::socket_eager_path_test {
namespace {

using test::configOf;
using test::configWithPolls;
using test::Consumer;
using test::drive;
using test::Producer;

const ConnectionShape kShape(64 * 1024, 16 * 1024, 16 * 1024);

constexpr uint8_t kEstablished = 1;  // TCP_ESTABLISHED, which linux/tcp.h does not define

struct ByteCounts {
  uint64_t sent;
  uint64_t received;
};

// Returns the bytes that every connected TCP socket of this process has sent and received, by descriptor.
std::map<int, ByteCounts> countsBySocket() {
  std::map<int, ByteCounts> counts;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::stoi(entry.path().filename());
    tcp_info info{};
    socklen_t length = sizeof info;
    if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0 || info.tcpi_state != kEstablished) continue;
    counts[fd] = {info.tcpi_bytes_sent, info.tcpi_bytes_received};
  }
  return counts;
}

// Two ranks, each with a connection to the other.
class SocketEagerPathTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (size_t rank : {0u, 1u}) {
      ASSERT_TRUE(NetTransport::create(configOf(static_cast<int>(rank), 2), &net_[rank]).isOk());
      ASSERT_TRUE(net_[rank]->listen({"127.0.0.1"}, &info_[rank]).isOk());
    }
    for (size_t rank : {0u, 1u}) {
      const int peer = static_cast<int>(1 - rank);
      ASSERT_TRUE(net_[rank]->addPeer(peer, info_[1 - rank]).isOk());
      ASSERT_TRUE(net_[rank]->sendConnection(peer, 0, producers_[rank].memory()).isOk());
      ASSERT_TRUE(net_[rank]->recvConnection(peer, 0, consumers_[rank].memory()).isOk());
    }
  }

  // Each rank sends messages of these sizes and receives those of the other. One rank can be ahead of the other.
  void exchange(const std::vector<uint32_t>& sizes) {
    std::array<std::thread, 2> ranks;
    for (size_t rank : {0u, 1u}) {
      ranks[rank] = std::thread([this, rank, &sizes] {
        NetTransport& net = *net_[rank];
        size_t taken = 0;
        const auto take = [&] {
          while (taken < sizes.size() && consumers_[rank].tryReceive(Protocol::Simple, sizes[taken])) ++taken;
        };
        for (const uint32_t bytes : sizes) {
          ASSERT_TRUE(drive(net, [&] {
            take();
            return producers_[rank].hasCredit();
          }));
          producers_[rank].send(Protocol::Simple, bytes);
        }
        ASSERT_TRUE(drive(net, [&] {
          take();
          return taken == sizes.size();
        }));
        net.kick();
      });
    }
    for (std::thread& rank : ranks) rank.join();
    EXPECT_EQ(0u, consumers_[0].wrong() + consumers_[1].wrong());
  }

  // Exchanges messages of `bytes`. Returns the number of sockets that carry one direction, and of those that carry
  // both.
  std::array<int, 2> socketsUsed(uint32_t bytes) {
    exchange(std::vector<uint32_t>(20, bytes));  // makes all connections
    const auto before = countsBySocket();
    exchange(std::vector<uint32_t>(100, bytes));
    std::array<int, 2> used{};
    for (const auto& [fd, counts] : countsBySocket()) {
      const bool sends = counts.sent > before.at(fd).sent;
      const bool receives = counts.received > before.at(fd).received;
      if (sends || receives) ++used[sends && receives ? 1 : 0];
    }
    return used;
  }

  std::array<Producer, 2> producers_{Producer(kShape), Producer(kShape)};
  std::array<Consumer, 2> consumers_{Consumer(kShape), Consumer(kShape)};
  std::array<std::unique_ptr<NetTransport>, 2> net_;
  std::array<std::vector<uint8_t>, 2> info_;
};

TEST_F(SocketEagerPathTest, ShortMessagesOfBothDirectionsTakeOneSocket) {
  EXPECT_EQ((std::array<int, 2>{0, 2}), socketsUsed(100));  // the two sockets are the ends of one connection
}

TEST_F(SocketEagerPathTest, LongMessagesKeepToTheSocketOfTheirDirection) {
  EXPECT_EQ((std::array<int, 2>{4, 0}), socketsUsed(SocketEagerPath::kMaxBytes + 1));
}

TEST_F(SocketEagerPathTest, MessagesThatAlternateBetweenThePathsArriveInOrderAndWhole) {
  std::mt19937 random(1);
  std::vector<uint32_t> sizes(3000);
  for (uint32_t& bytes : sizes) bytes = random() % 2 == 0 ? random() % 200 : random() % 40'000;
  exchange(sizes);
}

// The rank that owns the shared stream can receive a message before it has accepted the message's connection or has
// posted a buffer. The test holds the other end of the shared stream.
class SharedStream : public ::testing::Test, protected SocketStream::Receiver {
 protected:
  void SetUp() override {
    ASSERT_TRUE(events_.open().isOk());
    int pair[2];
    ASSERT_EQ(0, ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
    peer_.reset(pair[1]);
    stream_ = std::make_unique<SocketStream>(UniqueFd(pair[0]), 1, events_, 0, configWithPolls(1));
    ASSERT_TRUE(stream_->open().isOk());
    path_->offer(stream_.get());
    ASSERT_EQ(0, ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
    otherEnd_.reset(pair[1]);
    std::vector<DataSocket> sockets;
    sockets.emplace_back(UniqueFd(pair[0]));
    receiver_ = std::make_unique<SocketRecvConnection>(config_, 1, events_, nullptr, std::move(sockets), path_);
    ASSERT_TRUE(receiver_->open().isOk());
  }

  Status place(const SocketFrame&, const SocketStream&, uint8_t**) override { return Status::ok(); }
  void placed(const SocketFrame&) override { ADD_FAILURE() << "no buffer was given"; }

  void send(uint32_t bytes, uint32_t length) {
    SocketFrame frame;
    frame.totalBytes = bytes;
    frame.length = length;
    ASSERT_EQ(32, ::send(peer_.get(), &frame, sizeof frame, 0));
    const std::vector<uint8_t> data(length, 9);
    ASSERT_EQ(static_cast<ssize_t>(length), ::send(peer_.get(), data.data(), length, 0));
    events_.dispatch();
  }

  void post() {
    const std::array<NetBuffer, kNetTags> byTag = {NetBuffer{memory_.data(), 100, nullptr}, NetBuffer{}, NetBuffer{}};
    ASSERT_TRUE(receiver_->irecv(0, byTag).isOk());
  }

  Status progress() {
    int work = 0;
    return receiver_->progress(0, &work);
  }

  bool arrived() {
    bool done = false;
    NetArrival arrival;
    EXPECT_TRUE(receiver_->test(0, &done, &arrival).isOk());
    return done;
  }

  NetConfig config_ = configOf(0, 2);
  EventSet events_;
  UniqueFd peer_;
  UniqueFd otherEnd_;
  std::unique_ptr<SocketStream> stream_;
  std::shared_ptr<SocketEagerPath> path_ = std::make_shared<SocketEagerPath>();
  std::unique_ptr<SocketRecvConnection> receiver_;
  std::array<uint8_t, 100> memory_{};
};

TEST_F(SharedStream, AMessageWaitsForItsConnectionAndItsBuffer) {
  send(60, 60);
  int work = 0;
  ASSERT_TRUE(stream_->receive(*this, 1000, &work).isOk());  // the owner polls before the message's connection does
  ASSERT_TRUE(progress().isOk());                            // the message's connection polls without a buffer
  post();
  ASSERT_TRUE(progress().isOk());
  EXPECT_TRUE(arrived());
  EXPECT_EQ(9, memory_[59]);
}

TEST_F(SharedStream, APartOfALongMessageIsRefused) {
  post();
  send(128, 64);
  const Status moved = progress();
  EXPECT_EQ(Code::Transport, moved.code());
  EXPECT_NE(std::string::npos, moved.message().find("it is cut differently")) << moved.message();
}

TEST_F(SharedStream, AWithdrawnStreamIsLeftAlone) {
  post();
  path_->withdraw();
  stream_.reset();
  EXPECT_TRUE(progress().isOk());
  EXPECT_FALSE(receiver_->expecting());
  EXPECT_FALSE(path_->takes(8));
}

TEST_F(SharedStream, AStreamThatHasSentItsFinAcceptsNoMessage) {
  EXPECT_TRUE(path_->takes(8));
  EXPECT_FALSE(path_->takes(SocketEagerPath::kMaxBytes + 1));
  stream_->sendFin();
  EXPECT_FALSE(path_->takes(8));
}

}  // namespace
}  // namespace jccl::socket_eager_path_test
