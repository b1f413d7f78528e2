#include "verbs/queue_pair.h"

#include <sys/random.h>

#include <array>
#include <cstdio>

#include "base/log.h"
#include "verbs/verbs_text.h"

namespace jccl::verbs {
namespace {

using State = QueuePairObject::State;

constexpr uint8_t kMinRnrTimer = 12;     // the sender tries again after 0.64 ms if no receive is posted
constexpr uint8_t kRnrRetryForEver = 7;  // the receiver posts receives in advance, so a missing one is only late
constexpr uint8_t kHopLimit = 255;

std::string hex(uint32_t value) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "0x%x", value);
  return text.data();
}

}  // namespace

const char* QueuePairObject::nameOf(State state) {
  switch (state) {
    case State::Reset:
      return "RESET";
    case State::Init:
      return "INIT";
    case State::ReadyToReceive:
      return "RTR";
    case State::ReadyToSend:
      return "RTS";
    case State::Error:
      return "ERR";
    case State::Destroyed:
      return "destroyed";
  }
  return "?";
}

bool QueuePairObject::isLegal(State from, State to) {
  switch (to) {
    case State::Reset:
      return from == State::Error;
    case State::Init:
      return from == State::Reset;
    case State::ReadyToReceive:
      return from == State::Init;
    case State::ReadyToSend:
      return from == State::ReadyToReceive;
    case State::Error:
      return from == State::Init || from == State::ReadyToReceive || from == State::ReadyToSend;
    case State::Destroyed:
      return from != State::Destroyed;
  }
  return false;
}

Status QueuePairObject::make(const std::shared_ptr<OpenDevice>& device, const Completions& completions,
                             const QueuePairShape& shape, std::unique_ptr<QueuePairObject>* qp) {
  QpInit init{};
  init.sendCq = completions.queue();
  init.receiveCq = completions.queue();
  init.capabilities = {shape.sendRequests, shape.receiveRequests, 1, 1, shape.inlineBytes};
  init.type = kQpReliableConnected;
  std::unique_ptr<QueuePairObject> made(new QueuePairObject(device));
  errno = 0;
  made->qp_ = device->library().createQp(device->pd(), &init);
  // The adapter may be unable to send data inline, or as many bytes as requested.
  if (made->qp_ == nullptr && shape.inlineBytes > 0) {
    init.capabilities = {shape.sendRequests, shape.receiveRequests, 1, 1, 0};
    errno = 0;
    made->qp_ = device->library().createQp(device->pd(), &init);
  }
  if (made->qp_ == nullptr) {
    const int error = errno == 0 ? EIO : errno;
    made->state_ = State::Destroyed;
    return device->failed("ibv_create_qp",
                          "send_requests=" + std::to_string(shape.sendRequests) +
                              " receive_requests=" + std::to_string(shape.receiveRequests) +
                              " max_qp=" + std::to_string(device->attributes().maxQueuePairs),
                          error);
  }
  made->number_ = made->qp_->number;
  made->inlineBytes_ = init.capabilities.inlineBytes;
  if (Status drawn = made->drawSendPsn(); !drawn) return drawn;
  logMessage(LogLevel::Debug, "net", made->describe() + " created, inline_bytes=" + std::to_string(made->inlineBytes_));
  *qp = std::move(made);
  return Status::ok();
}

std::string QueuePairObject::describe() const {
  return "qp=" + hex(number_) + " device=" + device_->name() + " state=" + nameOf(state_);
}

Status QueuePairObject::require(State to) const {
  if (isLegal(state_, to)) return Status::ok();
  return Status::invalid("net: " + describe() + ": cannot go to " + nameOf(to));
}

void QueuePairObject::moved(State to, const std::string& facts) {
  logMessage(LogLevel::Debug, "net",
             "qp=" + hex(number_) + " device=" + device_->name() + ": " + nameOf(state_) + " -> " + nameOf(to) +
                 (facts.empty() ? "" : " " + facts));
  state_ = to;
}

Status QueuePairObject::modify(State to, QpAttributes& attributes, int mask, const std::string& facts) {
  if (Status legal = require(to); !legal) return legal;
  static constexpr std::array<QpState, 5> kNumbers = {QpState::Reset, QpState::Init, QpState::ReadyToReceive,
                                                      QpState::ReadyToSend, QpState::Error};
  attributes.state = static_cast<int>(kNumbers[static_cast<size_t>(to)]);
  if (const Return code = device_->library().modifyQp(qp_, &attributes, mask | kQpState); code != 0) {
    return device_->failed(
        "ibv_modify_qp",
        "qp=" + hex(number_) + " " + nameOf(state_) + " -> " + nameOf(to) + (facts.empty() ? "" : " " + facts), code);
  }
  moved(to, facts);
  return Status::ok();
}

Status QueuePairObject::drawSendPsn() {
  if (::getrandom(&sendPsn_, sizeof sendPsn_, 0) != sizeof sendPsn_) {
    return Status::system("getrandom", "packet sequence number of a queue pair");
  }
  sendPsn_ &= kMaxPsn;
  return Status::ok();
}

Status QueuePairObject::initialise(const PathSettings& path, int access) {
  QpAttributes attributes{};
  attributes.pkeyIndex = path.pkeyIndex;
  attributes.port = path.port;
  attributes.accessFlags = static_cast<unsigned>(access);
  Status done = modify(State::Init, attributes, kQpPkeyIndex | kQpPort | kQpAccessFlags,
                       "port=" + std::to_string(path.port) + " pkey_index=" + std::to_string(path.pkeyIndex));
  if (done) path_ = path;
  return done;
}

Status QueuePairObject::connect(const RemoteEnd& remote) {
  QpAttributes attributes{};
  attributes.pathMtu = remote.mtu;
  attributes.destination = remote.qpNumber;
  attributes.receivePsn = remote.psn;
  attributes.maxDestReadAtomic = 1;
  attributes.minRnrTimer = kMinRnrTimer;
  AddressHandle& address = attributes.address;
  address.port = path_.port;
  address.serviceLevel = path_.serviceLevel;
  address.destinationLid = remote.lid;
  std::string route = "lid=" + std::to_string(remote.lid);
  if (remote.lid == 0 || remote.global) {
    address.isGlobal = 1;
    address.route.destination = remote.gid;
    address.route.sourceGidIndex = path_.gidIndex;
    address.route.hopLimit = kHopLimit;
    address.route.trafficClass = path_.trafficClass;
    route = "gid=" + gidText(remote.gid) + " gid_index=" + std::to_string(path_.gidIndex) +
            " traffic_class=" + std::to_string(path_.trafficClass);
  }
  return modify(State::ReadyToReceive, attributes,
                kQpAddressVector | kQpPathMtu | kQpDestination | kQpReceivePsn | kQpMaxDestReadAtomic | kQpMinRnrTimer,
                "to qp=" + hex(remote.qpNumber) + " " + route + " mtu=" + std::to_string(mtuBytes(remote.mtu)));
}

Status QueuePairObject::start() {
  QpAttributes attributes{};
  attributes.timeout = path_.timeout;
  attributes.retryCount = path_.retryCount;
  attributes.rnrRetry = kRnrRetryForEver;
  attributes.sendPsn = sendPsn_;
  attributes.maxReadAtomic = 1;
  return modify(State::ReadyToSend, attributes,
                kQpTimeout | kQpRetryCount | kQpRnrRetry | kQpSendPsn | kQpMaxReadAtomic,
                "timeout=" + std::to_string(path_.timeout) + " retry_count=" + std::to_string(path_.retryCount));
}

Status QueuePairObject::fail() {
  QpAttributes attributes{};
  return modify(State::Error, attributes, 0, "");
}

Status QueuePairObject::reset() {
  QpAttributes attributes{};
  Status done = modify(State::Reset, attributes, 0, "");
  return done ? drawSendPsn() : done;
}

void QueuePairObject::noteFailure() {
  if (isLegal(state_, State::Error)) moved(State::Error, "by itself");
}

Status QueuePairObject::destroy() {
  if (Status legal = require(State::Destroyed); !legal) return legal;
  const Return code = device_->library().destroyQp(qp_);
  if (code != 0) return device_->failed("ibv_destroy_qp", "qp=" + hex(number_), code);
  qp_ = nullptr;
  moved(State::Destroyed, "");
  return Status::ok();
}

Status QueuePairObject::postReceives(uint64_t id, int count) {
  if (state_ == State::Reset || state_ == State::Destroyed) {
    return Status::invalid("net: " + describe() + ": cannot post receives");
  }
  for (int i = 0; i < count; ++i) {
    ReceiveRequest request{id, nullptr, nullptr, 0};
    ReceiveRequest* bad = nullptr;
    const int code = device_->context()->ops.postReceive(qp_, &request, &bad);
    if (code != 0) return device_->failed("ibv_post_recv", "qp=" + hex(number_), code);
  }
  return Status::ok();
}

Status QueuePairObject::postSends(SendRequest* requests) {
  if (state_ != State::ReadyToSend) return Status::invalid("net: " + describe() + ": cannot send");
  SendRequest* bad = nullptr;
  const int code = device_->context()->ops.postSend(qp_, requests, &bad);
  return code == 0 ? Status::ok() : device_->failed("ibv_post_send", "qp=" + hex(number_), code);
}

}  // namespace jccl::verbs
