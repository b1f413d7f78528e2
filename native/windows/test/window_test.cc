// Tests of windows: frames that break the rules, as a faulty or hostile rank sends them.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "base/clock.h"
#include "engine/network_slots.h"
#include "engine/shared_heap.h"
#include "test/net_ranks.h"
#include "test/sanitized.h"
#include "windows/windows.h"

namespace jccl::test::window_test {
namespace {

using Kind = WindowFrame::Kind;

constexpr size_t kBytes = 1000;
constexpr uint32_t kOpen = 7;  // number of the open window
constexpr uint64_t kHuge = ~uint64_t{0};
constexpr int kSize = 2;

// The link of rank 0 to rank 1. The test plays rank 1: it writes frames into the slots of the network.
class Link {
 public:
  Link() {
    for (ConnectionMemory* memory : {&toPeer_, &fromPeer_}) {
      EXPECT_TRUE(slots_.make(*memory));
      memory->zeroCopySlots = slots_.makeZeroCopySlots();
    }
    peer_.memory = fromPeer_;
    peer_.transport = TransportKind::Socket;
    answers_.memory = toPeer_;
    answers_.transport = TransportKind::Socket;
    std::memset(memory_.data(), 0, memory_.bytes());
    link_ = std::make_unique<WindowLink>(
        0, 1, TransportKind::Socket, toPeer_, fromPeer_,
        [this](uint32_t number) { return number == kOpen ? target_ : nullptr; },
        [this](const Status& why) { failures.push_back(why.message()); }, events_);
  }

  // Sends a frame of this length, which contains the header and maybe data, and lets the link apply it.
  void send(const WindowFrame& frame, size_t length, uint32_t check = kWindowFrameCheck,
            Protocol protocol = Protocol::Simple) {
    ASSERT_TRUE(peer_.hasCredit());
    uint8_t* slot = peer_.memory.simpleSlot(peer_.step);
    std::memset(slot, 0xEE, std::max(length, kWindowFrameBytes + 64));
    std::memcpy(slot, &frame, sizeof frame);
    peer_.publish(protocol, static_cast<uint32_t>(length), check);
    link_->poll(0);
  }

  // Sends a part of announced data. The network stores it at the posted place if `inPlace`.
  void sendPart(const std::vector<uint8_t>& data, uint64_t number, bool inPlace = false) {
    ASSERT_TRUE(peer_.hasCredit());
    ZeroCopySlot& slot = fromPeer_.zeroCopySlot(peer_.step);
    uint8_t* place = peer_.memory.simpleSlot(peer_.step);
    slot.userData = nullptr;
    if (inPlace) {
      ASSERT_EQ(peer_.step + 1, slot.postedFor.load());
      ASSERT_EQ(data.size(), slot.postedBytes);
      ASSERT_EQ(windowDataCheck(number), slot.postedCheck);
      slot.userData = place = slot.postedAddress;
    }
    std::copy(data.begin(), data.end(), place);
    peer_.publish(Protocol::Simple, static_cast<uint32_t>(data.size()), windowDataCheck(number));
    link_->poll(0);
    slot.userData = nullptr;
  }
  bool isPosted(uint64_t ahead) {
    return fromPeer_.zeroCopySlot(peer_.step + ahead).postedFor.load() == peer_.step + ahead + 1;
  }

  // Takes the next answer; false if there is none.
  bool answer(WindowFrame* frame) {
    if (!answers_.isPublished()) return false;
    std::memcpy(frame, answers_.memory.simpleSlot(answers_.step), sizeof *frame);
    answers_.release();
    return true;
  }

  // Returns true if neither the window nor anything around it has been written.
  bool untouched() {
    if (!memory_.intact()) return false;
    for (size_t i = 0; i < memory_.bytes(); ++i) {
      if (memory_.data()[i] != 0) return false;
    }
    return true;
  }

  WindowLink& operator*() { return *link_; }
  Guarded& memory() { return memory_; }
  size_t maxData() const { return link_->maxData(); }

  std::vector<std::string> failures;

 private:
  NetworkSlots slots_{Engine::segmentShape({}).connection};
  ConnectionMemory toPeer_, fromPeer_;
  SendConnection peer_;
  RecvConnection answers_;
  EventCount events_{};
  Guarded memory_{WindowMemory::totalBytes(kBytes, kSize)};
  std::shared_ptr<const WindowTarget> target_ =
      std::make_shared<WindowTarget>(WindowTarget{WindowMemory(memory_.data(), kBytes), kBytes, nullptr});
  std::unique_ptr<WindowLink> link_;
};

struct BadFrame {
  const char* name;
  WindowFrame frame;
  size_t data;       // bytes of data that follow the header
  const char* text;  // part of the error
};

WindowFrame put(uint64_t offset, uint64_t bytes, uint32_t signal = WindowFrame::kNoSignal, uint32_t window = kOpen) {
  return {.window = window, .signal = signal, .offset = offset, .bytes = bytes};
}

WindowFrame other(Kind kind, uint64_t offset, uint64_t bytes, uint64_t number, uint32_t window = kOpen) {
  return {.kind = kind, .window = window, .offset = offset, .bytes = bytes, .number = number};
}

WindowFrame announce(uint64_t offset, uint64_t bytes, uint32_t signal = WindowFrame::kNoSignal,
                     uint32_t window = kOpen) {
  return {.kind = Kind::Data, .window = window, .signal = signal, .offset = offset, .bytes = bytes};
}

const BadFrame kBadFrames[] = {
    {"a put that begins behind the window", put(kBytes + 1, 0), 0, "outside of the window of bytes=1000"},
    {"a put that ends behind the window", put(kBytes - 7, 8), 8, "outside of the window"},
    {"a put into the signals", put(1024, 8), 8, "outside of the window"},
    {"a put at a negative offset", put(static_cast<uint64_t>(-8), 8), 8, "outside of the window"},
    {"a put whose end overflows", put(kHuge - 3, 8), 8, "outside of the window"},
    {"a put with more bytes than data", put(0, 16), 8, "does not fit the kind and bytes"},
    {"a put with less bytes than data", put(0, 8), 16, "does not fit the kind and bytes"},
    {"a put of a negative length", put(0, static_cast<uint64_t>(-1)), 8, "does not fit the kind and bytes"},
    {"a put into a window that is not open", put(0, 8, WindowFrame::kNoSignal, kOpen + 1), 8, "no such window"},
    {"a signal of a window that is not open", put(0, 0, 0, 0), 0, "no such window"},
    {"the first signal out of range", put(0, 0, WindowMemory::kSignals), 0, "expected one below 64"},
    {"a negative signal", put(0, 8, static_cast<uint32_t>(-2)), 8, "expected one below 64"},
    {"a get that ends behind the window", other(Kind::Get, 1, kBytes, 1), 0, "outside of the window"},
    {"a get whose end overflows", other(Kind::Get, 8, kHuge - 3, 1), 0, "outside of the window"},
    {"a get with data", other(Kind::Get, 0, 8, 1), 8, "does not fit the kind and bytes"},
    {"a get from a window that is not open", other(Kind::Get, 0, 8, 1, 1), 0, "no such window"},
    {"an addition behind the window", other(Kind::Add, kBytes, 8, 1), 8, "outside of the window"},
    {"an addition at the end of the window", other(Kind::Add, kBytes - 4, 8, 1), 8, "outside of the window"},
    {"an addition at no multiple of 8", other(Kind::Add, 4, 8, 1), 8, "expected 8 bytes at a multiple of 8"},
    {"an addition of 4 bytes", other(Kind::Add, 0, 4, 1), 4, "expected 8 bytes at a multiple of 8"},
    {"an addition without data", other(Kind::Add, 0, 8, 1), 0, "does not fit the kind and bytes"},
    {"a question for a window that is not open", other(Kind::Ask, 0, 0, 0, 1), 0, "no such window"},
    {"a place for which this rank has not asked", other(Kind::Place, 4096, 0, 1), 0, "answers no question"},
    {"a reply to no get", other(Kind::Reply, 0, 8, 1), 8, "answers no get"},
    {"a reply to get 0", other(Kind::Reply, 0, 8, 0), 8, "answers no get"},
    {"an answer to no flush", other(Kind::Flushed, 0, 0, 1), 0, "answers no flush"},
    {"a flush with data", other(Kind::Flush, 0, 0, 1), 8, "does not fit the kind and bytes"},
    {"kind 0", other(Kind{0}, 0, 0, 0), 0, "unknown kind"},
    {"kind 10", other(Kind{10}, 0, 0, 0), 0, "unknown kind"},
    {"data that ends behind the window", announce(1, kBytes), 0, "outside of the window of bytes=1000"},
    {"data whose end overflows", announce(8, kHuge - 3), 0, "outside of the window"},
    {"data of no bytes", announce(0, 0), 0, "expected a put"},
    {"data in the frame", announce(0, 8), 8, "does not fit the kind and bytes"},
    {"data with a signal out of range", announce(0, 8, WindowMemory::kSignals), 0, "expected one below 64"},
    {"data for a window that is not open", announce(0, 8, WindowFrame::kNoSignal, kOpen + 1), 0, "no such window"},
    {"a negative kind", other(Kind{~0u}, 0, 0, 0), 0, "unknown kind"},
};

TEST(WindowFrames, ThatBreakTheRulesFailTheLinkAndWriteNothing) {
  for (const BadFrame& bad : kBadFrames) {
    SCOPED_TRACE(bad.name);
    Link link;
    link.send(bad.frame, kWindowFrameBytes + bad.data);
    ASSERT_EQ(1u, link.failures.size());
    EXPECT_NE(std::string::npos, link.failures[0].find(bad.text)) << link.failures[0];
    EXPECT_NE(std::string::npos, link.failures[0].find("rank=1 sent rank=0 a frame")) << link.failures[0];
    EXPECT_TRUE(link.untouched());
    link.send(put(0, 8, 0), kWindowFrameBytes + 8);  // a link that has failed applies nothing more
    EXPECT_TRUE(link.untouched());
    EXPECT_FALSE((*link).pending());
    EXPECT_EQ(1u, link.failures.size());
  }
}

TEST(WindowFrames, ThatAreNoFramesFailTheLink) {
  const std::vector<std::function<void(Link&)>> wrong = {
      [](Link& link) { link.send(put(0, 0), 0); },
      [](Link& link) { link.send(put(0, 0), sizeof(WindowFrame)); },
      [](Link& link) { link.send(put(0, 0), kWindowFrameBytes - 1); },
      [](Link& link) { link.send(put(0, 8), kWindowFrameBytes + 8, kWindowFrameCheck + 1); },
      [](Link& link) { link.send(put(0, 8), kWindowFrameBytes + 8, kWindowWrittenCheck); },
      [](Link& link) { link.send(put(0, 8), kWindowFrameBytes + 8, kWindowFrameCheck, Protocol::LL); },
  };
  for (const auto& send : wrong) {
    Link link;
    send(link);
    ASSERT_EQ(1u, link.failures.size());
    EXPECT_NE(std::string::npos, link.failures[0].find("not a frame of a window")) << link.failures[0];
    EXPECT_TRUE(link.untouched());
  }
}

TEST(WindowFrames, WhoseDataFitsExactlyAreApplied) {
  Link link;
  link.send(put(kBytes - 8, 8, WindowMemory::kSignals - 1), kWindowFrameBytes + 8);
  link.send(put(kBytes, 0, 0), kWindowFrameBytes);
  link.send(other(Kind::Get, 0, kBytes, 5), kWindowFrameBytes);
  link.send(other(Kind::Get, kBytes, 0, 6), kWindowFrameBytes);
  link.send(other(Kind::Add, 8, 8, 7), kWindowFrameBytes + 8);
  link.send(other(Kind::Flush, 0, 0, 9), kWindowFrameBytes);
  link.send(other(Kind::Ask, 0, 0, 0), kWindowFrameBytes);
  EXPECT_TRUE(link.failures.empty());
  EXPECT_EQ(0xEEEEEEEEEEEEEEEEu, link.memory().get<uint64_t>(1));
  EXPECT_EQ(0xEEEEEEEEEEEEEEEEu, link.memory().get<uint64_t>(kBytes / 8 - 1));
  const WindowMemory memory(link.memory().data(), kBytes);
  EXPECT_EQ(1u, memory.raised(1, WindowMemory::kSignals - 1).load());
  EXPECT_EQ(1u, memory.raised(1, 0).load());
  EXPECT_EQ(0u, memory.raised(0, 0).load());
  WindowFrame answer;
  for (const WindowFrame& expected :
       {other(Kind::Reply, 0, kBytes, 5), other(Kind::Reply, 0, 0, 6), other(Kind::Reply, 0, 8, 7),
        other(Kind::Flushed, 0, 0, 9), other(Kind::Place, 0, 0, 0)}) {
    ASSERT_TRUE(link.answer(&answer));
    EXPECT_EQ(expected.kind, answer.kind);
    EXPECT_EQ(expected.bytes, answer.bytes);
    EXPECT_EQ(expected.number, answer.number);
  }
}

TEST(WindowFrames, OfARepliedGetStayWithinItsMemory) {
  struct Reply {
    uint64_t offset, bytes, number;
    bool valid;
  };
  for (const Reply& reply : {Reply{0, 16, 1, true}, Reply{0, 17, 1, false}, Reply{8, 8, 1, false},
                             Reply{static_cast<uint64_t>(-8), 8, 1, false}, Reply{0, 16, 2, false}}) {
    Link link;
    Guarded got(16);
    ASSERT_EQ(1u, (*link).beginGet(got.data(), got.bytes()));
    link.send(other(Kind::Reply, reply.offset, reply.bytes, reply.number), kWindowFrameBytes + reply.bytes);
    EXPECT_EQ(reply.valid, link.failures.empty());
    EXPECT_EQ(reply.valid, (*link).isAnswered(1));
    EXPECT_TRUE(got.intact());
    EXPECT_EQ(reply.valid ? 0xEE : 0, got.get<uint8_t>(0));
    (*link).endGet(1);
  }
}

TEST(WindowFrames, AReplyThatArrivesAfterItsGetHasEndedIsDropped) {
  Link link;
  Guarded got(16);
  const uint64_t number = (*link).beginGet(got.data(), got.bytes());
  (*link).endGet(number);
  link.send(other(Kind::Reply, 0, 16, number), kWindowFrameBytes + 16);
  EXPECT_TRUE(link.failures.empty());
  EXPECT_EQ(0u, got.get<uint64_t>(0));
}

TEST(WindowFrames, OfRequestsWhoseAnswersNobodyTakesFailTheLinkAtALimit) {
  Link link;
  for (size_t i = 0; i < WindowLink::kMaxAnswers + kSlots; ++i) {
    link.send(other(Kind::Flush, 0, 0, 0), kWindowFrameBytes);
    ASSERT_TRUE(link.failures.empty()) << i;
  }
  link.send(other(Kind::Flush, 0, 0, 0), kWindowFrameBytes);
  ASSERT_EQ(1u, link.failures.size());
  EXPECT_NE(std::string::npos, link.failures[0].find("wait already")) << link.failures[0];
}

TEST(WindowFrames, OfRandomBytesWriteNothingOutsideOfTheWindow) {
  std::mt19937_64 random(1);
  const std::array<uint64_t, 12> edges = {0,      1,          7,    8,         kBytes - 8, kBytes - 1,
                                          kBytes, kBytes + 1, 1024, kHuge - 7, kHuge >> 1, kHuge};
  const auto number = [&](uint64_t small) {
    return random() % 2 == 0 ? edges[random() % edges.size()] : random() % small;
  };
  auto link = std::make_unique<Link>();
  size_t applied = 0;
  const size_t rounds = kSanitized ? 10'000 : 100'000;
  for (size_t round = 0; round < rounds; ++round) {
    WindowFrame frame;
    frame.kind = static_cast<Kind>(random() % 11);
    frame.window = random() % 4 == 0 ? static_cast<uint32_t>(random()) : kOpen;
    frame.signal = random() % 2 == 0 ? WindowFrame::kNoSignal : static_cast<uint32_t>(number(70));
    frame.offset = number(kBytes);
    frame.bytes = number(100);
    frame.number = number(3);
    const size_t data = random() % 8 == 0 ? random() % 200 : frame.bytes;
    link->send(frame, kWindowFrameBytes + std::min(data, link->maxData()));
    WindowFrame answer;
    while (link->answer(&answer)) {
    }
    ASSERT_TRUE(link->memory().intact()) << round;
    if (link->failures.empty()) {
      ++applied;
    } else {
      link = std::make_unique<Link>();
    }
  }
  EXPECT_GT(applied, rounds / 40);
}

TEST(WindowData, GoesToItsPlaceWithFramesBetweenItsPartsAndRaisesItsSignalAtTheEnd) {
  for (const bool inPlace : {false, true}) {
    SCOPED_TRACE(inPlace);
    Link link;
    link.send(announce(100, 300, 3), kWindowFrameBytes);
    const WindowMemory memory(link.memory().data(), kBytes);
    // The peer's parts are shorter than a slot, for which places are posted, except the last one.
    link.sendPart(std::vector<uint8_t>(100, 1), 0);
    EXPECT_TRUE(link.isPosted(0));
    link.send(put(0, 8), kWindowFrameBytes + 8);
    link.sendPart(std::vector<uint8_t>(50, 2), 1);
    EXPECT_EQ(0u, memory.raised(1, 3).load());
    link.sendPart(std::vector<uint8_t>(150, 3), 2, inPlace);
    EXPECT_EQ(1u, memory.raised(1, 3).load());
    EXPECT_FALSE(link.isPosted(0));
    EXPECT_TRUE(link.failures.empty());
    const uint8_t* bytes = link.memory().data();
    for (size_t i = 0; i < kBytes; ++i) {
      const int expected = i < 8 ? 0xEE : i < 100 ? 0 : i < 200 ? 1 : i < 250 ? 2 : i < 400 ? 3 : 0;
      ASSERT_EQ(expected, bytes[i]) << i;
    }
    EXPECT_TRUE(link.memory().intact());
  }
}

TEST(WindowData, ThatBreaksTheRulesFailsTheLink) {
  const std::vector<uint8_t> part(100, 1);
  const std::vector<std::pair<const char*, std::function<void(Link&)>>> wrong = {
      {"not a frame of a window", [&](Link& link) { link.sendPart(part, 0); }},
      {"a part of bytes=100 does not fit, left=99",
       [&](Link& link) {
         link.send(announce(0, 99), kWindowFrameBytes);
         link.sendPart(part, 0);
       }},
      {"a part of bytes=0 does not fit",
       [&](Link& link) {
         link.send(announce(0, 99), kWindowFrameBytes);
         link.sendPart({}, 0);
       }},
      {"not a frame of a window",
       [&](Link& link) {
         link.send(announce(0, 200), kWindowFrameBytes);
         link.sendPart(part, 1);
       }},
      {"earlier data has not arrived, left=100",
       [&](Link& link) {
         link.send(announce(0, 200), kWindowFrameBytes);
         link.sendPart(part, 0);
         link.send(announce(0, 200), kWindowFrameBytes);
       }},
      {"not a frame of a window",
       [&](Link& link) {
         link.send(announce(0, 100), kWindowFrameBytes);
         link.sendPart(part, 0);
         link.sendPart(part, 1);
       }},
  };
  for (const auto& [text, send] : wrong) {
    Link link;
    send(link);
    ASSERT_EQ(1u, link.failures.size()) << text;
    EXPECT_NE(std::string::npos, link.failures[0].find(text)) << link.failures[0];
    EXPECT_TRUE(link.memory().intact());
  }
}

// Two ranks on two hosts, each with an open window.
class WindowRanks {
 public:
  explicit WindowRanks(TransportKind network = TransportKind::Socket, size_t bytes = kBytes)
      : bytes_(bytes), ranks_({0, 1}, network, [](CommunicatorConfig& config) {
          config.usesIb = true;
          // The virtual machine of scripts/rdma-vm has adapters.
          if (std::getenv("RDMA_VM") == nullptr) {  // NOLINT(concurrency-mt-unsafe)
            config.ib.adapter.library = JCCL_FAKE_VERBS;
          }
        }) {
    std::vector<uint8_t> places;
    for (int rank = 0; rank < kSize; ++rank) {
      void* memory = nullptr;
      check(SharedHeap::ofThisProcess().allocate(total(), memory));
      data_[rank] = static_cast<uint8_t*>(memory);
      std::vector<uint8_t> place;
      check(windows(rank).describe(data_[rank], total(), &place));
      places.insert(places.end(), place.begin(), place.end());
    }
    for (int rank = 0; rank < kSize; ++rank) {
      check(windows(rank).open(kOpen, data_[rank], bytes_, places, &window_[rank]));
    }
  }
  ~WindowRanks() {
    for (int rank = 0; rank < kSize; ++rank) {
      windows(rank).endUse(*window_[rank]);
      windows(rank).close(*window_[rank]);
      check(SharedHeap::ofThisProcess().free(data_[rank]));
    }
  }

  Windows& windows(int rank) { return ranks_.communicators[rank]->attachment<Windows>(); }
  Window& window(int rank) { return *window_[rank]; }
  uint8_t* data(int rank) { return data_[rank]; }
  // Returns the error of a rank that computes meanwhile, so that only its thread of the windows applies frames.
  Status awaitFailure(int rank) {
    const NetTransport& network = *ranks_.communicators[rank]->networkInUse();
    for (const int64_t end = monotonicNanos() + kTimeoutNanos; !network.failed() && monotonicNanos() < end;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    int peer = -1;
    return network.error(&peer);
  }

 private:
  size_t total() const { return WindowMemory::totalBytes(bytes_, kSize); }
  static void check(const Status& status) { EXPECT_TRUE(status.isOk()) << status.message(); }

  const size_t bytes_;
  NetRanks ranks_;
  std::array<uint8_t*, kSize> data_{};
  std::array<Window*, kSize> window_{};
};

constexpr uint32_t kNone = WindowFrame::kNoSignal;

// Rank 1 skips the checks of its arguments, which are in Java.
TEST(WindowsOverSockets, AFrameThatBreaksTheRulesFailsTheTargetsCommunicator) {
  const std::array<uint8_t, 64> data{};
  const std::vector<std::function<Status(WindowRanks&)>> wrong = {
      [&](WindowRanks& ranks) {
        return ranks.windows(1).put(ranks.window(1), 0, kBytes - 1, data.data(), 2, kNone, kTimeoutNanos);
      },
      [&](WindowRanks& ranks) {
        return ranks.windows(1).put(ranks.window(1), 0, kHuge - 1, data.data(), 64, kNone, kTimeoutNanos);
      },
      [&](WindowRanks& ranks) {
        return ranks.windows(1).put(ranks.window(1), 0, 0, data.data(), 8, WindowMemory::kSignals, kTimeoutNanos);
      },
      [&](WindowRanks& ranks) {
        std::array<uint8_t, 64> got;
        return ranks.windows(1).get(ranks.window(1), 0, kBytes - 63, got.data(), 64, 100'000'000);
      },
      [&](WindowRanks& ranks) {
        ranks.windows(0).endUse(ranks.window(0));
        ranks.windows(0).close(ranks.window(0));
        return ranks.windows(1).put(ranks.window(1), 0, 0, data.data(), 8, 0, kTimeoutNanos);
      },
  };
  for (const auto& send : wrong) {
    WindowRanks ranks;
    std::ignore = send(ranks);  // may end before the target refuses the frame
    const Status error = ranks.awaitFailure(0);
    EXPECT_EQ(Code::Transport, error.code()) << error.message();
    EXPECT_NE(std::string::npos, error.message().find("windows: rank=1 sent rank=0 a frame")) << error.message();
    for (size_t i = 0; i < WindowMemory::totalBytes(kBytes, kSize); ++i) ASSERT_EQ(0, ranks.data(0)[i]) << i;
  }
}

// Large puts do not become frames: over verbs the adapter writes them, over sockets they are sent out of the caller's
// memory and stored at their place as they arrive. The target's CPU applies frames later. Small and large puts to the
// same bytes must still take effect in their order.
class WindowsOver : public ::testing::TestWithParam<TransportKind> {};

INSTANTIATE_TEST_SUITE_P(Networks, WindowsOver, ::testing::Values(TransportKind::Ib, TransportKind::Socket),
                         [](const auto& of) { return of.param == TransportKind::Ib ? "verbs" : "sockets"; });

TEST_P(WindowsOver, PutsOfAllSizesToTheSameBytesTakeEffectInOrder) {
  constexpr size_t kWindow = 3'000'000;
  WindowRanks ranks(GetParam(), kWindow);
  Windows& origin = ranks.windows(0);
  Window& window = ranks.window(0);
  std::vector<uint8_t> model(kWindow), data(kWindow), got(kWindow);
  std::mt19937_64 random(3);
  const auto ok = [](const Status& status) {
    EXPECT_TRUE(status.isOk()) << status.message();
    return status.isOk();
  };
  for (uint32_t round = 1; round <= 400; ++round) {
    const size_t most = std::array<size_t, 4>{8, 4096, 20'000, kWindow}[random() % (round % 20 == 0 ? 4 : 3)];
    const size_t bytes = random() % most + 1;
    const size_t offset = random() % (round % 2 == 0 ? kWindow : 30'000);
    const size_t end = std::min(offset + bytes, kWindow);
    std::fill(data.begin(), data.end(), static_cast<uint8_t>(random()));
    std::copy(data.begin(), data.begin() + (end - offset), model.begin() + offset);
    ASSERT_TRUE(
        ok(origin.put(window, 1, offset, data.data(), end - offset, round % 3 == 0 ? 5 : kNone, kTimeoutNanos)));
    std::fill(data.begin(), data.end(), 0xEE);  // the memory may change when put() returns
    if (round % 3 == 0) {
      ASSERT_TRUE(ok(ranks.windows(1).waitSignal(ranks.window(1), 0, 5, 1, kTimeoutNanos)));
      ASSERT_EQ(0, std::memcmp(ranks.data(1), model.data(), kWindow)) << round;
    } else if (round % 10 == 1) {
      ASSERT_TRUE(ok(origin.get(window, 1, offset, got.data(), end - offset, kTimeoutNanos)));
      ASSERT_EQ(0, std::memcmp(got.data(), model.data() + offset, end - offset)) << round;
    } else if (round % 10 == 2) {
      ASSERT_TRUE(ok(origin.flush(window, 1, kTimeoutNanos)));
      ASSERT_EQ(0, std::memcmp(ranks.data(1), model.data(), kWindow)) << round;
    }
  }
}

// The adapter of the target refuses a write outside of the registered window; nothing there changes.
TEST(WindowsOverVerbs, AWriteOutsideOfTheWindowIsRefusedByTheAdapter) {
  WindowRanks ranks(TransportKind::Ib, 100'000);
  const std::vector<uint8_t> data(8192, 1);
  ASSERT_TRUE(ranks.windows(1).put(ranks.window(1), 0, 0, data.data(), data.size(), kNone, kTimeoutNanos));
  ASSERT_TRUE(ranks.windows(1).flush(ranks.window(1), 0, kTimeoutNanos));
  std::ignore =
      ranks.windows(1).put(ranks.window(1), 0, 100'000 - 4096, data.data(), data.size(), kNone, kTimeoutNanos);
  const Status flushed = ranks.windows(1).flush(ranks.window(1), 0, kTimeoutNanos);
  EXPECT_EQ(Code::Transport, flushed.code()) << flushed.message();
  EXPECT_EQ(std::string::npos, flushed.message().find("a frame")) << flushed.message();
  for (size_t i = 100'000; i < WindowMemory::totalBytes(100'000, kSize); ++i) ASSERT_EQ(0, ranks.data(0)[i]) << i;
}

}  // namespace
}  // namespace jccl::test::window_test
