#include <cstring>
#include <utility>

#include "transport/plugin_connection.h"

namespace jccl {

PluginSendConnection::PluginSendConnection(const NetConfig& config, const NetRoute& route, PluginDevice device,
                                           EventSet& controlEvents, std::vector<SocketDialer::Pair> pairs)
    : PluginEnd(config, route.to, std::move(device)), controlEvents_(controlEvents) {
  NetIntroductionHeader who;
  who.communicator = route.communicator;
  who.from = route.from;
  who.to = route.to;
  who.channel = route.channel;
  who.streams = 1;
  dialer_ = std::make_unique<SocketDialer>(config, controlEvents, who, std::move(pairs));
}

Status PluginSendConnection::isend(uint64_t sequence, const NetMessage& message, const NetBuffer& data) {
  if (!window_.mayPost(sequence)) return window_.outOfOrder("isend", sequence);
  auto* memory = dynamic_cast<PluginMemory*>(data.memory);
  if (memory == nullptr && message.bytes > 0) return Status::internal("isend: the memory is not registered");
  if (Status fits = requireFits(message.bytes + sizeof(PluginTrailer)); !fits) return fits;
  const bool hasTail = data.hasTail && memory != nullptr && !memory->onDevice();
  window_.post() = {message, static_cast<uint8_t*>(data.address), memory, hasTail, 0, 0, {}, false};
  return Status::ok();
}

Status PluginSendConnection::test(uint64_t sequence, bool* done) {
  if (!window_.holds(sequence)) return window_.outOfOrder("test", sequence);
  *done = isOver(window_[sequence]);
  window_.finishTo(sequence, isOver);
  return Status::ok();
}

Status PluginSendConnection::connect(int* work) {
  for (size_t i = 0; i < comms_.size(); ++i) {
    if (comms_[i] != nullptr) continue;
    void* raw = nullptr;
    Status tried = device_.plugin->connect(device_.number, handles_.handles[i].data(), &raw);
    if (!tried) return {tried.code(), "net: " + describe() + ": " + tried.message()};
    if (raw == nullptr) continue;
    comms_[i] = std::make_unique<PluginComm>(device_.plugin, PluginComm::Direction::Send, raw);
    ++*work;
  }
  if (hasComms()) state_ = State::Connected;
  return Status::ok();
}

Status PluginSendConnection::shakeHands(int64_t nowNanos, int* work) {
  if (startedNanos_ < 0) startedNanos_ = nowNanos;
  if (state_ == State::Dialling) {
    if (Status dialled = dialer_->progress(nowNanos, work); !dialled || !dialer_->done()) return dialled;
    control_ = std::make_unique<NetControlConnection>(dialer_->take(), peer_, sizeof(PluginHandles));
    dialer_.reset();
    if (Status watched = control_->watch(controlEvents_); !watched) return watched;
    state_ = State::Introduced;
  }
  if (Status moved = control_->progress(work); !moved) return moved;
  if (state_ == State::Introduced && control_->hasInfo()) {
    handles_ = control_->info<PluginHandles>();
    state_ = State::Connecting;
  }
  if (state_ == State::Connecting) {
    if (Status tried = connect(work); !tried || connected()) return tried;
  }
  if (nowNanos - startedNanos_ < config_.connectTimeoutNanos) return Status::ok();
  return Status::transport("net: " + describe() + ": no connection after " +
                           std::to_string((nowNanos - startedNanos_) / 1'000'000) + " ms: " +
                           (state_ == State::Connecting
                                ? device_.plugin->watch().who() + " has not connected; see what it logged"
                                : "the peer has sent no handle of its plug-in; is it stopped or starved?"));
}

Status PluginSendConnection::beginPart(uint64_t sequence, int part, void** request) {
  Slot& sent = window_[sequence];
  const auto& comm = comms_[static_cast<size_t>(part)];
  uint8_t* data = sent.data;
  size_t bytes = sent.message.bytes;
  PluginMemory* memory = sent.memory;
  if (part == 0) {
    const uint8_t apart = sent.ends ? PluginTrailer::kEnd : isApart(sent);
    const PluginTrailer trailer{
        sequence, sent.message.bytes, sent.message.check, PluginTrailer::kMagic, sent.message.tag, apart};
    if (!sent.hasTail) {
      data = reinterpret_cast<uint8_t*>(&trailers_[sequence % kNetInFlight]);
      memory = &trailersMemory_;
      bytes = 0;
    }
    std::memcpy(data + bytes, &trailer, sizeof trailer);
    bytes += sizeof trailer;
  }
  void* handle = nullptr;
  if (Status registered = comm->memory(*memory, &handle); !registered) return registered;
  return device_.plugin->send(comm->raw(), data, bytes, kTag, handle, request);
}

// Begins the parts of a message in order. Messages begin in order, too.
Status PluginSendConnection::begin(uint64_t sequence, bool* begun) {
  Slot& sent = window_[sequence];
  if (*allApart_ != 0) sent.hasTail = false;
  while (sent.begun < partsOf(sent)) {
    void** request = &sent.requests[static_cast<size_t>(sent.begun)];
    if (Status began = beginPart(sequence, sent.begun, request); !began) return began;
    if (*request == nullptr) break;
    ++sent.begun;
  }
  *begun = sent.begun == partsOf(sent);
  return Status::ok();
}

// Tests the requests of one communicator. Sends end in order, and a test of a request that still waits for its turn can
// cost a call to the kernel. So the first one that is unfinished ends the search.
Status PluginSendConnection::finish(int part, int* work) {
  // Includes message begun_, one part of which the plug-in may have accepted.
  for (uint64_t sequence = window_.done(); sequence <= begun_ && sequence < window_.posted(); ++sequence) {
    Slot& sent = window_[sequence];
    void*& request = sent.requests[static_cast<size_t>(part)];
    if (request == nullptr) continue;
    bool done = false;
    int bytes = 0;
    if (Status tested = device_.plugin->test(request, &done, &bytes); !tested) return tested;
    if (!done) break;
    request = nullptr;
    ++sent.ended;
    ++*work;
  }
  return Status::ok();
}

// Uses up the receives that the receiver has posted ahead, by sending trailers without a message.
Status PluginSendConnection::endPosted() {
  if (count_) window_.finishTo(window_.posted(), isOver);
  if (ended_ || window_.done() != window_.posted()) return Status::ok();
  if (!count_) {
    const auto posted = control_->takeNotice(kPluginPosted);
    if (!posted) return Status::ok();
    count_ = window_.done();
    while (window_.posted() < *posted && window_.mayPost(window_.posted())) {
      Slot& last = window_.post();
      last = Slot{};
      last.ends = true;
    }
    return Status::ok();
  }
  ended_ = true;
  return control_->ended() ? Status::ok() : control_->notify(kPluginEnded, window_.done());
}

// A peer that has received all messages may close before this end has found that they are sent.
bool PluginSendConnection::drained() const { return !connected() || ended_ || (control_->ended() && !count_); }

Status PluginSendConnection::move(int* work) {
  if (!allApart_) allApart_ = control_->takeNotice(kPluginApart);
  if (!allApart_) return Status::ok();
  for (bool begun = true; begun && begun_ < window_.posted();) {
    if (Status began = begin(begun_, &begun); !began) return began;
    if (!begun) break;
    ++begun_;
    ++*work;
  }
  for (const int part : {0, 1}) {
    if (Status tested = finish(part, work); !tested) return tested;
  }
  return Status::ok();
}

// The receiver asks repeatedly for a late message. When it asks a second time, the plug-in has had the message at least
// since the first time.
Status PluginSendConnection::askPeer(int64_t nowNanos) {
  const bool paused = hasPaused(nowNanos);
  if (const auto awaited = control_->takeNotice(kPluginAwaited); awaited && *awaited < window_.posted()) {
    const bool hasLeft = *awaited < window_.done();
    const bool again = std::exchange(awaitedByPeer_, *awaited) == *awaited && (hasLeft || !paused);
    if (again && hasLeft) return neverMoves("test", *awaited, "it has reported it as sent, and the peer waits for it");
    if (again) return neverMoves(*awaited < begun_ ? "test" : "isend", *awaited, "the peer waits for it");
  }
  if (window_.done() == window_.posted()) return Status::ok();
  if (const auto arrived = control_->takeNotice(kPluginArrived); arrived && *arrived == window_.done()) {
    const Slot& sent = window_[*arrived];
    const bool again = std::exchange(arrivedAtPeer_, *arrived) == *arrived;
    if (again && sent.ended < partsOf(sent)) return neverMoves("test", *arrived, "the peer has it already");
  }
  const bool asks = waitsLongFor(window_.done(), paused, nowNanos);
  return asks ? control_->notify(kPluginUnsent, window_.done()) : Status::ok();
}

Status PluginSendConnection::progress(int64_t nowNanos, int* work) {
  if (awaitsCause()) return causeOf(Status::ok(), nowNanos, work);
  if (!connected()) {
    polledNanos_ = nowNanos;
    if (Status shaken = shakeHands(nowNanos, work); !shaken || !connected()) return shaken;
  }
  if (Status moved = control_->progress(work); !moved) return moved;
  if (draining_) {
    if (Status ending = endPosted(); !ending || drained()) return ending;
  }
  if (Status moved = move(work); !moved) return causeOf(moved, nowNanos, work);
  if (Status asked = control_->ended() || draining_ ? Status::ok() : askPeer(nowNanos); !asked)
    return causeOf(asked, nowNanos, work);
  if (control_->ended() && !count_ && window_.done() != window_.posted()) {
    return Status::transport("net: " + describe() + " has closed the communicator while messages for it are unsent");
  }
  return Status::ok();
}

int64_t PluginSendConnection::nextDeadlineNanos() const {
  if (connected()) return causeDeadlineNanos();
  return dialer_ != nullptr ? dialer_->nextDeadlineNanos() : polledNanos_ + kHandshakePollNanos;
}

void PluginSendConnection::close() {
  dialer_.reset();
  // If messages are unsent, no FIN is sent, because a FIN would tell the peer that it has received all messages.
  if (control_ == nullptr || (!count_ && window_.done() != window_.posted())) return;
  if (control_->notify(kPluginCount, count_.value_or(window_.done()))) control_->sendFin();
}

std::string PluginSendConnection::describe() const {
  if (control_ == nullptr) return dialer_ != nullptr ? dialer_->describe() : "rank " + std::to_string(peer_);
  return describeEnd();
}

}  // namespace jccl
