#include <algorithm>

#include "transport/ib_connection.h"

namespace jccl {
namespace {

// Parts begin at whole lines of this size.
constexpr uint32_t kPartAlignment = 128;

}  // namespace

uint32_t IbSharing::offset(uint32_t bytes, uint32_t part) const {
  const uint32_t count = parts();
  const uint32_t each = (bytes / count + kPartAlignment) / kPartAlignment * kPartAlignment;
  return part == count ? bytes : static_cast<uint32_t>(std::min<uint64_t>(bytes, uint64_t{part} * each));
}

IbSendConnection::IbSendConnection(const NetConfig& config, const NetRoute& route, verbs::Adapter& adapter,
                                   EventSet& controlEvents, EventSet& dataEvents, std::vector<SocketDialer::Pair> pairs)
    : config_(config),
      peer_(route.to),
      adapter_(adapter),
      controlEvents_(controlEvents),
      dataEvents_(dataEvents),
      sharing_(static_cast<uint32_t>(config.ib.queuePairs), config.ib.splitData) {
  NetIntroductionHeader who;
  who.communicator = route.communicator;
  who.from = route.from;
  who.to = route.to;
  who.channel = route.channel;
  dialer_ = std::make_unique<SocketDialer>(config, controlEvents, who, std::move(pairs));
}

Status IbSendConnection::isend(uint64_t sequence, const NetMessage& message, const NetBuffer& data) {
  if (sequence != posted_ || posted_ - done_ >= kNetInFlight) {
    return Status::internal("isend: sequence=" + std::to_string(sequence) + " posted=" + std::to_string(posted_) +
                            " done=" + std::to_string(done_) + ": out of order or too far ahead");
  }
  auto* memory = dynamic_cast<IbMemory*>(data.memory);
  if (message.bytes > 0 && memory == nullptr) return Status::internal("isend: the memory is not registered");
  slot(sequence) = {message, static_cast<const uint8_t*>(data.address), memory, data.awaited, sharing_.parts()};
  ++posted_;
  return Status::ok();
}

Status IbSendConnection::test(uint64_t sequence, bool* done) {
  if (sequence >= posted_ || sequence < done_) {
    return Status::internal("test: sequence=" + std::to_string(sequence) + " posted=" + std::to_string(posted_) +
                            " done=" + std::to_string(done_) + ": nobody posted it");
  }
  *done = slot(sequence).partsLeft == 0;
  while (done_ < posted_ && done_ <= sequence && slot(done_).partsLeft == 0) ++done_;
  return Status::ok();
}

Status IbSendConnection::introduce(UniqueFd socket) {
  endpoint_ = std::make_unique<IbEndpoint>(config_, adapter_, peer_);
  if (Status opened = endpoint_->open(std::move(socket), controlEvents_); !opened) return opened;
  for (uint8_t qp = 0; qp < endpoint_->queuePairs(); ++qp) {
    if (Status posted = endpoint_->postReceives({IbWork::Ping, qp, 0}); !posted) return posted;
  }
  // Receives and wishes are announced on the first queue pair.
  Status posted = endpoint_->postReceives({IbWork::Slot, 0, 0}, IbEndpoint::kAnnouncements);
  if (!posted) return posted;
  state_ = State::Introduced;
  return endpoint_->tellInfo();
}

Status IbSendConnection::ping() {
  if (Status joined = endpoint_->join(); !joined) return joined;
  state_ = State::Pinging;
  for (uint8_t qp = 0; qp < endpoint_->queuePairs(); ++qp) {
    if (Status sent = endpoint_->writeNothing({IbWork::Ping, qp, 0}); !sent) return sent;
  }
  return Status::ok();
}

Status IbSendConnection::shakeHands(int64_t nowNanos, int* work) {
  if (startedNanos_ < 0) startedNanos_ = nowNanos;
  if (state_ == State::Dialling) {
    if (Status dialled = dialer_->progress(nowNanos, work); !dialled || !dialer_->done()) return dialled;
    UniqueFd socket = dialer_->take();
    dialer_.reset();
    if (Status introduced = introduce(std::move(socket)); !introduced) return introduced;
  }
  if (Status moved = endpoint_->progress(nowNanos, *this, work); !moved) return moved;
  if (state_ == State::Introduced && endpoint_->lifeline().hasInfo()) {
    if (Status pinged = ping(); !pinged) return pinged;
    ++*work;
  }
  if (state_ == State::Pinging && answers_ == endpoint_->queuePairs()) {
    state_ = State::Connected;
    ++*work;
    return endpoint_->watch(dataEvents_);
  }
  if (nowNanos - startedNanos_ < config_.connectTimeoutNanos) return Status::ok();
  return Status::transport(
      "net: " + describe() + ": no connection after " + std::to_string((nowNanos - startedNanos_) / 1'000'000) +
      " ms: " +
      (state_ == State::Pinging
           ? "the ping over its queue pairs has no answer: packets are lost on the way, or a firewall "
             "drops them (RoCE: UDP port 4791)"
           : "the peer has not introduced its queue pairs; is it stopped or starved?"));
}

bool IbSendConnection::mayPush(uint64_t sequence) const {
  const bool waits = slots_[sequence % kNetInFlight].awaitsWish && onTheWay_ > 0;
  return sequence < offered_ && !(waits && wishes_[sequence % kNetInFlight].sequence != sequence);
}

Status IbSendConnection::push(uint64_t sequence) {
  Slot& sent = slot(sequence);
  const auto place = endpoint_->received<IbReceiveSlot>(sequence);
  const uint8_t tag = sent.message.tag;
  if (place.sequence != sequence || tag >= kNetTags || sent.message.bytes > place.room[tag]) {
    return Status::transport("net: " + describe() + ": message sequence=" + std::to_string(sequence) +
                             " tag=" + std::to_string(tag) + " bytes=" + std::to_string(sent.message.bytes) +
                             " does not fit the announced receive sequence=" + std::to_string(place.sequence) +
                             " room_bytes=" + (tag < kNetTags ? std::to_string(place.room[tag]) : "none") +
                             "; do all ranks have the same version and JCCL_* settings?");
  }
  const verbs::Region* region = nullptr;
  if (sent.message.bytes > 0) {
    if (Status registered = sent.memory->with(adapter_, &region); !registered) return registered;
  }
  const bool onDevice = region != nullptr && sent.memory->onDevice();
  auto* header = endpoint_->staged<IbMessageHeader>(sequence);
  const IbWish& wish = wishes_[sequence % kNetInFlight];
  const bool asWished = wish.sequence == sequence && sent.message.bytes > 0 &&
                        NetMessage{wish.tag, wish.check, wish.bytes} == sent.message;
  const uint64_t address = asWished ? wish.address : place.address[tag];
  const uint32_t rkey = asWished ? wish.rkey : place.rkey[tag];
  *header = IbMessageHeader{sequence, sent.message.bytes, sent.message.check, tag, asWished, {}};
  ++onTheWay_;
  for (uint32_t part = 0; part < sharing_.parts(); ++part) {
    const uint32_t from = sharing_.offset(sent.message.bytes, part);
    const uint32_t bytes = sharing_.offset(sent.message.bytes, part + 1) - from;
    Status written = endpoint_->writeData({IbWork::Message, sharing_.qpOf(sequence, part), sequence}, sent.data + from,
                                          bytes, onDevice, region == nullptr ? 0 : region->lkey(), address + from, rkey,
                                          part == 0 ? sizeof *header : 0);
    if (!written) return written;
  }
  return Status::ok();
}

Status IbSendConnection::onReceived(const IbWork& work, uint32_t immediate) {
  if (work.purpose == IbWork::Ping) {
    ++answers_;
    return Status::ok();
  }
  if ((immediate & kIbWishBit) == 0) {
    ++offered_;
  } else if (const auto told = endpoint_->received<IbWish>(immediate);
             ((told.sequence ^ immediate) & (kIbWishBit - 1)) == 0) {
    wishes_[told.sequence % kNetInFlight] = told;
  }  // else the message has left already, and a younger wish is being written over this one
  return endpoint_->postReceives({IbWork::Slot, 0, 0});
}

Status IbSendConnection::onSent(const IbWork& work) {
  if (work.purpose == IbWork::Message && --slot(work.sequence).partsLeft == 0) --onTheWay_;
  return Status::ok();
}

Status IbSendConnection::progress(int64_t nowNanos, int* work) {
  if (!connected()) {
    if (Status shaken = shakeHands(nowNanos, work); !shaken || !connected()) return shaken;
  }
  if (Status moved = endpoint_->progress(nowNanos, *this, work); !moved) return moved;
  if (endpoint_->lifeline().ended()) {
    if (done_ == posted_) return Status::ok();
    return Status::transport("net: " + describe() + " has closed the communicator while messages for it are unsent");
  }
  while (pushed_ < posted_ && mayPush(pushed_)) {
    if (Status sent = push(pushed_); !sent) return sent;
    ++pushed_;
    ++*work;
  }
  return Status::ok();
}

int64_t IbSendConnection::nextDeadlineNanos() const {
  const int64_t port = adapter_.nextDeadlineNanos();
  if (connected()) return port;
  if (dialer_ != nullptr) return std::min(port, dialer_->nextDeadlineNanos());
  return std::min(port, startedNanos_ + config_.connectTimeoutNanos);
}

void IbSendConnection::revoke() {
  if (endpoint_ != nullptr) endpoint_->silence();
}

void IbSendConnection::close() {
  dialer_.reset();
  // With unsent messages it is cut off: the peer must not take what it has for all.
  if (endpoint_ != nullptr && done_ == posted_) endpoint_->lifeline().sayGoodbye();
}

std::string IbSendConnection::describe() const {
  if (endpoint_ != nullptr) return endpoint_->describe();
  return dialer_ != nullptr ? dialer_->describe() : "rank " + std::to_string(peer_);
}

}  // namespace jccl
