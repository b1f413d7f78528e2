// The two ends of a connection of the simulated network (faulty_net.h).
#pragma once

#include <array>
#include <cstring>
#include <vector>

#include "test/faulty_wire.h"

namespace jccl::test {

inline Status outOfOrder(const char* call, uint64_t sequence, uint64_t posted, uint64_t done) {
  return Status::internal(std::string(call) + ": sequence=" + std::to_string(sequence) + " posted=" +
                          std::to_string(posted) + " done=" + std::to_string(done) + ": out of order or too far ahead");
}

class FaultySendConnection final : public NetSendConnection {
 public:
  FaultySendConnection(std::shared_ptr<Wire> wire, Alarm& alarm, int64_t dialledAt)
      : wire_(std::move(wire)), alarm_(alarm), dialledAt_(dialledAt) {}
  ~FaultySendConnection() override {
    const std::lock_guard lock(wire_->mutex);
    if (!wire_->senderGone) wire_->cut(monotonicNanos());
    wire_->senderEvents = nullptr;
  }

  bool connected() const override { return connected_; }

  Status isend(uint64_t sequence, const NetMessage& message, const NetBuffer& data) override {
    if (sequence != posted_ || posted_ - done_ >= kNetInFlight) return outOfOrder("isend", sequence, posted_, done_);
    if (Status reached = wire_->reach(data, NetAccess::Read); !reached) return reached;
    const std::lock_guard lock(wire_->mutex);
    Parcel parcel;
    parcel.message = message;
    parcel.source = static_cast<const uint8_t*>(data.address);
    parcel.bytes.resize(message.bytes);
    parcel.leaveAt = monotonicNanos() + wire_->delay();
    wire_->parcels.push_back(std::move(parcel));
    ++wire_->counters.messages;
    ++posted_;
    return Status::ok();
  }

  Status test(uint64_t sequence, bool* done) override {
    if (sequence >= posted_ || sequence < done_) return outOfOrder("test", sequence, posted_, done_);
    *done = reported_[sequence % kNetInFlight];
    if (!*done || sequence != done_) return Status::ok();
    reported_[done_++ % kNetInFlight] = false;
    return Status::ok();
  }

  Status progress(int64_t now, int* work) override {
    const std::lock_guard lock(wire_->mutex);
    due_ = kNever;
    if (!connected_ && !establish(now, work)) return finishProgress(now);
    if (!wire_->lost) {
      inSomeOrder(*wire_, done_, posted_, [&](uint64_t sequence) { send(sequence, now, work); });
    }
    for (uint64_t sequence = done_; sequence < posted_; ++sequence) report(sequence, now, work);
    return finishProgress(now);
  }

  void close() override {
    const std::lock_guard lock(wire_->mutex);
    const bool whole =
        std::all_of(wire_->parcels.begin(), wire_->parcels.end(), [](const Parcel& p) { return p.left(); });
    if (whole && !wire_->lost) {
      wire_->senderGone = true;
      wire_->ringBoth();
    }
  }

  std::string describe() const override {
    return "rank " + std::to_string(wire_->route.to) + " at a simulated network";
  }

 private:
  bool establish(int64_t now, int* work) {
    if (wire_->plan.lossAt == 0 && !wire_->lost) wire_->lose(now);
    if (!wire_->accepted || wire_->lost) return false;
    if (now < dialledAt_) {
      due_ = dialledAt_;
      return false;
    }
    connected_ = true;
    ++*work;
    return true;
  }

  void send(uint64_t sequence, int64_t now, int* work) {
    Wire& wire = *wire_;
    Parcel* parcel = wire.find(sequence);
    if (parcel == nullptr || parcel->left() || wire.lost) return;
    if (now < parcel->leaveAt) return wakeAt(parcel->leaveAt);
    const bool fits =
        wire.plan.waitsForReceives ? sequence < wire.receivesPosted : sequence < wire.first + kMaxInTransit;
    if (!fits) return;  // the receiver wakes the sender when the message fits
    const uint32_t length = wire.part(parcel->message.bytes - parcel->taken);
    const size_t at = wire.offsetOf(*parcel, parcel->taken, length);
    if (length != 0) std::memcpy(parcel->bytes.data() + at, parcel->source + at, length);
    if (parcel->taken == 0 && length < parcel->message.bytes) ++wire.counters.inParts;
    parcel->taken += length;
    parcel->arriveAt = std::max(parcel->arriveAt, now + wire.delay());
    ++*work;
    if (sequence == wire.plan.lossAt && 2 * parcel->taken >= parcel->message.bytes) return wire.lose(now);
    if (parcel->taken == parcel->message.bytes) {
      parcel->reportAt = now + wire.delay();
    } else {
      parcel->leaveAt = now + wire.delay();
      wakeAt(parcel->leaveAt);
    }
    if (wire.receiverEvents != nullptr) wire.receiverEvents->notify();
  }

  void report(uint64_t sequence, int64_t now, int* work) {
    if (reported_[sequence % kNetInFlight]) return;
    const Parcel* parcel = wire_->find(sequence);
    // A parcel vanishes when the receiver takes the message. A message that was taken has also left.
    const int64_t at = parcel == nullptr ? now : parcel->reportAt;
    if (at == kNever) return;
    if (now < at) return wakeAt(at);
    reported_[sequence % kNetInFlight] = true;
    ++*work;
  }

  Status finishProgress(int64_t now) {
    if (now >= wire_->senderLossAt) return wire_->error(wire_->route.to, "the connection broke [simulated]");
    wakeAt(wire_->senderLossAt);
    if (wire_->receiverGone && !wire_->lost) {
      for (const Parcel& parcel : wire_->parcels) {
        if (!parcel.left()) return wire_->error(wire_->route.to, "it closed before it had everything [simulated]");
      }
    }
    if (due_ != kNever) alarm_.setFor(due_);
    return Status::ok();
  }

  void wakeAt(int64_t nanos) { due_ = std::min(due_, nanos); }

  const std::shared_ptr<Wire> wire_;
  Alarm& alarm_;
  const int64_t dialledAt_;
  bool connected_ = false;
  std::array<bool, kNetInFlight> reported_{};
  int64_t due_ = kNever;
  uint64_t posted_ = 0;
  uint64_t done_ = 0;
};

class FaultyRecvConnection final : public NetRecvConnection {
 public:
  FaultyRecvConnection(std::shared_ptr<Wire> wire, Alarm& alarm) : wire_(std::move(wire)), alarm_(alarm) {}
  ~FaultyRecvConnection() override {
    const std::lock_guard lock(wire_->mutex);
    if (!wire_->receiverGone) wire_->cut(monotonicNanos());
    wire_->receiverEvents = nullptr;
  }

  Status irecv(uint64_t sequence, std::span<const NetBuffer, kNetTags> byTag) override {
    if (sequence != posted_ || posted_ - taken_ >= kNetInFlight) return outOfOrder("irecv", sequence, posted_, taken_);
    for (const NetBuffer& buffer : byTag) {
      if (Status reached = wire_->reach(buffer, NetAccess::Write); !reached) return reached;
    }
    Slot& slot = slots_[sequence % kNetInFlight];
    slot = Slot{};
    std::copy(byTag.begin(), byTag.end(), slot.byTag.begin());
    ++posted_;
    const std::lock_guard lock(wire_->mutex);
    wire_->receivesPosted = posted_;
    if (wire_->plan.waitsForReceives && wire_->senderEvents != nullptr) wire_->senderEvents->notify();
    return Status::ok();
  }

  void redirect(uint64_t sequence, const NetMessage& expected, const NetBuffer& buffer) override {
    if (sequence < taken_ || sequence >= posted_ || !wire_->reach(buffer, NetAccess::Write)) return;
    slots_[sequence % kNetInFlight].expected = expected;
    slots_[sequence % kNetInFlight].postedBuffer = buffer;
  }

  Status test(uint64_t sequence, bool* done, NetArrival* arrival) override {
    if (sequence != taken_ || sequence >= posted_) return outOfOrder("test", sequence, posted_, taken_);
    const Slot& slot = slots_[sequence % kNetInFlight];
    *done = slot.reported;
    if (!*done) return Status::ok();
    const std::lock_guard lock(wire_->mutex);
    *arrival = {wire_->parcels.front().message, slot.data};
    wire_->parcels.pop_front();
    ++wire_->first;
    ++taken_;
    if (!wire_->plan.waitsForReceives && wire_->senderEvents != nullptr) wire_->senderEvents->notify();
    return Status::ok();
  }

  bool expecting() const override { return expecting_; }

  Status flush(uint64_t sequence, const NetBuffer& data) override {
    Slot& slot = slots_[sequence % kNetInFlight];
    if (sequence < flushes_ || sequence >= taken_) return outOfOrder("flush", sequence, flushes_, taken_);
    if (!slot.onDevice || data.address != slot.data || data.bytes != slot.notYetSeen.size()) {
      return Status::internal("flush: not what has arrived [simulated]");
    }
    flushes_ = sequence + 1;
    const std::lock_guard lock(wire_->mutex);
    slot.flushedAt = lastFlushAt_ = std::max(lastFlushAt_, monotonicNanos() + wire_->delay());
    alarm_.setFor(slot.flushedAt);
    return Status::ok();
  }

  Status flushed(uint64_t sequence, bool* done) override {
    Slot& slot = slots_[sequence % kNetInFlight];
    if (sequence >= wire_->plan.flushFailsAt) return wire_->error(wire_->route.from, "a flush failed [simulated]");
    *done = monotonicNanos() >= slot.flushedAt;
    if (!*done) {
      alarm_.setFor(slot.flushedAt);
      return Status::ok();
    }
    std::memcpy(slot.data, slot.notYetSeen.data(), slot.notYetSeen.size());
    ++wire_->counters.flushed;
    return Status::ok();
  }

  Status progress(int64_t now, int* work) override {
    const std::lock_guard lock(wire_->mutex);
    Wire& wire = *wire_;
    due_ = kNever;
    Status moved = Status::ok();
    if (!wire.lost || !wire.plan.lossDrops) {
      inSomeOrder(wire, taken_, posted_, [&](uint64_t sequence) {
        if (moved) moved = receive(sequence, now, work);
      });
    }
    expecting_ = wire.random.oneIn(8);
    if (!moved) return moved;
    if (now >= wire.receiverLossAt && !wire.senderGone) {
      return wire.error(wire.route.from, "the connection broke [simulated]");
    }
    if (!wire.senderGone) due_ = std::min(due_, wire.receiverLossAt);
    if (due_ != kNever) alarm_.setFor(due_);
    return Status::ok();
  }

  void close() override {
    const std::lock_guard lock(wire_->mutex);
    wire_->receiverGone = true;
    wire_->ringBoth();
  }

  std::string describe() const override {
    return "rank " + std::to_string(wire_->route.from) + " at a simulated network";
  }

 private:
  struct Slot {
    std::array<NetBuffer, kNetTags> byTag;
    NetMessage expected;
    NetBuffer postedBuffer;
    uint8_t* data = nullptr;
    bool reported = false;
    bool onDevice = false;
    std::vector<uint8_t> notYetSeen;  // received data that is not yet flushed to GPU memory
    int64_t flushedAt = kNever;

    uint8_t* place() { return onDevice ? notYetSeen.data() : data; }
  };

  Status receive(uint64_t sequence, int64_t now, int* work) {
    Slot& slot = slots_[sequence % kNetInFlight];
    Parcel* parcel = wire_->find(sequence);
    if (slot.reported || parcel == nullptr || !(parcel->left() || (wire_->plan.streams && parcel->taken > 0))) {
      return Status::ok();
    }
    if (now < parcel->arriveAt) return wakeAt(parcel->arriveAt);
    if (!parcel->begun) {
      if (Status begun = begin(slot, *parcel); !begun) return begun;
      ++*work;
    }
    const uint32_t length = wire_->part(parcel->taken - parcel->placed);
    const size_t at = wire_->offsetOf(*parcel, parcel->placed, length);
    if (length != 0) {
      std::memcpy(slot.place() + at, parcel->bytes.data() + at, length);
      parcel->placed += length;
      ++*work;
    }
    if (!parcel->left() || parcel->placed < parcel->message.bytes) {
      parcel->arriveAt = now + wire_->delay();
      return parcel->placed < parcel->taken ? wakeAt(parcel->arriveAt) : Status::ok();
    }
    if (parcel->doneAt == kNever) parcel->doneAt = now + wire_->delay();
    if (now < parcel->doneAt) return wakeAt(parcel->doneAt);
    slot.reported = true;
    ++*work;
    if (sequence != taken_ && !slots_[taken_ % kNetInFlight].reported) ++wire_->counters.overtaken;
    return Status::ok();
  }

  Status begin(Slot& slot, Parcel& parcel) {
    const NetMessage& message = parcel.message;
    if (message.tag >= kNetTags || message.bytes > slot.byTag[message.tag].bytes) {
      return wire_->error(wire_->route.from, "a message does not fit its buffer");
    }
    const bool isPosted =
        wire_->plan.usesPostedAddresses && slot.postedBuffer.address != nullptr && slot.expected == message;
    if (isPosted) ++wire_->counters.atPostedAddress;
    slot.data = static_cast<uint8_t*>(isPosted ? slot.postedBuffer.address : slot.byTag[message.tag].address);
    if (message.bytes != 0) std::memset(slot.data, kGarbage, message.bytes);
    const auto* memory = dynamic_cast<const SimulatedMemory*>(slot.byTag[message.tag].memory);
    slot.onDevice = !isPosted && memory != nullptr && memory->onDevice();
    if (slot.onDevice) slot.notYetSeen.resize(message.bytes);
    parcel.begun = true;
    return Status::ok();
  }

  Status wakeAt(int64_t nanos) {
    due_ = std::min(due_, nanos);
    return Status::ok();
  }

  const std::shared_ptr<Wire> wire_;
  Alarm& alarm_;
  std::array<Slot, kNetInFlight> slots_;
  int64_t due_ = kNever;
  bool expecting_ = false;
  uint64_t posted_ = 0;
  uint64_t taken_ = 0;
  uint64_t flushes_ = 0;  // the sequence number after that of the last flushed message
  int64_t lastFlushAt_ = 0;
};

}  // namespace jccl::test
