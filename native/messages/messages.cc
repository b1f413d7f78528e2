#include "messages/messages.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <thread>

#include "base/clock.h"
#include "base/futex.h"
#include "base/pause_core.h"
#include "base/thrown.h"
#include "messages/memory_offers.h"
#include "messages/net_link.h"
#include "messages/ring_link.h"

namespace jccl {
namespace {

using Kind = MessageFrame::Kind;
using State = MessageRequest::State;

std::unique_ptr<MessageRequest> receiveInto(int source, int tag, uint8_t* to, uint64_t bytes) {
  auto made = std::make_unique<MessageRequest>();
  made->source = source;
  made->tag = tag;
  made->address = to;
  made->bytes = bytes;
  return made;
}

// Longest sleep of a waiting thread. A message ends a sleep early; a failure is noticed at its end.
constexpr int64_t kSleepNanos = 20'000'000;
// Longest sleep of a thread that waits for a network and for ranks of this host, of which a sleep can notice only one.
constexpr int64_t kMixedSleepNanos = 500'000;
// Longest pause of the communicator's thread while other threads call: they move everything themselves.
constexpr int64_t kLeaveNanos = 1'000'000;
constexpr int kPollsBeforeClock = 16;
constexpr int kMaxFrames = 64;  // of one peer before other peers have their turn
// Number of mapped segments of peers' buffers that are kept for later messages.
constexpr size_t kMaxViews = 16;

}  // namespace

// A call by a thread of the application that moves what can move.
class Messages::Call {
 public:
  explicit Call(Messages& messages) : messages_(messages) {
    messages_.callers_.fetch_add(1, std::memory_order_relaxed);
  }
  ~Call() {
    messages_.calls_.fetch_add(1, std::memory_order_relaxed);
    messages_.callers_.fetch_sub(1, std::memory_order_release);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

 private:
  Messages& messages_;
};

// Lets the network's threads apply frames, too.
class Messages::NetworkCallback final : public ProgressCallback {
 public:
  explicit NetworkCallback(Messages& messages) : messages_(messages) {}
  int poll(int64_t) override { return messages_.pollNetwork(); }
  bool pending() const override {
    if (messages_.ended_.load(std::memory_order_acquire)) return false;
    for (const int peer : messages_.remote_) {
      if (messages_.peers_[peer].link->hasNews()) return true;
    }
    return messages_.pending_.load(std::memory_order_relaxed) != 0;
  }

 private:
  Messages& messages_;
};

Messages::Messages(Communicator& communicator)
    : communicator_(communicator),
      rank_(communicator.rank()),
      size_(communicator.size()),
      peers_(communicator.size()),
      matcher_(communicator.size()) {}

Messages::~Messages() { stop(); }

Status Messages::start() {
  Engine& engine = communicator_.engine();
  events_ = &engine.segment().inboxEvents();
  for (int peer = 0; peer < size_; ++peer) {
    Peer& each = peers_[peer];
    const TransportKind kind = engine.transportOf(peer);
    each.isNet = peer != rank_ && isNetwork(kind);
    each.isHere = peer == rank_ || kind == TransportKind::P2p;
    (each.isNet ? remote_ : local_).push_back(peer);
    if (peer == rank_) {
      each.link = std::make_unique<OwnMessageLink>();
    } else if (!each.isNet) {
      const Segment& theirs = engine.segmentOf(peer);
      each.link =
          std::make_unique<RingMessageLink>(theirs.inbox(rank_), engine.segment().inbox(peer), theirs.inboxEvents());
    }
  }
  return remote_.empty() ? Status::ok() : connect();
}

// Makes the connections to ranks of other hosts. They are dialled when they are first used.
Status Messages::connect() {
  Engine& engine = communicator_.engine();
  NetTransport* network = communicator_.networkInUse();
  std::vector<std::array<ConnectionMemory, 2>> memory(size_);
  for (const int peer : remote_) {
    for (ConnectionMemory& end : memory[peer]) {
      if (Status made = communicator_.slots().make(engine.segmentShape().connection, end); !made) return made;
      end.zeroCopySlots = communicator_.slots().makeZeroCopySlots();
    }
    peers_[peer].link =
        std::make_unique<NetMessageLink>(rank_, peer, engine.transportOf(peer), memory[peer][0], memory[peer][1]);
  }
  const int channel = engine.channels() + 1;  // that of windows is before it
  for (const int peer : remote_) {
    if (Status made = network->sendConnection(peer, channel, memory[peer][0]); !made) return made;
    if (Status made = network->recvConnection(peer, channel, memory[peer][1]); !made) return made;
  }
  network_ = network;
  network_->addCallback(std::make_shared<NetworkCallback>(*this));
  return Status::ok();
}

// Sends.

Status Messages::send(int peer, int tag, const uint8_t* data, uint64_t bytes, bool isOffered,
                      MessageRequest** request) {
  *request = nullptr;
  Peer& to = peers_[peer];
  {
    Lock lock(mutex_);
    if (ended_.load(std::memory_order_relaxed)) return {Code::Aborted, "the messages of this communicator have ended"};
    calls_.store(calls_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    // A small message needs no request if it leaves at once.
    const uint64_t cost = bytes + kOverheadBytes;
    if (!isOffered && to.unsent.empty() && bytes <= to.link->maxEager() && cost <= to.credit &&
        to.link->trySend({.kind = Kind::Eager, .tag = tag, .bytes = bytes}, data, bytes)) {
      to.credit -= cost;
    } else {
      if (to.sends == kMaxSends) {
        return Status::invalid("sends=" + std::to_string(kMaxSends) + " to peer=" + std::to_string(peer) +
                               " have not ended; wait for some of them, or receive them there");
      }
      auto made = std::make_unique<MessageRequest>();
      made->isSend = true;
      made->isOffered = isOffered;
      made->peer = peer;
      made->messageTag = tag;
      made->address = const_cast<uint8_t*>(data);
      made->bytes = made->length = bytes;
      ++to.sends;
      if (!to.unsent.empty() || !trySend(to, *made)) {
        to.unsent.push_back(made.get());
        pending_.fetch_add(1, std::memory_order_relaxed);
      }
      *request = made.release();
    }
    if (peer == rank_) pollLocal();
  }
  poke();
  if (*request != nullptr) events_->notifyIfWaiting();
  if (to.isNet && network_->poll() == 0) network_->kick();
  return Status::ok();
}

// Sends the frame of a message. Returns false if there is no space for it.
bool Messages::trySend(Peer& peer, MessageRequest& send) {
  const uint64_t cost = send.bytes + kOverheadBytes;
  if (send.isOffered || send.bytes > peer.link->maxEager() || cost > peer.credit) return tryOffer(peer, send);
  if (!peer.link->trySend({.kind = Kind::Eager, .tag = send.messageTag, .bytes = send.bytes}, send.address,
                          send.bytes)) {
    return false;
  }
  peer.credit -= cost;
  complete(send, State::Done);
  return true;
}

bool Messages::tryOffer(Peer& peer, MessageRequest& send) {
  MessageFrame frame{.kind = Kind::Offer, .tag = send.messageTag, .bytes = send.bytes};
  uint64_t segment = 0;
  uint64_t dataBytes = 0;
  if (peer.isHere) {
    frame.kind = Kind::OfferHere;
    if (send.number == 0) send.number = MemoryOffers::ofProcess().add(send.address);
  } else {
    if (send.number == 0) send.number = ++numbers_;
    if (!peer.isNet && communicator_.sharedMemory().locate(send.address, send.bytes, segment, frame.place)) {
      frame.kind = Kind::OfferShared;
      dataBytes = sizeof segment;
    }
  }
  frame.number = send.number;
  if (!peer.link->trySend(frame, reinterpret_cast<const uint8_t*>(&segment), dataBytes)) return false;
  peer.offered[send.number] = &send;
  return true;
}

// Receives.

MessageRequest* Messages::receive(int source, int tag, uint8_t* to, uint64_t bytes) {
  std::unique_ptr<MessageRequest> made = receiveInto(source, tag, to, bytes);
  int work = 0;
  bool answered = false;
  {
    Lock lock(mutex_);
    calls_.store(calls_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (!ended_.load(std::memory_order_relaxed)) {
      if (const auto message = matcher_.take(source, tag)) {
        startTransfer(*made, *message);
        answered = std::exchange(answered_, false);
      } else {
        matcher_.post(*made);
        if (hasLocalNews()) work = pollLocal();
      }
    }
  }
  if (work > 0) poke();
  if (answered) network_->kick();
  // The communicator's thread moves the data unless the caller waits.
  if (pending_.load(std::memory_order_relaxed) != 0) events_->notifyIfWaiting();
  return made.release();
}

MessageRequest* Messages::tryReceive(int source, int tag, uint8_t* to, uint64_t bytes) {
  progress();
  Lock lock(mutex_);
  calls_.store(calls_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  if (ended_.load(std::memory_order_relaxed)) return nullptr;
  const auto message = matcher_.take(source, tag);
  if (message == nullptr) return nullptr;
  std::unique_ptr<MessageRequest> made = receiveInto(source, tag, to, bytes);
  startTransfer(*made, *message);
  return made.release();
}

bool Messages::cancel(MessageRequest& request) {
  Lock lock(mutex_);
  if (request.isSend || ended_.load(std::memory_order_relaxed) || !matcher_.cancel(request)) return false;
  complete(request, State::Cancelled);
  return true;
}

Status Messages::probe(int source, int tag, int64_t nanos, MessageStatus* found) {
  const auto look = [&] {
    Lock lock(mutex_);
    const UnexpectedMessage* message = matcher_.find(source, tag);
    if (message == nullptr) return false;
    *found = {message->source, message->tag, message->bytes};
    return true;
  };
  calls_.fetch_add(1, std::memory_order_relaxed);
  progress();
  return await(look, nanos);
}

// Transfers. A receive has matched a message.

void Messages::startTransfer(MessageRequest& receive, UnexpectedMessage& message) {
  receive.peer = message.source;
  receive.messageTag = message.tag;
  receive.length = message.bytes;
  if (message.isOffered) return take(receive, message);
  owe(message.source, message.bytes + kOverheadBytes);
  deliver(receive, message.data.data());
}

void Messages::take(MessageRequest& receive, UnexpectedMessage& message) {
  Peer& from = peers_[message.source];
  if (message.bytes > receive.bytes || message.bytes == 0) {
    answer(from, {.kind = Kind::Taken, .number = message.number});
    complete(receive, message.bytes > receive.bytes ? State::TooLong : State::Done);
    return;
  }
  receive.state.store(State::Moving, std::memory_order_relaxed);
  if (message.offer == Kind::Offer) {
    answer(from, {.kind = Kind::Take, .number = message.number});
    from.arriving.push_back(&receive);
    return;
  }
  pulls_.push_back({&receive, message.source, message.offer, message.number, message.segment, message.place});
  pending_.fetch_add(1, std::memory_order_relaxed);
}

// Copies an eager message to its receive.
void Messages::deliver(MessageRequest& receive, const uint8_t* data) {
  if (receive.length > receive.bytes) {
    complete(receive, State::TooLong);
    return;
  }
  if (receive.length > 0) std::memcpy(receive.address, data, receive.length);
  complete(receive, State::Done);
}

// Ends a request. Its owner may free it at once, so nothing may use it afterwards.
void Messages::complete(MessageRequest& request, State state) {
  if (request.isSend) --peers_[request.peer].sends;
  request.state.store(state, std::memory_order_release);
}

void Messages::answer(Peer& peer, const MessageFrame& frame) {
  if (peer.isNet) answered_ = true;
  if (peer.answers.empty() && peer.link->trySend(frame, nullptr, 0)) return;
  peer.answers.push_back(frame);
  pending_.fetch_add(1, std::memory_order_relaxed);
}

// Notes that an eager message takes no memory any more. Gives the credit back in large parts.
void Messages::owe(int peer, uint64_t bytes) {
  Peer& from = peers_[peer];
  from.owed += bytes;
  if (from.owed < kCredit / 4) return;
  answer(from, {.kind = Kind::Credit, .bytes = std::exchange(from.owed, 0)});
}

// Frames that arrive.

Status Messages::apply(int peer, const MessageLink::Received& received) {
  Peer& from = peers_[peer];
  const MessageFrame& frame = received.frame;
  const auto refuse = [&](const std::string& why) {
    return Status::transport("messages: rank=" + std::to_string(peer) + " sent rank=" + std::to_string(rank_) +
                             " a frame kind=" + std::to_string(static_cast<uint32_t>(frame.kind)) +
                             " tag=" + std::to_string(frame.tag) + " bytes=" + std::to_string(frame.bytes) +
                             " number=" + std::to_string(frame.number) + " data=" + std::to_string(received.bytes) +
                             ": " + why);
  };
  switch (frame.kind) {
    case Kind::Eager:
    case Kind::Offer:
    case Kind::OfferHere:
    case Kind::OfferShared: {
      const uint64_t expected = frame.kind == Kind::Eager         ? frame.bytes
                                : frame.kind == Kind::OfferShared ? sizeof(uint64_t)
                                                                  : 0;
      if (received.bytes != expected) return refuse("expected data of bytes=" + std::to_string(expected));
      if (frame.tag < 0) return refuse("expected a tag of at least 0");
      if (frame.kind == Kind::OfferHere ? !from.isHere : frame.kind == Kind::OfferShared && from.isNet) {
        return refuse("this rank cannot address the sender's memory");
      }
      return applyMessage(peer, received);
    }
    case Kind::Take:
    case Kind::Taken: {
      const auto found = from.offered.find(frame.number);
      if (found == from.offered.end()) return refuse("answers no message");
      MessageRequest& send = *found->second;
      from.offered.erase(found);
      if (from.isHere) MemoryOffers::ofProcess().withdraw(send.number);
      if (frame.kind == Kind::Taken) {
        complete(send, State::Done);
      } else {
        send.state.store(State::Moving, std::memory_order_relaxed);
        from.streams.push_back(&send);
        pending_.fetch_add(1, std::memory_order_relaxed);
      }
      return Status::ok();
    }
    case Kind::Data: {
      if (from.arriving.empty()) return refuse("this rank has asked for no data");
      MessageRequest& receive = *from.arriving.front();
      if (received.bytes == 0 || received.bytes > receive.length - receive.moved) {
        return refuse("expected at most bytes=" + std::to_string(receive.length - receive.moved));
      }
      uint8_t* place = receive.address + receive.moved;
      if (received.data != place) std::memcpy(place, received.data, received.bytes);
      receive.moved += received.bytes;
      if (receive.moved == receive.length) {
        from.arriving.pop_front();
        complete(receive, State::Done);
      }
      return Status::ok();
    }
    case Kind::Credit:
      if (frame.bytes > kCredit - from.credit) return refuse("returns more credit than was used");
      from.credit += frame.bytes;
      return Status::ok();
  }
  return refuse("unknown kind");
}

Status Messages::applyMessage(int peer, const MessageLink::Received& received) {
  const MessageFrame& frame = received.frame;
  auto* receive = static_cast<MessageRequest*>(matcher_.match(peer, frame.tag));
  if (receive != nullptr && frame.kind == Kind::Eager) {
    receive->peer = peer;
    receive->messageTag = frame.tag;
    receive->length = frame.bytes;
    owe(peer, frame.bytes + kOverheadBytes);
    deliver(*receive, received.data);
    return Status::ok();
  }
  auto message = std::make_unique<UnexpectedMessage>();
  message->source = peer;
  message->tag = frame.tag;
  message->bytes = frame.bytes;
  if (frame.kind == Kind::Eager) {
    message->data.assign(received.data, received.data + received.bytes);
  } else {
    message->isOffered = true;
    message->offer = frame.kind;
    message->number = frame.number;
    message->place = frame.place;
    if (received.bytes == sizeof message->segment) std::memcpy(&message->segment, received.data, received.bytes);
  }
  if (receive != nullptr) {
    startTransfer(*receive, *message);
  } else {
    matcher_.add(std::move(message));
  }
  return Status::ok();
}

// Progress.

// Applies the frames of a peer, and sends what waits for space. Returns the amount of work done.
int Messages::pollLink(int peer) {
  Peer& from = peers_[peer];
  int work = 0;
  for (; work < kMaxFrames; ++work) {
    MessageLink::Received next;
    bool found = false;
    Status status = orThrown([&] { return from.link->receive(&next, &found); });
    if (status && !found) break;
    if (status) status = orThrown([&] { return apply(peer, next); });
    if (!status) {
      fail(peer, status);
      return work + 1;
    }
    from.link->release();
  }
  if (!from.arriving.empty()) {
    MessageRequest& receive = *from.arriving.front();
    from.link->expectParts(receive.address + receive.moved, receive.length - receive.moved);
  }
  return work + flush(from);
}

int Messages::pollLocal() {
  if (ended_.load(std::memory_order_relaxed) || isBroken_.load(std::memory_order_relaxed)) return 0;
  int work = 0;
  for (const int peer : local_) {
    if (peers_[peer].link->hasNews() || peers_[peer].hasPending()) work += pollLink(peer);
  }
  return work;
}

// Called under the lock of the network.
int Messages::pollNetwork() {
  int work = 0;
  {
    Lock lock(mutex_);
    if (ended_.load(std::memory_order_relaxed) || isBroken_.load(std::memory_order_relaxed)) return 0;
    for (const int peer : remote_) {
      if (peers_[peer].link->hasNews() || peers_[peer].hasPending()) work += pollLink(peer);
    }
  }
  if (work > 0 && sleepers_.load(std::memory_order_relaxed) > 0) events_->notify();
  return work;
}

// Sends what waits for space. Returns the number of things that have moved.
int Messages::flush(Peer& peer) {
  int moved = 0;
  for (; !peer.answers.empty() && peer.link->trySend(peer.answers.front(), nullptr, 0); ++moved) {
    peer.answers.pop_front();
  }
  if (peer.answers.empty()) {
    for (; !peer.unsent.empty() && trySend(peer, *peer.unsent.front()); ++moved) peer.unsent.pop_front();
  }
  int ended = moved;
  while (!peer.streams.empty()) {
    MessageRequest& send = *peer.streams.front();
    const uint64_t part = std::min(send.bytes - send.moved, peer.link->maxData());
    if (!peer.link->trySendPart(send.address + send.moved, part, &send.left)) break;
    ++moved;
    send.moved += part;
    if (send.moved < send.bytes) continue;
    peer.streams.pop_front();
    peer.leaving.push_back(&send);
  }
  for (; !peer.leaving.empty() && peer.link->hasLeft(peer.leaving.front()->left); ++moved, ++ended) {
    complete(*peer.leaving.front(), State::Done);
    peer.leaving.pop_front();
  }
  pending_.fetch_sub(static_cast<size_t>(ended), std::memory_order_relaxed);
  return moved;
}

// Copies the data of messages that this rank can address. The lock is not held during a copy.
int Messages::pull(Lock& lock) {
  int work = 0;
  while (!pulls_.empty() && !ended_.load(std::memory_order_relaxed)) {
    const Pull next = pulls_.front();
    pulls_.pop_front();
    pending_.fetch_sub(1, std::memory_order_relaxed);
    ++pulling_;
    MessageRequest& receive = *next.request;
    lock.unlock();
    const bool isCopied = copy(next);
    lock.lock();
    --pulling_;
    ++work;
    Peer& from = peers_[next.peer];
    if (!isCopied && next.kind == Kind::OfferShared) {
      answer(from, {.kind = Kind::Take, .number = next.number});
      from.arriving.push_back(&receive);
    } else if (isCopied) {
      answer(from, {.kind = Kind::Taken, .number = next.number});
      complete(receive, State::Done);
    }  // else the sender's communicator has failed, and this one will
  }
  return work;
}

// Copies an offered message to its receive. Returns false if this rank cannot address it.
bool Messages::copy(const Pull& pull) {
  bool isCopied = false;
  const Status tried = orThrown([&] {
    const std::shared_ptr<const uint8_t> data = hold(pull);
    isCopied = data != nullptr;
    if (isCopied) std::memmove(pull.request->address, data.get(), pull.request->length);
    return Status::ok();
  });
  return tried && isCopied;
}

// Returns the data of an offered message, which stays while the result exists; null if this rank cannot address it.
std::shared_ptr<const uint8_t> Messages::hold(const Pull& pull) {
  if (pull.kind == Kind::OfferHere) {
    const uint8_t* data = MemoryOffers::ofProcess().hold(pull.number);
    if (data == nullptr) return nullptr;
    return {data, [number = pull.number](const uint8_t*) { MemoryOffers::ofProcess().release(number); }};
  }
  std::shared_ptr<ShmSegment> view;
  {
    const std::lock_guard lock(viewsMutex_);
    if (const auto found = views_.find({pull.peer, pull.segment}); found != views_.end()) view = found->second;
  }
  if (view == nullptr) {
    SharedMemory& shared = communicator_.sharedMemory();
    if (!shared.registry().import(shared.processOf(pull.peer), pull.segment, 0, {}, &view)) return nullptr;
    const std::lock_guard lock(viewsMutex_);
    if (views_.size() >= kMaxViews) views_.clear();
    views_[{pull.peer, pull.segment}] = view;
  }
  const uint64_t length = pull.request->length;
  if (pull.place > view->bytes() || length > view->bytes() - pull.place) return nullptr;
  return {view, view->address() + pull.place};
}

int Messages::progress() {
  int work = 0;
  if (pending_.load(std::memory_order_relaxed) != 0 || hasLocalNews()) {
    Lock lock(mutex_);
    work = pollLocal();
    work += pull(lock);
  }
  if (network_ != nullptr) work += network_->poll();
  if (work > 0) poke();
  return work;
}

bool Messages::hasLocalNews() const {
  return std::any_of(local_.begin(), local_.end(), [&](int peer) { return peers_[peer].link->hasNews(); });
}

// Wakes threads of this rank that sleep, because this thread may have ended their requests.
void Messages::poke() {
  if (sleepers_.load(std::memory_order_relaxed) == 0) return;
  events_->notify();
  if (network_ != nullptr) network_->kick();
}

void Messages::fail(int peer, const Status& why) {
  if (isBroken_.load(std::memory_order_relaxed)) return;
  broken_ = why;
  isBroken_.store(true, std::memory_order_release);
  if (peers_[peer].isNet) network_->fail(why, peer);
}

// Waits.

bool Messages::test(MessageRequest& request) {
  if (request.isOver()) return true;
  calls_.fetch_add(1, std::memory_order_relaxed);
  progress();
  return request.isOver();
}

Status Messages::wait(MessageRequest& request, int64_t nanos) {
  return await([&] { return request.isOver(); }, nanos);
}

Status Messages::checkAlive() {
  Engine& engine = communicator_.engine();
  if (const Code code = engine.failure(); code != Code::Ok) return {code, engine.lastError()};
  if (ended_.load(std::memory_order_acquire)) return {Code::Aborted, "the communicator's messages have ended"};
  if (isBroken_.load(std::memory_order_acquire)) {
    Lock lock(mutex_);
    return broken_;
  }
  if (network_ != nullptr && network_->failed()) {
    int broken = -1;
    return {Code::Transport, network_->error(&broken).message()};
  }
  return Status::ok();
}

template <typename Ready>
Status Messages::await(const Ready& ready, int64_t nanos) {
  if (ready()) return Status::ok();
  const SpinPolicy& policy = communicator_.engine().control().policy;
  const int polls = std::max(policy.polls, kPollsBeforeClock);
  for (int i = 0; i < polls; ++i) {
    if (progress() != 0 && ready()) return Status::ok();
  }
  const Call call(*this);
  for (int i = 0; i < policy.firstYields; ++i) {
    std::this_thread::yield();
    progress();
    if (ready()) return Status::ok();
  }
  const int64_t begin = monotonicNanos();
  for (int64_t now = begin;; now = monotonicNanos()) {
    const bool moved = progress() != 0;
    if (ready()) return Status::ok();
    if (Status alive = checkAlive(); !alive) return alive;
    if (now - begin >= nanos) return {Code::Timeout, ""};
    if (moved) continue;
    if (now - begin < policy.spinNanos) {
      pauseCore();
    } else if (now - begin < policy.yieldNanos) {
      std::this_thread::yield();
    } else {
      sleep(ready, std::min(nanos - (now - begin), kSleepNanos), true);
    }
  }
}

template <typename Ready>
void Messages::sleep(const Ready& ready, int64_t nanos, bool isWoken) {
  const bool isMixed = network_ != nullptr && local_.size() > 1;
  if (isWoken) sleepers_.fetch_add(1, std::memory_order_seq_cst);
  if (network_ != nullptr) {
    if (!ready()) network_->waitForEvents(isMixed ? std::min(nanos, kMixedSleepNanos) : nanos);
  } else {
    const auto news = [&] { return ready() || hasLocalNews() || ended_.load(std::memory_order_relaxed); };
    events_->sleep(
        nanos, [](void* context) { return (*static_cast<decltype(news)*>(context))(); },
        const_cast<void*>(static_cast<const void*>(&news)));
  }
  if (isWoken) sleepers_.fetch_sub(1, std::memory_order_relaxed);
}

std::string Messages::describe(const MessageRequest& request) {
  Lock lock(mutex_);
  if (request.isSend) {
    const Peer& to = peers_[request.peer];
    const bool waits = std::find(to.unsent.begin(), to.unsent.end(), &request) != to.unsent.end();
    if (waits) return "peer=" + std::to_string(request.peer) + " takes no frames";
    return request.state.load() == State::Moving
               ? "sent bytes=" + std::to_string(request.moved) + " of " + std::to_string(request.bytes)
               : "peer=" + std::to_string(request.peer) + " has posted no receive that takes it";
  }
  if (request.state.load() == State::Moving) {
    return "received bytes=" + std::to_string(request.moved) + " of " + std::to_string(request.length) +
           " from peer=" + std::to_string(request.peer);
  }
  std::string text =
      "no such message has arrived; messages that wait for a receive: " + std::to_string(matcher_.waiting());
  if (const UnexpectedMessage* first = matcher_.find(kAnyMessage, kAnyMessage); first != nullptr) {
    text += ", the first from source=" + std::to_string(first->source) + " with tag=" + std::to_string(first->tag);
  }
  return text;
}

void Messages::serve(int64_t nanos, bool isAwaited) {
  const uint32_t wakes = wakes_.load(std::memory_order_acquire);
  const auto leave = [&] { futexWaitFor(wakes_, wakes, std::min(nanos, kLeaveNanos)); };
  const uint64_t calls = calls_.load(std::memory_order_relaxed);
  const bool called = callers_.load(std::memory_order_acquire) != 0 || calls != ownCalls_;
  ownCalls_ = calls;
  const uint64_t polls = network_ == nullptr ? 0 : network_->polls();
  const bool othersPoll = polls != ownPolls_;
  if (!checkAlive()) return futexWaitFor(wakes_, wakes, nanos);
  const int moved = progress();
  ownPolls_ = network_ == nullptr ? 0 : network_->polls();
  if (moved > 0) return;
  if (!isAwaited && (called || othersPoll)) {
    leave();
  } else {
    sleep([&] { return wakes_.load(std::memory_order_relaxed) != wakes; }, nanos, isAwaited);
  }
}

void Messages::wake() noexcept {
  wakes_.fetch_add(1, std::memory_order_release);
  futexWake(wakes_);
  events_->notify();
  if (network_ != nullptr) network_->kick();
}

void Messages::stop() noexcept {
  std::vector<uint64_t> offers;
  bool usesMemory = false;
  {
    Lock lock(mutex_);
    ended_.store(true, std::memory_order_seq_cst);
    while (pulling_ > 0) {
      lock.unlock();
      std::this_thread::yield();
      lock.lock();
    }
    for (const Peer& peer : peers_) {
      usesMemory =
          usesMemory || (peer.isNet && !(peer.streams.empty() && peer.leaving.empty() && peer.arriving.empty()));
      if (!peer.isHere) continue;
      for (const auto& [number, send] : peer.offered) offers.push_back(number);
      for (const MessageRequest* send : peer.unsent) offers.push_back(send->number);
    }
  }
  for (const uint64_t number : offers) MemoryOffers::ofProcess().withdraw(number);
  if (usesMemory) network_->revoke();
  if (events_ != nullptr) wake();
}

}  // namespace jccl
