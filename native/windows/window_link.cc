#include "windows/window_link.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/thrown.h"

namespace jccl {

WindowLink::WindowLink(int rank, int peer, TransportKind kind, const ConnectionMemory& send,
                       const ConnectionMemory& recv, Find find, Fail fail, EventCount& events, Expose expose)
    : rank_(rank),
      peer_(peer),
      find_(std::move(find)),
      fail_(std::move(fail)),
      expose_(std::move(expose)),
      events_(events) {
  send_.memory = send;
  send_.peer = peer;
  send_.transport = kind;
  recv_.memory = recv;
  recv_.peer = peer;
  recv_.transport = kind;
}

bool WindowLink::trySend(const WindowFrame& frame, const uint8_t* data) {
  const std::lock_guard lock(sendMutex_);
  if (!send_.hasCredit()) return false;
  uint8_t* slot = send_.memory.simpleSlot(send_.step);
  std::memcpy(slot, &frame, sizeof frame);
  if (data != nullptr) copyWindowData(slot + kWindowFrameBytes, data, frame.bytes);
  const size_t length = kWindowFrameBytes + (data == nullptr ? 0 : frame.bytes);
  send_.publish(Protocol::Simple, static_cast<uint32_t>(length), kWindowFrameCheck);
  return true;
}

bool WindowLink::tryWrite(const NetExposed& to, const uint8_t* data, size_t bytes) {
  const std::lock_guard lock(sendMutex_);
  if (!send_.hasCredit()) return false;
  std::memcpy(send_.memory.simpleSlot(send_.step), data, bytes);
  ZeroCopySlot& slot = send_.memory.zeroCopySlot(send_.step);
  slot.exposedAddress = to.address;
  slot.exposedKey = to.key;
  send_.publish(Protocol::Simple, static_cast<uint32_t>(bytes), kWindowWrittenCheck);
  return true;
}

bool WindowLink::trySendData(const uint8_t* data, size_t bytes, uint64_t* end) {
  const std::lock_guard lock(sendMutex_);
  if (!send_.hasCredit()) return false;
  send_.memory.zeroCopySlot(send_.step).userData = data;
  send_.publish(Protocol::Simple, static_cast<uint32_t>(bytes), windowDataCheck(sentData_++));
  *end = send_.step;
  return true;
}

std::shared_ptr<WindowLink::Peer> WindowLink::peerOf(uint32_t window) {
  const std::lock_guard lock(peersMutex_);
  std::shared_ptr<Peer>& peer = peers_[window];
  if (peer == nullptr) peer = std::make_shared<Peer>();
  return peer;
}

void WindowLink::forget(uint32_t window) {
  const std::lock_guard lock(peersMutex_);
  peers_.erase(window);
}

bool WindowLink::beginAsk(Peer& peer) {
  const std::lock_guard lock(peersMutex_);
  return !std::exchange(peer.asked, true);
}

bool WindowLink::isKnown(const Peer& peer) {
  const std::lock_guard lock(peersMutex_);
  return peer.known;
}

void WindowLink::noteFrame(Peer& peer, uint64_t offset, uint64_t bytes) {
  const std::lock_guard lock(peersMutex_);
  const bool none = peer.begin == peer.end;
  peer.begin = none ? offset : std::min(peer.begin, offset);
  peer.end = none ? offset + bytes : std::max(peer.end, offset + bytes);
  ++peer.frames;
}

bool WindowLink::mayOverlap(const Peer& peer, uint64_t offset, uint64_t bytes) {
  const std::lock_guard lock(peersMutex_);
  return peer.begin < offset + bytes && offset < peer.end;
}

uint64_t WindowLink::framesOf(const Peer& peer) {
  const std::lock_guard lock(peersMutex_);
  return peer.frames;
}

void WindowLink::noteFlush(Peer& peer, uint64_t frames) {
  const std::lock_guard lock(peersMutex_);
  if (peer.frames == frames) peer.begin = peer.end = 0;
}

uint64_t WindowLink::beginGet(uint8_t* to, size_t bytes) {
  const std::lock_guard lock(getsMutex_);
  gets_[++getNumber_] = {to, bytes, 0};
  return getNumber_;
}

bool WindowLink::isAnswered(uint64_t number) {
  const std::lock_guard lock(getsMutex_);
  const Get& get = gets_.at(number);
  return get.arrived == get.bytes;
}

void WindowLink::endGet(uint64_t number) {
  const std::lock_guard lock(getsMutex_);
  gets_.erase(number);
}

int WindowLink::poll(int64_t /*nowNanos*/) {
  if (failed_) return 0;
  int work = 0;
  for (; recv_.isPublished(); ++work) {
    if (Status applied = orThrown([&] { return apply(); }); !applied) {
      failed_ = true;
      fail_(applied);
      return work + 1;
    }
    recv_.release();
  }
  if (arriving_.left > 0) postPlaces();
  return work + answer();
}

Status WindowLink::refuse(const WindowFrame& frame, const std::string& why) const {
  return Status::transport("windows: rank=" + std::to_string(peer_) + " sent rank=" + std::to_string(rank_) +
                           " a frame kind=" + std::to_string(static_cast<uint32_t>(frame.kind)) +
                           " window=" + std::to_string(frame.window) + " offset=" + std::to_string(frame.offset) +
                           " bytes=" + std::to_string(frame.bytes) + " number=" + std::to_string(frame.number) + ": " +
                           why);
}

Status WindowLink::window(const WindowFrame& frame, std::shared_ptr<const WindowTarget>* found) const {
  *found = find_(frame.window);
  if (*found == nullptr) return refuse(frame, "no such window is open at this rank");
  if (!(*found)->memory.contains(frame.offset, frame.bytes)) {
    return refuse(frame, "outside of the window of bytes=" + std::to_string((*found)->bytes));
  }
  return Status::ok();
}

// Applies the next frame. Values of the frame are checked before they are used, because they come from another host.
Status WindowLink::apply() {
  const SlotHeader* header = recv_.memory.slotHeader(recv_.step);
  const uint8_t* slot = recv_.simpleChunk(header->bytes);
  WindowFrame frame;
  // A write is in the window already, and the frames that follow it are applied after it.
  if (header->check == kWindowWrittenCheck && writes()) return Status::ok();
  if (arriving_.left > 0 && header->check == windowDataCheck(arrivedData_)) return applyPart(*header, slot);
  if (header->check != kWindowFrameCheck || header->protocol != static_cast<uint8_t>(Protocol::Simple) ||
      header->bytes < kWindowFrameBytes) {
    return refuse(frame, "not a frame of a window, bytes=" + std::to_string(header->bytes) +
                             " check=" + std::to_string(header->check));
  }
  std::memcpy(&frame, slot, sizeof frame);
  const bool hasData = frame.kind == WindowFrame::Kind::Put || frame.kind == WindowFrame::Kind::Reply ||
                       frame.kind == WindowFrame::Kind::Add;
  if (header->bytes - kWindowFrameBytes != (hasData ? frame.bytes : 0)) {
    return refuse(frame, "length=" + std::to_string(header->bytes) + " does not fit the kind and bytes");
  }
  switch (frame.kind) {
    case WindowFrame::Kind::Put:
      return applyPut(frame, slot + kWindowFrameBytes);
    case WindowFrame::Kind::Get: {
      std::shared_ptr<const WindowTarget> read;
      if (Status valid = window(frame, &read); !valid) return valid;
      const uint64_t from = frame.offset;
      const uint64_t left = frame.bytes;
      frame.kind = WindowFrame::Kind::Reply;
      frame.offset = 0;
      return addAnswer({frame, std::move(read), from, left});
    }
    case WindowFrame::Kind::Add:
      return applyAdd(frame, slot + kWindowFrameBytes);
    case WindowFrame::Kind::Reply:
      return applyReply(frame, slot + kWindowFrameBytes);
    case WindowFrame::Kind::Flush:
      frame.kind = WindowFrame::Kind::Flushed;
      frame.bytes = 0;
      return addAnswer({frame, nullptr});
    case WindowFrame::Kind::Ask:
      return applyAsk(frame);
    case WindowFrame::Kind::Place:
      return applyPlace(frame);
    case WindowFrame::Kind::Data:
      return applyData(frame);
    case WindowFrame::Kind::Flushed:
      if (frame.number > flushes_.load()) {
        return refuse(frame, "answers no flush, flushes=" + std::to_string(flushes_.load()));
      }
      // Threads may send their flushes in another order than that of the numbers. A flush covers those with lower
      // numbers: their threads had sent everything before this number was given.
      if (frame.number > flushed_.load()) flushed_.store(frame.number, std::memory_order_release);
      return Status::ok();
  }
  return refuse(frame, "unknown kind");
}

Status WindowLink::addAnswer(Answer answer) {
  if (answers_.size() == kMaxAnswers) {
    return refuse(answer.frame, "answers=" + std::to_string(kMaxAnswers) + " wait already, and none is taken");
  }
  answers_.push_back(std::move(answer));
  return Status::ok();
}

Status WindowLink::applyPut(const WindowFrame& frame, const uint8_t* data) {
  std::shared_ptr<const WindowTarget> written;
  if (Status valid = window(frame, &written); !valid) return valid;
  if (Status valid = checkSignal(frame); !valid) return valid;
  copyWindowData(written->memory.data() + frame.offset, data, frame.bytes);
  raise(frame, *written);
  return Status::ok();
}

Status WindowLink::checkSignal(const WindowFrame& frame) const {
  if (frame.signal == WindowFrame::kNoSignal || frame.signal < WindowMemory::kSignals) return Status::ok();
  return refuse(frame, "signal=" + std::to_string(frame.signal) + ", expected one below " +
                           std::to_string(WindowMemory::kSignals));
}

// Raises the signal of a frame whose data is in the window, if there is one.
void WindowLink::raise(const WindowFrame& frame, const WindowTarget& at) {
  if (frame.signal == WindowFrame::kNoSignal) return;
  at.memory.raised(peer_, frame.signal).fetch_add(1, std::memory_order_release);
  events_.notifyIfWaiting();
}

Status WindowLink::applyData(const WindowFrame& frame) {
  std::shared_ptr<const WindowTarget> written;
  if (Status valid = window(frame, &written); !valid) return valid;
  if (Status valid = checkSignal(frame); !valid) return valid;
  if (!sendsFromMemory() || frame.bytes == 0) return refuse(frame, "expected a put");
  if (arriving_.left > 0) return refuse(frame, "earlier data has not arrived, left=" + std::to_string(arriving_.left));
  arriving_ = {frame, std::move(written), frame.offset, frame.bytes};
  return Status::ok();
}

// Applies a part of the announced data. The network may have stored it at its place.
Status WindowLink::applyPart(const SlotHeader& header, const uint8_t* part) {
  if (header.bytes == 0 || header.bytes > arriving_.left) {
    return refuse(arriving_.frame, "a part of bytes=" + std::to_string(header.bytes) +
                                       " does not fit, left=" + std::to_string(arriving_.left));
  }
  uint8_t* place = arriving_.window->memory.data() + arriving_.offset;
  if (part != place) std::memcpy(place, part, header.bytes);
  ++arrivedData_;
  arriving_.offset += header.bytes;
  arriving_.left -= header.bytes;
  if (arriving_.left > 0) return Status::ok();
  raise(arriving_.frame, *arriving_.window);
  arriving_.window = nullptr;
  return Status::ok();
}

// Posts the places of the next parts, as if no frame came between them. If one comes, the parts arrive later than
// posted for; their numbers keep them out of places that were posted for others. The last part arrives no earlier than
// its place was posted for, so no posted place remains.
void WindowLink::postPlaces() {
  uint64_t at = arriving_.offset;
  uint64_t left = arriving_.left;
  for (uint64_t i = 0; i < kSlots && left > 0; ++i) {
    const uint64_t bytes = std::min<uint64_t>(left, maxWrite());
    ZeroCopySlot& slot = recv_.memory.zeroCopySlot(recv_.step + i);
    slot.postedAddress = arriving_.window->memory.data() + at;
    slot.postedBytes = static_cast<uint32_t>(bytes);
    slot.postedCheck = windowDataCheck(arrivedData_ + i);
    slot.postedFor.store(recv_.step + i + 1, std::memory_order_release);
    at += bytes;
    left -= bytes;
  }
}

Status WindowLink::applyAsk(WindowFrame frame) {
  std::shared_ptr<const WindowTarget> asked;
  if (Status valid = window(frame, &asked); !valid) return valid;
  NetExposed place;
  // An adapter that cannot register the memory is no failure: the peer sends frames then.
  if (writes() && !expose_(frame.window, *asked, &place)) place = {};
  frame.kind = WindowFrame::Kind::Place;
  frame.offset = place.address;
  frame.number = place.key;
  return addAnswer({frame, nullptr});
}

Status WindowLink::applyPlace(const WindowFrame& frame) {
  const std::lock_guard lock(peersMutex_);
  const auto found = peers_.find(frame.window);
  if (found == peers_.end() || !found->second->asked || found->second->known)
    return refuse(frame, "answers no question");
  found->second->place = {frame.offset, static_cast<uint32_t>(frame.number)};
  found->second->known = true;
  return Status::ok();
}

Status WindowLink::applyAdd(const WindowFrame& frame, const uint8_t* data) {
  std::shared_ptr<const WindowTarget> changed;
  if (Status valid = window(frame, &changed); !valid) return valid;
  if (frame.bytes != sizeof(uint64_t) || frame.offset % sizeof(uint64_t) != 0) {
    return refuse(frame, "expected 8 bytes at a multiple of 8");
  }
  Answer answer{frame, nullptr};
  uint64_t addend = 0;
  std::memcpy(&addend, data, sizeof addend);
  answer.value = addToWindow(changed->memory.data() + frame.offset, addend);
  answer.frame.kind = WindowFrame::Kind::Reply;
  answer.frame.offset = 0;
  return addAnswer(std::move(answer));
}

Status WindowLink::applyReply(const WindowFrame& frame, const uint8_t* data) {
  const std::lock_guard lock(getsMutex_);
  const auto found = gets_.find(frame.number);
  if (found == gets_.end()) {
    // A get that has timed out no longer expects its answer.
    return frame.number != 0 && frame.number <= getNumber_ ? Status::ok() : refuse(frame, "answers no get");
  }
  Get& get = found->second;
  if (frame.offset != get.arrived || frame.bytes > get.bytes - get.arrived) {
    return refuse(frame, "arrived=" + std::to_string(get.arrived) + " of bytes=" + std::to_string(get.bytes));
  }
  copyWindowData(get.to + frame.offset, data, frame.bytes);
  get.arrived += frame.bytes;
  return Status::ok();
}

// Sends answers while slots are free. Returns the number of frames sent.
int WindowLink::answer() {
  int sent = 0;
  while (!answers_.empty()) {
    Answer& next = answers_.front();
    const uint8_t* data = next.frame.bytes == 0 ? nullptr : reinterpret_cast<const uint8_t*>(&next.value);
    if (next.window != nullptr) {
      next.frame.bytes = std::min<uint64_t>(next.left, maxData());
      data = next.window->memory.data() + next.from;
    }
    if (!trySend(next.frame, data)) return sent;
    ++sent;
    if (next.window != nullptr) {
      next.from += next.frame.bytes;
      next.frame.offset += next.frame.bytes;
      next.left -= next.frame.bytes;
    }
    if (next.left == 0) answers_.pop_front();
  }
  return sent;
}

}  // namespace jccl
