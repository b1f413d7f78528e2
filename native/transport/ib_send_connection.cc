#include <algorithm>

#include "transport/ib_connection.h"

namespace jccl {
namespace {

// Parts begin at multiples of this size.
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
  if (!window_.mayPost(sequence)) return window_.outOfOrder("isend", sequence);
  auto* memory = dynamic_cast<IbMemory*>(data.memory);
  if (message.bytes > 0 && memory == nullptr) return Status::internal("isend: the memory is not registered");
  window_.post() = {
      message, static_cast<const uint8_t*>(data.address), memory, data.awaitsAddress, data.exposed, sharing_.parts()};
  return Status::ok();
}

Status IbSendConnection::test(uint64_t sequence, bool* done) {
  if (!window_.holds(sequence)) return window_.outOfOrder("test", sequence);
  const auto isOver = [](const Slot& sent) { return sent.partsLeft == 0; };
  *done = isOver(window_[sequence]);
  window_.finishTo(sequence, isOver);
  return Status::ok();
}

Status IbSendConnection::introduce(DataSocket socket) {
  queuePairs_ = std::make_unique<IbQueuePairs>(config_, adapter_, peer_);
  if (Status opened = queuePairs_->open(std::move(socket), controlEvents_); !opened) return opened;
  for (uint8_t qp = 0; qp < queuePairs_->count(); ++qp) {
    if (Status posted = queuePairs_->postReceives({IbWork::Ping, qp, 0}); !posted) return posted;
  }
  // Receive credits and CTS arrive on the first queue pair.
  Status posted = queuePairs_->postReceives({IbWork::Credit, 0, 0}, IbQueuePairs::kMaxCreditsAndCts);
  if (!posted) return posted;
  state_ = State::Introduced;
  return queuePairs_->sendInfo();
}

Status IbSendConnection::ping() {
  if (Status joined = queuePairs_->join(); !joined) return joined;
  state_ = State::Pinging;
  for (uint8_t qp = 0; qp < queuePairs_->count(); ++qp) {
    if (Status sent = queuePairs_->writeNothing({IbWork::Ping, qp, 0}); !sent) return sent;
  }
  return Status::ok();
}

Status IbSendConnection::shakeHands(int64_t nowNanos, int* work) {
  if (startedNanos_ < 0) startedNanos_ = nowNanos;
  if (state_ == State::Dialling) {
    if (Status dialled = dialer_->progress(nowNanos, work); !dialled || !dialer_->done()) return dialled;
    DataSocket socket = dialer_->take();
    dialer_.reset();
    if (Status introduced = introduce(std::move(socket)); !introduced) return introduced;
  }
  if (Status moved = queuePairs_->progress(nowNanos, *this, work); !moved) return moved;
  if (state_ == State::Introduced && queuePairs_->control().hasInfo()) {
    if (Status pinged = ping(); !pinged) return pinged;
    ++*work;
  }
  if (state_ == State::Pinging && answers_ == queuePairs_->count()) {
    state_ = State::Connected;
    ++*work;
    return queuePairs_->watch(dataEvents_);
  }
  if (nowNanos - startedNanos_ < config_.connectTimeoutNanos) return Status::ok();
  return Status::transport("net: " + describe() + ": no connection after " +
                           std::to_string((nowNanos - startedNanos_) / 1'000'000) + " ms: " +
                           (state_ == State::Pinging
                                ? "the ping over its queue pairs has no answer: packets are lost, or a firewall "
                                  "drops them (RoCE: UDP port 4791)"
                                : "the peer has not introduced its queue pairs; is it stopped or starved?"));
}

bool IbSendConnection::mayPush(uint64_t sequence) const {
  const bool waits = window_[sequence].awaitsCts && inFlight_ > 0;
  return sequence < credits_ && !(waits && cts_[sequence % kNetInFlight].sequence != sequence);
}

Status IbSendConnection::push(uint64_t sequence) {
  Slot& sent = window_[sequence];
  const auto credit = queuePairs_->received<IbReceiveCredit>(sequence);
  const uint8_t tag = sent.message.tag;
  const bool isExposed = sent.exposed.address != 0;
  if (credit.sequence != sequence || tag >= kNetTags || (!isExposed && sent.message.bytes > credit.capacity[tag])) {
    return Status::transport("net: " + describe() + ": message sequence=" + std::to_string(sequence) +
                             " tag=" + std::to_string(tag) + " bytes=" + std::to_string(sent.message.bytes) +
                             " does not fit the receive credit sequence=" + std::to_string(credit.sequence) +
                             " capacity_bytes=" + (tag < kNetTags ? std::to_string(credit.capacity[tag]) : "none") +
                             "; do all ranks have the same version and JCCL_* settings?");
  }
  const verbs::Region* region = nullptr;
  if (sent.message.bytes > 0) {
    if (Status registered = sent.memory->with(adapter_, &region); !registered) return registered;
  }
  const bool onDevice = region != nullptr && sent.memory->onDevice();
  auto* header = queuePairs_->staged<IbMessageHeader>(sequence);
  const IbClearToSend& cts = cts_[sequence % kNetInFlight];
  const bool atCtsAddress = !isExposed && cts.sequence == sequence && sent.message.bytes > 0 &&
                            NetMessage{cts.tag, cts.check, cts.bytes} == sent.message;
  const uint64_t address = isExposed ? sent.exposed.address : atCtsAddress ? cts.address : credit.address[tag];
  const uint32_t rkey = isExposed ? sent.exposed.key : atCtsAddress ? cts.rkey : credit.rkey[tag];
  const auto place = isExposed      ? IbMessageHeader::Exposed
                     : atCtsAddress ? IbMessageHeader::AtCtsAddress
                                    : IbMessageHeader::InSlot;
  *header = IbMessageHeader{sequence, sent.message.bytes, sent.message.check, tag, place, {}};
  ++inFlight_;
  for (uint32_t part = 0; part < sharing_.parts(); ++part) {
    const uint32_t from = sharing_.offset(sent.message.bytes, part);
    const uint32_t bytes = sharing_.offset(sent.message.bytes, part + 1) - from;
    Status written = queuePairs_->writeData({IbWork::Message, sharing_.qpOf(sequence, part), sequence},
                                            sent.data + from, bytes, onDevice, region == nullptr ? 0 : region->lkey(),
                                            address + from, rkey, part == 0 ? sizeof *header : 0);
    if (!written) return written;
  }
  return Status::ok();
}

Status IbSendConnection::onReceived(const IbWork& work, uint32_t immediate) {
  if (work.purpose == IbWork::Ping) {
    ++answers_;
    return Status::ok();
  }
  if ((immediate & kIbCtsBit) == 0) {
    ++credits_;
  } else if (const auto cts = queuePairs_->received<IbClearToSend>(immediate);
             ((cts.sequence ^ immediate) & (kIbCtsBit - 1)) == 0) {
    cts_[cts.sequence % kNetInFlight] = cts;
  }  // otherwise the CTS is for a message that has left already, and a newer CTS is being written over it
  return queuePairs_->postReceives({IbWork::Credit, 0, 0});
}

Status IbSendConnection::onSent(const IbWork& work) {
  if (work.purpose == IbWork::Message && --window_[work.sequence].partsLeft == 0) --inFlight_;
  return Status::ok();
}

Status IbSendConnection::progress(int64_t nowNanos, int* work) {
  if (!connected()) {
    if (Status shaken = shakeHands(nowNanos, work); !shaken || !connected()) return shaken;
  }
  if (Status moved = queuePairs_->progress(nowNanos, *this, work); !moved) return moved;
  if (queuePairs_->control().ended()) {
    if (window_.done() == window_.posted()) return Status::ok();
    return Status::transport("net: " + describe() + " has closed the communicator while messages for it are unsent");
  }
  while (pushed_ < window_.posted() && mayPush(pushed_)) {
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
  if (queuePairs_ != nullptr) queuePairs_->silence();
}

void IbSendConnection::close() {
  dialer_.reset();
  // If messages are unsent, no FIN is sent, because a FIN would tell the peer that it has received all messages.
  if (queuePairs_ != nullptr && window_.done() == window_.posted()) queuePairs_->control().sendFin();
}

std::string IbSendConnection::describe() const {
  if (queuePairs_ != nullptr) return queuePairs_->describe();
  return dialer_ != nullptr ? dialer_->describe() : "rank " + std::to_string(peer_);
}

}  // namespace jccl
