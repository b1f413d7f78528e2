// Tests of the frames of data sockets: how messages are cut, and that frames which a member of the job sends by mistake
// or malice are refused.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <functional>

#include "test/net_pair.h"
#include "transport/socket_connection.h"

namespace jccl::socket_frames_test {
namespace {

using test::configOf;
using test::drive;

TEST(StripePlan, CoversEveryByteOnceOnDifferentStreams) {
  for (uint32_t streams = 1; streams <= 7; ++streams) {
    for (const uint32_t total : {0u, 1u, 63u, 999u, 1000u, 1999u, 2000u, 65'536u, 1'000'003u}) {
      const StripePlan plan(total, 1000, streams);
      ASSERT_GE(plan.count(), 1u);
      ASSERT_LE(plan.count(), streams);
      uint32_t next = 0;
      for (uint32_t i = 0; i < plan.count(); ++i) {
        EXPECT_EQ(next, plan.stripe(i).offset);
        next += plan.stripe(i).length;
        for (const uint64_t sequence : {uint64_t{0}, uint64_t{5}, UINT64_MAX - 100}) {
          const uint32_t stream = StripePlan::streamOf(sequence, i, streams);
          EXPECT_LT(stream, streams);
          EXPECT_EQ(i, StripePlan::indexOf(sequence, stream, streams));
        }
      }
      EXPECT_EQ(total, next) << "streams=" << streams << " total=" << total;
    }
  }
}

// A receiver with two streams whose other ends the test holds.
class SocketFrames : public ::testing::Test {
 protected:
  void SetUp() override {
    config_ = configOf(0, 2, 2);
    config_.stripeBytes = 64;
    ASSERT_TRUE(events_.open().isOk());
    std::vector<DataSocket> sockets(2);
    for (size_t i = 0; i < 2; ++i) {
      int pair[2];
      ASSERT_EQ(0, ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
      sockets[i] = UniqueFd(pair[0]);
      sender_[i].reset(pair[1]);
    }
    receiver_ = std::make_unique<SocketRecvConnection>(config_, 1, events_, nullptr, std::move(sockets), eagerPath_);
    ASSERT_TRUE(receiver_->open().isOk());
    const std::array<NetBuffer, kNetTags> byTag = {NetBuffer{memory_.data(), 100, nullptr},
                                                   NetBuffer{memory_.data() + 100, 100, nullptr},
                                                   NetBuffer{memory_.data() + 200, 400, nullptr}};
    ASSERT_TRUE(receiver_->irecv(0, byTag).isOk());
  }

  // Returns a valid frame: the second half of message 0 of 256 bytes, which belongs on stream 1.
  static SocketFrame goodFrame() {
    SocketFrame frame;
    frame.tag = 2;
    frame.totalBytes = 256;
    frame.offset = 128;
    frame.length = 128;
    frame.check = 5;
    return frame;
  }

  void send(size_t stream, const SocketFrame& frame, size_t dataBytes) {
    ASSERT_EQ(32, ::send(sender_[stream].get(), &frame, sizeof frame, 0));
    const std::vector<uint8_t> data(dataBytes, 9);
    ASSERT_EQ(static_cast<ssize_t>(dataBytes), ::send(sender_[stream].get(), data.data(), dataBytes, MSG_NOSIGNAL));
  }

  Status progress() {
    events_.dispatch();
    int work = 0;
    return receiver_->progress(0, &work);
  }

  // Sends and receives message 0, its second half first. Calls `between` after the second half has arrived.
  NetArrival receive(const std::function<void()>& between = [] {}) {
    SocketFrame frame = goodFrame();
    send(1, frame, 128);
    EXPECT_TRUE(progress().isOk());
    between();
    frame.offset = 0;
    send(0, frame, 128);
    EXPECT_TRUE(progress().isOk());
    bool done = false;
    NetArrival arrival;
    EXPECT_TRUE(receiver_->test(0, &done, &arrival).isOk());
    EXPECT_TRUE(done);
    return arrival;
  }

  void expectRefusal(size_t stream, const SocketFrame& frame, const char* why) {
    send(stream, frame, 0);
    const Status moved = progress();
    EXPECT_EQ(Code::Transport, moved.code());
    EXPECT_NE(std::string::npos, moved.message().find(why)) << moved.message();
  }

  NetConfig config_;
  EventSet events_;
  std::array<UniqueFd, 2> sender_;
  std::array<uint8_t, 600> memory_{};
  std::shared_ptr<SocketEagerPath> eagerPath_ = std::make_shared<SocketEagerPath>();
  std::unique_ptr<SocketRecvConnection> receiver_;
};

TEST_F(SocketFrames, PartsArriveInTheBufferOfTheirTag) {
  const NetArrival arrival = receive([&] {
    bool done = true;
    NetArrival none;
    EXPECT_TRUE(receiver_->test(0, &done, &none).isOk());
    EXPECT_FALSE(done);
  });
  EXPECT_EQ(256u, arrival.message.bytes);
  EXPECT_EQ(5u, arrival.message.check);
  EXPECT_EQ(2, arrival.message.tag);
  EXPECT_EQ(0, memory_[199]);
  EXPECT_EQ(9, memory_[200]);
  EXPECT_EQ(9, memory_[455]);
  EXPECT_EQ(0, memory_[456]);
}

TEST_F(SocketFrames, AMessageGoesToThePostedAddressIfItIsTheExpectedOne) {
  std::array<uint8_t, 256> elsewhere{};
  const NetBuffer buffer{elsewhere.data(), static_cast<uint32_t>(elsewhere.size()), nullptr};
  receiver_->redirect(0, {2, 5, 256}, buffer);
  std::array<uint8_t, 256> tooLate{};
  const NetArrival arrival = receive([&] {
    receiver_->redirect(0, {2, 5, 256}, {tooLate.data(), static_cast<uint32_t>(tooLate.size()), nullptr});
  });
  EXPECT_EQ(elsewhere.data(), arrival.data);
  EXPECT_EQ(9, elsewhere[0]);
  EXPECT_EQ(9, elsewhere[255]);
  EXPECT_EQ(0, tooLate[0]);
  EXPECT_EQ(0, memory_[200]);
}

TEST_F(SocketFrames, AMessageOtherThanTheExpectedOneGoesToItsBuffer) {
  for (const NetMessage& expected : {NetMessage{1, 5, 256}, NetMessage{2, 6, 256}, NetMessage{2, 5, 255}}) {
    std::array<uint8_t, 256> elsewhere{};
    receiver_.reset();
    SetUp();
    receiver_->redirect(0, expected, {elsewhere.data(), static_cast<uint32_t>(elsewhere.size()), nullptr});
    const NetArrival arrival = receive();
    EXPECT_EQ(memory_.data() + 200, arrival.data);
    EXPECT_EQ(0, elsewhere[0]);
  }
}

TEST_F(SocketFrames, AMessageWithoutABufferWaitsForOne) {
  SocketFrame frame;
  frame.sequence = 1;
  frame.totalBytes = 10;
  frame.length = 10;
  send(1, frame, 10);
  EXPECT_TRUE(progress().isOk());
  std::array<uint8_t, 16> later{};
  const NetBuffer buffer = {later.data(), 16, nullptr};
  ASSERT_TRUE(receiver_->irecv(1, std::array<NetBuffer, kNetTags>{buffer, buffer, buffer}).isOk());
  EXPECT_TRUE(progress().isOk());
  EXPECT_EQ(9, later[9]);
}

TEST_F(SocketFrames, AnotherMagicIsRefused) {
  SocketFrame frame = goodFrame();
  frame.magic ^= 1;
  expectRefusal(1, frame, "no frame of this version");
}

TEST_F(SocketFrames, AnUnknownProtocolIsRefused) {
  SocketFrame frame = goodFrame();
  frame.tag = 3;
  expectRefusal(1, frame, "its protocol is unknown");
}

TEST_F(SocketFrames, APartOnTheWrongStreamIsRefused) { expectRefusal(0, goodFrame(), "it is cut differently"); }

TEST_F(SocketFrames, APartBeyondItsMessageIsRefused) {
  SocketFrame frame = goodFrame();
  frame.length = 129;
  expectRefusal(1, frame, "it is cut differently");
}

TEST_F(SocketFrames, AnOffsetThatWrapsAroundIsRefused) {
  SocketFrame frame = goodFrame();
  frame.offset = UINT32_MAX - 63;
  frame.totalBytes = UINT32_MAX;
  expectRefusal(1, frame, "it is cut differently");
}

TEST_F(SocketFrames, AMessageLargerThanItsBufferIsRefused) {
  SocketFrame frame = goodFrame();
  frame.tag = 1;
  expectRefusal(1, frame, "capacity_bytes=100");
}

TEST_F(SocketFrames, APartThatHasArrivedAlreadyIsRefused) {
  send(1, goodFrame(), 128);
  EXPECT_TRUE(progress().isOk());
  expectRefusal(1, goodFrame(), "that part has come already");
}

TEST_F(SocketFrames, PartsThatContradictEachOtherAreRefused) {
  send(1, goodFrame(), 128);
  EXPECT_TRUE(progress().isOk());
  SocketFrame frame = goodFrame();
  frame.offset = 0;
  frame.check = 6;
  expectRefusal(0, frame, "its other parts say otherwise");
}

TEST_F(SocketFrames, AStreamThatEndsInsideAFrameIsReportedAsALostPeer) {
  send(1, goodFrame(), 100);
  sender_[1].reset();
  const Status moved = progress();
  EXPECT_EQ(Code::Transport, moved.code());
  EXPECT_NE(std::string::npos, moved.message().find("lost rank 1")) << moved.message();
}

TEST_F(SocketFrames, DataAfterAFinIsRefused) {
  SocketFrame fin;
  fin.kind = SocketFrame::kFin;
  send(1, fin, 0);
  EXPECT_TRUE(progress().isOk());
  expectRefusal(1, goodFrame(), "no frame of this version");
}

TEST_F(SocketFrames, PostingOutOfOrderIsRefused) {
  const std::array<NetBuffer, kNetTags> none = {};
  EXPECT_EQ(Code::Internal, receiver_->irecv(5, none).code());
  for (uint64_t sequence = 1; sequence < kNetInFlight; ++sequence) EXPECT_TRUE(receiver_->irecv(sequence, none).isOk());
  EXPECT_EQ(Code::Internal, receiver_->irecv(kNetInFlight, none).code());
}

}  // namespace
}  // namespace jccl::socket_frames_test
