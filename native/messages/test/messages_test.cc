// Tests of messages: frames that break the rules, as a faulty or hostile rank sends them, and the ends of sends.
#include "messages/messages.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "messages/memory_offers.h"
#include "messages/ring_link.h"
#include "test/net_ranks.h"

namespace jccl::test::messages_test {
namespace {

using Kind = MessageFrame::Kind;

constexpr int64_t kShort = 200'000'000;

struct Requests {
  ~Requests() {
    for (MessageRequest* each : all) Messages::free(each);
  }
  MessageRequest* operator()(MessageRequest* request) {
    if (request != nullptr) all.push_back(request);
    return request;
  }
  std::vector<MessageRequest*> all;
};

// Two ranks of this process. The test plays rank 1 towards rank 0: it writes frames into the ring.
class Pair {
 public:
  Pair() {
    Engine& own = ranks_.communicators[0]->engine();
    Engine& theirs = ranks_.communicators[1]->engine();
    EXPECT_TRUE((*this)[0].start());
    hostile = std::make_unique<RingMessageLink>(own.segment().inbox(1), theirs.segment().inbox(0),
                                                own.segment().inboxEvents());
  }
  ~Pair() {
    for (const auto& each : ranks_.communicators) each->attachment<Messages>().stop();
  }
  Messages& operator[](size_t rank) { return ranks_.communicators[rank]->attachment<Messages>(); }

  std::unique_ptr<RingMessageLink> hostile;

 private:
  NetRanks ranks_{{0, 0}};
};

struct BadFrame {
  const char* name;
  MessageFrame frame;
  uint64_t dataBytes;
  const char* why;
};

std::vector<BadFrame> badFrames() {
  return {
      {"unknown kind", {.kind = static_cast<Kind>(99)}, 0, "unknown kind"},
      {"kind 0", {.kind = static_cast<Kind>(0)}, 0, "unknown kind"},
      {"eager without its data", {.kind = Kind::Eager, .bytes = 8}, 0, "expected data of bytes=8"},
      {"eager with more data", {.kind = Kind::Eager, .bytes = 8}, 16, "expected data of bytes=8"},
      {"huge eager", {.kind = Kind::Eager, .bytes = ~uint64_t{0}}, 8, "expected data of bytes=18446744073709551615"},
      {"negative tag", {.kind = Kind::Eager, .tag = -1, .bytes = 0}, 0, "expected a tag of at least 0"},
      {"offer with data", {.kind = Kind::Offer, .bytes = 8}, 8, "expected data of bytes=0"},
      {"shared offer without segment", {.kind = Kind::OfferShared, .bytes = 8}, 0, "expected data of bytes=8"},
      {"take of nothing", {.kind = Kind::Take, .number = 5}, 0, "answers no message"},
      {"taken of nothing", {.kind = Kind::Taken, .number = 5}, 0, "answers no message"},
      {"data that nobody asked for", {.kind = Kind::Data}, 8, "this rank has asked for no data"},
      {"credit that was not used", {.kind = Kind::Credit, .bytes = 1}, 0, "returns more credit than was used"},
      {"huge credit", {.kind = Kind::Credit, .bytes = ~uint64_t{0}}, 0, "returns more credit than was used"}};
}

}  // namespace

TEST(Messages, FramesThatBreakTheRulesFailWithTheirValues) {
  for (const BadFrame& bad : badFrames()) {
    SCOPED_TRACE(bad.name);
    Pair pair;
    Requests requests;
    std::vector<uint8_t> data(64, 0xEE), buffer(64);
    ASSERT_TRUE(pair.hostile->trySend(bad.frame, data.data(), bad.dataBytes));
    const Status ended = pair[0].wait(*requests(pair[0].receive(1, 0, buffer.data(), 8)), 10 * kShort);
    EXPECT_EQ(Code::Transport, ended.code());
    EXPECT_NE(std::string::npos, ended.message().find(bad.why)) << ended.message();
    EXPECT_NE(std::string::npos, ended.message().find("rank=1 sent rank=0")) << ended.message();
    EXPECT_TRUE(std::all_of(buffer.begin(), buffer.end(), [](uint8_t each) { return each == 0; }));
  }
}

TEST(Messages, DataBeyondTheMessageIsNotStored) {
  Pair pair;
  Requests requests;
  std::vector<uint8_t> data(64, 0xEE), buffer(64);
  MessageRequest& receive = *requests(pair[0].receive(1, 3, buffer.data(), 32));
  ASSERT_TRUE(pair.hostile->trySend({.kind = Kind::Offer, .tag = 3, .bytes = 16, .number = 1}, nullptr, 0));
  EXPECT_EQ(Code::Timeout, pair[0].wait(receive, kShort / 10).code());
  ASSERT_TRUE(pair.hostile->trySend({.kind = Kind::Data}, data.data(), 17));
  const Status ended = pair[0].wait(receive, 10 * kShort);
  EXPECT_EQ(Code::Transport, ended.code());
  EXPECT_NE(std::string::npos, ended.message().find("expected at most bytes=16")) << ended.message();
  EXPECT_EQ(0, buffer[0]);
}

// A receiver cannot find a message of another process, or one that was withdrawn. It waits for the failure.
TEST(Messages, AnOfferThatDoesNotExistIsNotRead) {
  Pair pair;
  Requests requests;
  std::vector<uint8_t> buffer(16);
  MessageRequest& receive = *requests(pair[0].receive(1, 3, buffer.data(), 16));
  ASSERT_TRUE(pair.hostile->trySend({.kind = Kind::OfferHere, .tag = 3, .bytes = 16, .number = 1 << 30}, nullptr, 0));
  EXPECT_EQ(Code::Timeout, pair[0].wait(receive, kShort / 10).code());
  EXPECT_EQ(MessageRequest::State::Moving, receive.state.load());
  EXPECT_EQ(0, buffer[0]);
}

TEST(Messages, ASharedOfferOutsideOfItsSegmentIsAskedForInstead) {
  Pair pair;
  Requests requests;
  std::vector<uint8_t> buffer(16);
  requests(pair[0].receive(1, 3, buffer.data(), 16));
  const uint64_t segment = 1 << 20;  // there is none
  ASSERT_TRUE(pair.hostile->trySend({.kind = Kind::OfferShared, .tag = 3, .bytes = 16, .number = 9},
                                    reinterpret_cast<const uint8_t*>(&segment), sizeof segment));
  EXPECT_FALSE(pair[0].test(*requests.all[0]));
  MessageLink::Received answer;
  bool found = false;
  ASSERT_TRUE(pair.hostile->receive(&answer, &found));
  ASSERT_TRUE(found);
  EXPECT_EQ(Kind::Take, answer.frame.kind);
  EXPECT_EQ(9U, answer.frame.number);
}

TEST(Messages, UnreceivedMessagesTakeNoMoreThanTheirCredit) {
  Pair pair;
  ASSERT_TRUE(pair[1].start());
  Requests requests;
  const std::vector<uint8_t> data(1000, 7);
  size_t eager = 0;
  for (int i = 0; i < 3000; ++i) {
    MessageRequest* request = nullptr;
    ASSERT_TRUE(pair[0].send(1, i, data.data(), data.size(), false, &request));
    eager += requests(request) == nullptr ? 1 : 0;
    MessageStatus found;
    EXPECT_EQ(Code::Timeout, pair[1].probe(0, 100'000, 0, &found).code());  // takes the frames
  }
  EXPECT_EQ(Messages::kCredit / (data.size() + Messages::kOverheadBytes), eager);
  std::vector<uint8_t> buffer(1000);
  for (int i = 2999; i >= 0; --i) {
    MessageRequest* receive = pair[1].receive(0, i, buffer.data(), buffer.size());
    EXPECT_TRUE(pair[1].wait(*receive, 10 * kShort)) << i;
    EXPECT_EQ(data, buffer);
    Messages::free(receive);
  }
  for (MessageRequest* send : requests.all) {
    MessageStatus found;
    for (int polls = 0; polls < 10'000 && !pair[0].test(*send); ++polls) {
      EXPECT_EQ(Code::Timeout, pair[1].probe(0, 0, 0, &found).code());  // sends answers for which there was no space
    }
    EXPECT_TRUE(send->isOver());
  }
}

// The sender's memory must not be read once its communicator has ended, and stop() waits for a copy that has begun.
TEST(Messages, EndWaitsUntilReceiversHaveLeftTheMemory) {
  MemoryOffers& offers = MemoryOffers::ofProcess();
  const std::vector<uint8_t> data(8, 1);
  const uint64_t number = offers.add(data.data());
  ASSERT_EQ(data.data(), offers.hold(number));
  std::atomic<bool> ended{false};
  std::thread owner([&] {
    offers.withdraw(number);
    ended.store(true);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(ended.load());
  offers.release(number);
  owner.join();
  EXPECT_EQ(nullptr, offers.hold(number));
}

TEST(RingMessageLink, FramesOfAllLengthsArriveInOrderAroundTheEndOfTheRing) {
  std::vector<uint8_t> memory(2 * SegmentShape::kInboxBytes + 64);
  auto* first = reinterpret_cast<uint8_t*>((reinterpret_cast<uintptr_t>(memory.data()) + 63) / 64 * 64);
  uint8_t* second = first + SegmentShape::kInboxBytes;
  EventCount events{};
  RingMessageLink sender(first, second, events), receiver(second, first, events);
  uint64_t sent = 0, received = 0;
  const auto length = [&](uint64_t number) { return number * 7919 % (sender.maxData() + 1); };
  std::vector<uint8_t> data(sender.maxData());
  for (int round = 0; round < 2000; ++round) {
    for (;; ++sent) {
      std::fill(data.begin(), data.end(), static_cast<uint8_t>(sent));
      if (!sender.trySend({.kind = Kind::Eager, .number = sent}, data.data(), length(sent))) break;
    }
    ASSERT_GT(sent, received);
    for (uint64_t left = 1 + round % (sent - received); left > 0; --left, ++received) {
      MessageLink::Received next;
      bool found = false;
      ASSERT_TRUE(receiver.hasNews());
      ASSERT_TRUE(receiver.receive(&next, &found));
      ASSERT_TRUE(found);
      ASSERT_EQ(received, next.frame.number);
      ASSERT_EQ(length(received), next.bytes);
      ASSERT_TRUE(std::all_of(next.data, next.data + next.bytes,
                              [&](uint8_t each) { return each == static_cast<uint8_t>(received); }));
      receiver.release();
    }
  }
}

}  // namespace jccl::test::messages_test
