// Tests of streams whose bytes are encrypted: what a stream accepts from a connection that somebody has changed.
#include "transport/sealed_stream.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "test/poll_config.h"
#include "transport/socket_stream.h"

namespace jccl::sealed_stream_test {
namespace {

using test::configWithPolls;
using Bytes = std::vector<uint8_t>;

// Accepts every frame, and keeps the data of those that have arrived completely.
class Collector final : public SocketStream::Receiver {
 public:
  Status place(const SocketFrame& frame, const SocketStream&, uint8_t** to) override {
    if (frame.length > 1 << 20) return Status::transport("too long");
    arriving_.assign(std::max<size_t>(frame.length, 1), 0);
    *to = arriving_.data();
    return Status::ok();
  }
  void placed(const SocketFrame&) override { messages.push_back(arriving_); }

  std::vector<Bytes> messages;

 private:
  Bytes arriving_;
};

class SealedStreamTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const Status opened = crypto::Library::open(&library_);
    if (!opened) GTEST_SKIP() << opened.message();
    ASSERT_TRUE(events_.open());
    keys_.sending.fill(1);
    keys_.receiving.fill(2);
    // short frames share a record, and the long one has several
    for (const size_t bytes : {100, 1, 70'000, 5}) {
      Bytes message(bytes);
      for (size_t i = 0; i < bytes; ++i) message[i] = static_cast<uint8_t>(i * 7 + bytes);
      messages_.push_back(std::move(message));
    }
  }

  std::unique_ptr<crypto::Records> records(bool sends) const {
    crypto::TransportKeys keys = keys_;
    if (!sends) std::swap(keys.sending, keys.receiving);
    return std::make_unique<crypto::Records>(library_, keys);
  }

  static std::array<UniqueFd, 2> connected() {
    int pair[2];
    EXPECT_EQ(0, ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair));
    return {UniqueFd(pair[0]), UniqueFd(pair[1])};
  }

  // Returns the bytes with which a stream sends all messages and a FIN.
  Bytes capture() {
    auto [mine, theirs] = connected();
    SocketStream stream({std::move(mine), records(true)}, 1, events_, 0, configWithPolls(0));
    EXPECT_TRUE(stream.open());
    for (size_t i = 0; i < messages_.size(); ++i) {
      SocketFrame frame;
      frame.sequence = i;
      frame.totalBytes = frame.length = static_cast<uint32_t>(messages_[i].size());
      stream.push(frame, messages_[i].data());
    }
    Bytes all;
    Bytes some(1 << 16);
    size_t left = messages_.size();
    for (int tries = 0; tries < 1000 && left > 0; ++tries) {
      int work = 0;
      EXPECT_TRUE(stream.send(&work, [&](uint64_t) { --left; }));
      for (ssize_t got; (got = ::recv(theirs.get(), some.data(), some.size(), MSG_DONTWAIT)) > 0;) {
        all.insert(all.end(), some.begin(), some.begin() + got);
      }
      events_.dispatch();
    }
    EXPECT_EQ(0u, left);
    stream.sendFin();
    for (ssize_t got; (got = ::recv(theirs.get(), some.data(), some.size(), MSG_DONTWAIT)) > 0;) {
      all.insert(all.end(), some.begin(), some.begin() + got);
    }
    return all;
  }

  // Feeds bytes to a stream, then ends the connection. Returns what the stream has accepted.
  std::vector<Bytes> receive(const Bytes& bytes, Status* end) {
    auto [mine, theirs] = connected();
    SocketStream stream({std::move(mine), records(false)}, 1, events_, 0, configWithPolls(0));
    EXPECT_TRUE(stream.open());
    Collector collector;
    size_t written = 0;
    *end = Status::ok();
    for (int tries = 0; tries < 1000 && end->isOk(); ++tries) {
      if (written < bytes.size()) {
        const ssize_t put = ::send(theirs.get(), bytes.data() + written, bytes.size() - written, MSG_DONTWAIT);
        written += static_cast<size_t>(std::max<ssize_t>(put, 0));
      } else if (theirs) {
        theirs.reset();
      } else if (tries > 20) {
        break;  // the end of the stream was intended
      }
      events_.dispatch();
      int work = 0;
      *end = stream.receive(collector, SIZE_MAX, &work);
    }
    return collector.messages;
  }

  // Requires that a changed capture delivers only whole messages from before the change, and then fails.
  void requireRefused(const Bytes& changed, const std::string& what) {
    Status end;
    const std::vector<Bytes> got = receive(changed, &end);
    ASSERT_FALSE(end) << what;
    ASSERT_LT(got.size(), messages_.size() + 1) << what;
    for (size_t i = 0; i < got.size(); ++i) ASSERT_EQ(messages_[i], got[i]) << what;
  }

  std::shared_ptr<const crypto::Library> library_;
  EventSet events_;
  crypto::TransportKeys keys_;
  std::vector<Bytes> messages_;
};

TEST_F(SealedStreamTest, AnUnchangedConnectionIsAcceptedAndShowsNoData) {
  const Bytes bytes = capture();
  Status end;
  EXPECT_EQ(messages_, receive(bytes, &end));
  EXPECT_TRUE(end) << end.message();
  for (const Bytes& message : messages_) {
    if (message.size() < 16) continue;
    EXPECT_EQ(bytes.end(), std::search(bytes.begin(), bytes.end(), message.begin(), message.begin() + 16));
  }
}

TEST_F(SealedStreamTest, AChangeAtAnyOffsetEndsTheConnection) {
  const Bytes bytes = capture();
  // Every offset of the short records and of the borders of long ones; the inside of long records at larger steps.
  for (size_t offset = 0; offset<bytes.size(); offset += offset> 500 && offset < bytes.size() - 5000 ? 97 : 1) {
    const std::string at = "offset=" + std::to_string(offset);
    Bytes flipped = bytes;
    flipped[offset] ^= static_cast<uint8_t>(1 << offset % 8);
    ASSERT_NO_FATAL_FAILURE(requireRefused(flipped, at + " flipped"));
    Bytes without = bytes;
    without.erase(without.begin() + static_cast<ptrdiff_t>(offset));
    ASSERT_NO_FATAL_FAILURE(requireRefused(without, at + " left out"));
    ASSERT_NO_FATAL_FAILURE(
        requireRefused({bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(offset)}, at + " cut"));
  }
}

TEST_F(SealedStreamTest, ARepeatedConnectionIsRefused) {
  const Bytes bytes = capture();
  Bytes twice = bytes;
  twice.insert(twice.end(), bytes.begin(), bytes.end());
  Status end;
  EXPECT_EQ(messages_, receive(twice, &end));
  EXPECT_FALSE(end);
}

TEST_F(SealedStreamTest, IdleStreamsHoldNoMemoryForRecords) {
  auto [mine, theirs] = connected();
  SocketStream sender({std::move(mine), records(true)}, 1, events_, 0, configWithPolls(0));
  SocketStream receiver({std::move(theirs), records(false)}, 0, events_, 0, configWithPolls(0));
  ASSERT_TRUE(sender.open() && receiver.open());
  Collector collector;
  for (size_t round = 1; round <= 3; ++round) {
    const Bytes& message = messages_[round];
    SocketFrame frame;
    frame.sequence = round;
    frame.totalBytes = frame.length = static_cast<uint32_t>(message.size());
    sender.push(frame, message.data());
    int work = 0;
    for (int tries = 0; tries < 1000 && collector.messages.size() < round; ++tries) {
      ASSERT_TRUE(sender.send(&work, [](uint64_t) {}));
      ASSERT_TRUE(receiver.receive(collector, SIZE_MAX, &work));
      events_.dispatch();
    }
    ASSERT_EQ(message, collector.messages.back());
    EXPECT_EQ(0u, RecordMemory::inUse()) << "round=" << round;
  }
}

TEST_F(SealedStreamTest, PartsOfARecordKeepTheirMemory) {
  const Bytes bytes = capture();
  auto [mine, theirs] = connected();
  SocketStream stream({std::move(mine), records(false)}, 1, events_, 0, configWithPolls(0));
  ASSERT_TRUE(stream.open());
  Collector collector;
  int work = 0;
  ASSERT_EQ(10, ::send(theirs.get(), bytes.data(), 10, MSG_DONTWAIT));
  events_.dispatch();
  ASSERT_TRUE(stream.receive(collector, SIZE_MAX, &work));
  EXPECT_EQ(1u, RecordMemory::inUse());
  const size_t rest = 1000;
  ASSERT_EQ(static_cast<ssize_t>(rest), ::send(theirs.get(), bytes.data() + 10, rest, MSG_DONTWAIT));
  events_.dispatch();
  ASSERT_TRUE(stream.receive(collector, SIZE_MAX, &work));
  ASSERT_FALSE(collector.messages.empty());
  EXPECT_EQ(messages_[0], collector.messages[0]);
}

TEST_F(SealedStreamTest, PlainFramesAreRefused) {
  SocketFrame frame;
  frame.totalBytes = frame.length = 4;
  Bytes plain(sizeof frame + 4);
  std::memcpy(plain.data(), &frame, sizeof frame);
  ASSERT_NO_FATAL_FAILURE(requireRefused(plain, "plain"));
}

}  // namespace
}  // namespace jccl::sealed_stream_test
