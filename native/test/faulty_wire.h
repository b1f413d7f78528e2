// State that the two ends of a simulated connection share: the messages in flight and the faults of the connection.
#pragma once

#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "test/faulty_net.h"

namespace jccl::test {

inline constexpr uint8_t kGarbage = 0xDB;
inline constexpr uint64_t kMaxMessagesUntilLoss = 60;
inline constexpr size_t kMaxInTransit = 32;  // messages that have left the sender and that the receiver has not taken
inline constexpr int64_t kNever = INT64_MAX;

inline uint64_t mix(uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

// Lets one rank wake another. Edge-triggered: every write is an event, so that no thread needs to read.
class WakeEvent final : public EventHandler {
 public:
  WakeEvent() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  int fd() const { return fd_.get(); }
  void notify() const {
    const uint64_t one = 1;
    if (::write(fd_.get(), &one, sizeof one) < 0) return;  // the counter is full, so an event is pending
  }
  void onEvents(uint32_t) override {}

 private:
  UniqueFd fd_;
};

// Wakes a rank at the earliest time that its own connections have set. Used only under the lock of the rank's engine.
class Alarm final : public EventHandler {
 public:
  Alarm() : fd_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {}
  int fd() const { return fd_.get(); }
  void setFor(int64_t nanos) {
    if (nanos >= set_) return;
    set_ = nanos;
    itimerspec when{};
    when.it_value = {nanos / 1'000'000'000, nanos % 1'000'000'000};
    ::timerfd_settime(fd_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
  }
  void onEvents(uint32_t) override { set_ = kNever; }

 private:
  UniqueFd fd_;
  int64_t set_ = kNever;
};

// One message in flight. Its parts move from the front to the end, or from the end to the front (WirePlan::backwards).
struct Parcel {
  NetMessage message;
  const uint8_t* source = nullptr;
  std::vector<uint8_t> bytes;
  uint32_t taken = 0;  // bytes that have left the sender
  int64_t leaveAt = 0;
  int64_t reportAt = kNever;  // time at which the sender learns that all bytes have left; kNever until they have
  uint32_t placed = 0;
  bool begun = false;
  int64_t arriveAt = 0;
  int64_t doneAt = kNever;  // time at which the receiver learns that all bytes are in place; kNever until they are

  bool left() const { return reportAt != kNever; }
};

struct Counters {
  std::atomic<uint64_t> losses{0};
  std::atomic<uint64_t> messages{0};
  std::atomic<uint64_t> overtaken{0};
  std::atomic<uint64_t> inParts{0};
  std::atomic<uint64_t> atPostedAddress{0};
  std::atomic<uint64_t> flushed{0};
  std::atomic<int64_t> registered{0};
};

// Memory that is registered with the simulated network.
class SimulatedMemory final : public NetMemory {
 public:
  // `owner` keeps the counters alive.
  SimulatedMemory(const void* address, size_t bytes, NetAccess access, Counters& counters,
                  std::shared_ptr<const void> owner, bool onDevice = false)
      : begin_(static_cast<const uint8_t*>(address)),
        end_(begin_ + bytes),
        access_(access),
        counters_(counters),
        owner_(std::move(owner)),
        onDevice_(onDevice) {
    ++counters_.registered;
  }
  ~SimulatedMemory() override { --counters_.registered; }

  bool onDevice() const { return onDevice_; }
  bool holds(const NetBuffer& buffer, NetAccess access) const {
    const auto* begin = static_cast<const uint8_t*>(buffer.address);
    const bool allowed = access == NetAccess::Read || access_ == NetAccess::Write;
    return allowed && begin_ <= begin && begin + buffer.bytes <= end_;
  }

 private:
  const uint8_t* const begin_;
  const uint8_t* const end_;
  const NetAccess access_;
  Counters& counters_;
  const std::shared_ptr<const void> owner_;
  const bool onDevice_;
};

// The faults of one connection, drawn when it is made.
struct WirePlan {
  int64_t maxDelayNanos;
  int64_t maxHiccupNanos;
  uint32_t hiccupOneIn;
  bool inParts;
  bool reorders;
  bool backwards;             // parts move from the end of a message to its front
  bool waitsForReceives;      // like verbs: a message leaves only after the receiver has posted a buffer
  bool usesPostedAddresses;   // messages go to receiver-posted addresses
  bool streams;               // parts arrive before the last one has left
  uint64_t lossAt;            // the connection breaks during this message; 0: before it is established
  int64_t senderLossNanos;    // time from the loss to the sender's report; kNever: no report
  int64_t receiverLossNanos;  // time from the loss to the receiver's report; kNever: no report
  bool lossDrops;             // messages in flight are lost, too
  uint64_t flushFailsAt;      // the first message whose flush fails
};

inline WirePlan planOf(const NetFaults& faults, const NetRoute& route, SeededRandom& random) {
  WirePlan plan{};
  plan.maxDelayNanos = random.oneIn(3) ? 0 : static_cast<int64_t>(random.below(faults.maxDelayNanos + 1));
  plan.maxHiccupNanos = faults.maxHiccupNanos;
  plan.hiccupOneIn = faults.hiccupOneIn;
  plan.inParts = !random.oneIn(3);
  plan.reorders = !random.oneIn(3);
  plan.backwards = random.oneIn(2);
  plan.waitsForReceives = random.oneIn(2);
  plan.usesPostedAddresses = !random.oneIn(3);
  plan.streams = random.oneIn(2);
  const int victim = static_cast<int>(mix(faults.seed) % static_cast<uint64_t>(faults.ranks));
  const bool doomed = faults.loses && (route.from == victim ? !random.oneIn(3) : random.oneIn(12));
  plan.lossAt = doomed ? random.below(kMaxMessagesUntilLoss) : UINT64_MAX;
  const auto delay = [&] { return random.oneIn(3) ? kNever : static_cast<int64_t>(random.below(20'000'000)); };
  plan.senderLossNanos = delay();
  plan.receiverLossNanos = delay();
  plan.lossDrops = random.oneIn(2);
  plan.flushFailsAt = faults.failsFlushes ? random.below(kMaxMessagesUntilLoss) : UINT64_MAX;
  return plan;
}

// The state that both ends of a connection share.
class Wire {
 public:
  Wire(const NetFaults& faults, const NetRoute& route, Counters& counters)
      : route(route),
        counters(counters),
        registers(faults.registers),
        random(mix(faults.seed) ^ mix((uint64_t{1} << 60) + static_cast<uint64_t>(route.from) * 1'000'003 +
                                      static_cast<uint64_t>(route.to) * 1009 + static_cast<uint64_t>(route.channel))),
        plan(planOf(faults, route, random)) {}

  int64_t delay() {
    if (random.oneIn(plan.hiccupOneIn)) return static_cast<int64_t>(random.below(plan.maxHiccupNanos + 1));
    return static_cast<int64_t>(random.below(plan.maxDelayNanos + 1));
  }

  uint32_t part(uint32_t rest) {
    return !plan.inParts || rest < 2 || random.oneIn(3) ? rest : 1 + static_cast<uint32_t>(random.below(rest));
  }

  // Returns the offset of the next `length` bytes after `done` bytes have moved.
  size_t offsetOf(const Parcel& parcel, uint32_t done, uint32_t length) const {
    return plan.backwards ? parcel.message.bytes - done - length : done;
  }

  void lose(int64_t now) {
    lost = true;
    ++counters.losses;
    const auto after = [now](int64_t nanos) { return nanos == kNever ? kNever : now + nanos; };
    senderLossAt = after(plan.senderLossNanos);
    receiverLossAt = after(plan.receiverLossNanos);
    ringBoth();
  }

  // Breaks the connection because one end has gone without a FIN.
  void cut(int64_t now) {
    lost = true;
    senderLossAt = std::min(senderLossAt, now);
    receiverLossAt = std::min(receiverLossAt, now);
    ringBoth();
  }

  void ringBoth() const {
    if (senderEvents != nullptr) senderEvents->notify();
    if (receiverEvents != nullptr) receiverEvents->notify();
  }

  Status error(int about, const char* what) const {
    return Status::transport("net: rank " + std::to_string(about) + " at simulated channel " +
                             std::to_string(route.channel) + ": " + what);
  }

  // Returns an error if the network needs registered memory and the buffer is not in it.
  Status reach(const NetBuffer& buffer, NetAccess access) const {
    if (!registers) return Status::ok();
    const auto* memory = dynamic_cast<const SimulatedMemory*>(buffer.memory);
    if (memory != nullptr && memory->holds(buffer, access)) return Status::ok();
    return Status::internal(
        "bytes=" + std::to_string(buffer.bytes) +
        (memory == nullptr ? ": not registered [simulated]" : ": beyond what is registered [simulated]"));
  }

  // Returns the parcel of a message; null if the message is not posted yet, or the receiver has taken it.
  Parcel* find(uint64_t sequence) {
    return sequence < first || sequence - first >= parcels.size() ? nullptr : &parcels[sequence - first];
  }

  std::mutex mutex;
  const NetRoute route;
  Counters& counters;
  const bool registers;
  SeededRandom random;
  const WirePlan plan;
  std::shared_ptr<WakeEvent> senderEvents;
  std::shared_ptr<WakeEvent> receiverEvents;
  bool accepted = false;
  bool lost = false;
  bool senderGone = false;  // the sender has sent its FIN
  bool receiverGone = false;
  int64_t senderLossAt = kNever;
  int64_t receiverLossAt = kNever;
  uint64_t first = 0;  // sequence number of the first parcel
  uint64_t receivesPosted = 0;
  std::deque<Parcel> parcels;
};

// Calls `each` with the numbers from `begin` to `end` - 1, in an order that the wire draws.
template <typename Each>
void inSomeOrder(Wire& wire, uint64_t begin, uint64_t end, Each each) {
  const uint64_t count = end - begin;
  if (count == 0) return;
  const uint64_t start = wire.plan.reorders ? wire.random.below(count) : 0;
  const bool down = wire.plan.reorders && wire.random.oneIn(2);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t at = (start + (down ? count - i : i)) % count;
    each(begin + at);
  }
}

}  // namespace jccl::test
