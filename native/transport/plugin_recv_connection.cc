#include <algorithm>
#include <cstring>
#include <utility>

#include "base/log.h"
#include "transport/plugin_connection.h"

namespace jccl {
namespace {

// Two, so that the plug-in has the next receive when a message ends.
constexpr uint64_t kEnoughData = 2;

}  // namespace

PluginRecvConnection::PluginRecvConnection(const NetConfig& config, int peer, PluginDevice device)
    : PluginEnd(config, peer, std::move(device)) {}

PluginRecvConnection::~PluginRecvConnection() {
  for (void* listener : listeners_) {
    if (listener == nullptr) continue;
    if (Status closed = device_.plugin->closeListen(listener); !closed) {
      logMessage(LogLevel::Warn, "net", closed.message());
    }
  }
}

Status PluginRecvConnection::open(DataSocket socket, EventSet& controlEvents) {
  control_ = std::make_unique<NetControlConnection>(std::move(socket), peer_, 0);
  if (Status watched = control_->watch(controlEvents); !watched) return watched;
  PluginHandles handles;
  for (size_t i = 0; i < listeners_.size(); ++i) {
    Status listening = device_.plugin->listen(device_.number, handles.handles[i].data(), &listeners_[i]);
    if (!listening) return listening;
  }
  return control_->send(handles);
}

Status PluginRecvConnection::irecv(uint64_t sequence, std::span<const NetBuffer, kNetTags> byTag) {
  if (!window_.mayPost(sequence)) return window_.outOfOrder("irecv", sequence);
  const NetBuffer& buffer = byTag.back();
  const auto* memory = dynamic_cast<PluginMemory*>(buffer.memory);
  if (!buffer.hasTail || memory == nullptr) {
    return Status::internal("irecv: the memory is not registered, or has no tail");
  }
  if (Status fits = requireFits(buffer.bytes + sizeof(PluginTrailer)); !fits) return fits;
  if (sequence == 0) {
    if (Status sent = control_->notify(kPluginApart, memory->onDevice() ? 1 : 0); !sent) return sent;
  }
  Slot& next = window_.post();
  next = Slot{};
  next.buffer = next.place = buffer;
  if (memory->onDevice()) next.place = {&trailers_[sequence % kNetInFlight], 0, &trailersMemory_};
  return Status::ok();
}

void PluginRecvConnection::redirect(uint64_t sequence, const NetMessage& expected, const NetBuffer& buffer) {
  if (!window_.holds(sequence) || dynamic_cast<PluginMemory*>(buffer.memory) == nullptr) return;
  Slot& target = window_[sequence];
  if (target.arrived || target.postedBuffer.memory != nullptr) return;
  target.expected = expected;
  target.postedBuffer = buffer;
}

Status PluginRecvConnection::accept(int64_t nowNanos, int* work) {
  for (size_t i = 0; i < comms_.size(); ++i) {
    if (comms_[i] != nullptr) continue;
    void* raw = nullptr;
    if (Status tried = device_.plugin->accept(listeners_[i], &raw); !tried) return tried;
    if (raw == nullptr) continue;
    comms_[i] = std::make_unique<PluginComm>(device_.plugin, PluginComm::Direction::Receive, raw);
    void* listener = std::exchange(listeners_[i], nullptr);
    if (Status closed = device_.plugin->closeListen(listener); !closed) return closed;
    ++*work;
  }
  if (startedNanos_ < 0) startedNanos_ = nowNanos;
  if (hasComms() || nowNanos - startedNanos_ < config_.connectTimeoutNanos) return Status::ok();
  return Status::transport(device_.plugin->watch().who() + ": accept has made no connection after " +
                           std::to_string((nowNanos - startedNanos_) / 1'000'000) + " ms; see what it logged");
}

Status PluginRecvConnection::post(PluginComm& comm, const NetBuffer& buffer, size_t bytes, void** request) {
  void* handle = nullptr;
  if (Status known = comm.memory(*dynamic_cast<PluginMemory*>(buffer.memory), &handle); !known) return known;
  void* address = buffer.address;
  int tag = kTag;
  return device_.plugin->receive(comm.raw(), 1, &address, &bytes, &tag, &handle, request);
}

Status PluginRecvConnection::badMessage(const std::string& why) const {
  return Status::transport(device_.plugin->watch().who() + " delivered a message that does not fit: " + why +
                           "; do all ranks have the same version and JCCL_* settings?");
}

Status PluginRecvConnection::read(uint64_t sequence, int bytes) {
  Slot& slot = window_[sequence];
  PluginTrailer trailer;
  const auto capacity = static_cast<int64_t>(slot.place.bytes) + static_cast<int64_t>(sizeof trailer);
  if (bytes < static_cast<int>(sizeof trailer) || bytes > capacity) {
    return badMessage("bytes=" + std::to_string(bytes) + ", expected " + std::to_string(sizeof trailer) + " to " +
                      std::to_string(capacity));
  }
  const auto payload = static_cast<uint32_t>(static_cast<size_t>(bytes) - sizeof trailer);
  std::memcpy(&trailer, static_cast<const uint8_t*>(slot.place.address) + payload, sizeof trailer);
  if (trailer.magic != PluginTrailer::kMagic || trailer.sequence != sequence || trailer.zero != 0) {
    return badMessage("magic=" + std::to_string(trailer.magic) + " sequence=" + std::to_string(trailer.sequence) +
                      ", expected " + std::to_string(sequence));
  }
  if (trailer.apart == PluginTrailer::kEnd && draining_) {
    end_ = std::min(end_, sequence);
    return Status::ok();
  }
  if (trailer.tag != kNetTags - 1) return badMessage("its protocol is unknown");
  slot.message = {trailer.tag, trailer.check, trailer.bytes};
  slot.arrived = true;
  slot.apart = trailer.apart != 0;
  const bool redirected = slot.apart && slot.postedBuffer.memory != nullptr && slot.expected == slot.message;
  slot.target = redirected ? slot.postedBuffer : slot.buffer;
  if (slot.apart ? payload != 0 : payload != trailer.bytes) {
    return badMessage("bytes=" + std::to_string(payload) + ", message_bytes=" + std::to_string(trailer.bytes));
  }
  if (trailer.bytes > slot.target.bytes) {
    return badMessage("message_bytes=" + std::to_string(trailer.bytes) +
                      " capacity_bytes=" + std::to_string(slot.target.bytes));
  }
  if (!slot.apart) complete(slot);
  return Status::ok();
}

void PluginRecvConnection::complete(Slot& slot) {
  slot.complete = true;
  ++completed_;
}

// Returns true while enough separate data is on its way. Looking for more trailers then costs a call to the kernel at
// each poll, and receives could be posted no earlier than the network needs them.
bool PluginRecvConnection::expectsEnough() const {
  uint64_t awaited = 0;
  for (uint64_t sequence = window_.done(); sequence < dataPosted_ && awaited < kEnoughData; ++sequence) {
    awaited += window_[sequence].complete ? 0 : 1;
  }
  return awaited == kEnoughData;
}

// Messages are posted in order and arrive in order. The same applies to separate data.
Status PluginRecvConnection::move(int* work) {
  const auto isThere = [this](void*& request, int* bytes, bool* there) {
    Status tested = device_.plugin->test(request, there, bytes);
    if (tested && *there) request = nullptr;
    return tested;
  };
  for (; posted_ < window_.posted() && !draining_; ++posted_, ++*work) {
    Slot& slot = window_[posted_];
    const size_t bytes = slot.place.bytes + sizeof(PluginTrailer);
    if (Status posted = post(*comms_[0], slot.place, bytes, &slot.request); !posted) return posted;
    if (slot.request == nullptr) break;
  }
  for (; arrived_ < posted_ && !expectsEnough(); ++arrived_, ++*work) {
    bool there = false;
    int bytes = 0;
    if (Status tested = isThere(window_[arrived_].request, &bytes, &there); !tested) return tested;
    if (!there) break;
    if (Status fits = read(arrived_, bytes); !fits) return fits;
  }
  for (; dataPosted_ < std::min(arrived_, end_); ++dataPosted_) {
    Slot& slot = window_[dataPosted_];
    if (!slot.apart) continue;
    if (Status posted = post(*comms_[1], slot.target, slot.message.bytes, &slot.request); !posted) return posted;
    if (slot.request == nullptr) break;
    ++*work;
  }
  for (uint64_t sequence = window_.done(); sequence < dataPosted_; ++sequence) {
    Slot& slot = window_[sequence];
    if (slot.complete) continue;
    bool there = false;
    int bytes = 0;
    if (Status tested = isThere(slot.request, &bytes, &there); !tested) return tested;
    if (!there) break;
    if (bytes != static_cast<int>(slot.message.bytes)) {
      return badMessage("data_bytes=" + std::to_string(bytes) + " message_bytes=" + std::to_string(slot.message.bytes));
    }
    complete(slot);
    ++*work;
  }
  return Status::ok();
}

// Only the sender knows whether it has sent message `completed_`, so this end asks the sender. But if the plug-in
// accepts no request although none is in flight, the plug-in is at fault.
Status PluginRecvConnection::askPeer(int64_t nowNanos) {
  const bool paused = hasPaused(nowNanos);
  if (const auto unsent = control_->takeNotice(kPluginUnsent); unsent && *unsent < completed_) {
    if (Status answered = control_->notify(kPluginArrived, *unsent); !answered) return answered;
  }
  if (completed_ >= window_.posted() || !waitsLongFor(completed_, paused, nowNanos)) return Status::ok();
  if (posted_ == completed_ || (arrived_ > completed_ && dataPosted_ <= completed_)) {
    return neverMoves("irecv", completed_, "it has no space for a request, and has no request");
  }
  if (control_->ended()) return neverMoves("test", completed_, "the peer has sent it, and has closed");
  return control_->notify(kPluginAwaited, completed_);
}

Status PluginRecvConnection::progress(int64_t nowNanos, int* work) {
  if (awaitsCause()) {
    Status cause = causeOf(Status::ok(), nowNanos, work);
    readCount();
    return isOver() ? Status::ok() : cause;
  }
  Status peer = control_->progress(work);
  readCount();
  if (isOver() || (draining_ && drained())) return peer;
  Status moved;
  if (!hasComms()) {
    polledNanos_ = nowNanos;
    if (peer) moved = accept(nowNanos, work);
  }
  // Data that has arrived is delivered even if the peer has just ended.
  if (moved && hasComms()) moved = move(work);
  if (moved && hasComms() && peer && !isOver() && !draining_) moved = askPeer(nowNanos);
  if (!peer || isOver()) return peer;
  return moved ? moved : causeOf(moved, nowNanos, work);
}

Status PluginRecvConnection::test(uint64_t sequence, bool* done, NetArrival* arrival) {
  if (!window_.isFirst(sequence)) return window_.outOfOrder("test", sequence);
  const Slot& tested = window_[sequence];
  *done = tested.complete;
  if (!*done) return Status::ok();
  *arrival = {tested.message, tested.target.address};
  window_.finish();
  return Status::ok();
}

Status PluginRecvConnection::flush(uint64_t sequence, const NetBuffer& data) {
  auto* memory = dynamic_cast<PluginMemory*>(data.memory);
  if (memory == nullptr || !hasComms()) return Status::internal("flush: the memory is not registered");
  void* handle = nullptr;
  if (Status known = comms_[1]->memory(*memory, &handle); !known) return known;
  void** request = &flushes_[sequence % kNetInFlight];
  return device_.plugin->flush(comms_[1]->raw(), data.address, static_cast<int>(data.bytes), handle, request);
}

// The plug-in makes no request if there is nothing to flush.
Status PluginRecvConnection::flushed(uint64_t sequence, bool* done) {
  void*& request = flushes_[sequence % kNetInFlight];
  int bytes = 0;
  *done = request == nullptr;
  if (*done) return Status::ok();
  Status tested = device_.plugin->test(request, done, &bytes);
  if (*done) request = nullptr;
  return tested;
}

int64_t PluginRecvConnection::nextDeadlineNanos() const {
  if (hasComms() || isOver() || awaitsCause()) return causeDeadlineNanos();
  return polledNanos_ + kHandshakePollNanos;
}

void PluginRecvConnection::drain() {
  draining_ = true;
  // If the notice cannot be sent, the sender waits until its limit, as it does for a peer that closes later.
  if (Status sent = control_->notify(kPluginPosted, posted_); !sent) logMessage(LogLevel::Debug, "net", sent.message());
}

bool PluginRecvConnection::drained() const { return arrived_ == posted_ || (control_->ended() && !peerEnds_); }

void PluginRecvConnection::close() { control_->sendFin(); }

std::string PluginRecvConnection::describe() const { return describeEnd(); }

}  // namespace jccl
