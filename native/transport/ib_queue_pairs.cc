#include "transport/ib_queue_pairs.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/log.h"
#include "base/page.h"
#include "verbs/verbs_text.h"

namespace jccl {
namespace {

using verbs::QueuePairObject;

constexpr uint32_t kInlineBytes = 128;
constexpr uint32_t kPings = 1;
// A sender needs two requests for each message, a write and a write with immediate. A receiver needs two for each
// receive, a credit and a CTS. A ping needs one more. The number for messages is doubled, because requests that the
// other end has processed keep their places until this end reads their completions.
constexpr uint32_t kSendRequests = 4 * kNetInFlight + kPings + 1;
constexpr uint32_t kReceiveRequests = IbQueuePairs::kMaxCreditsAndCts + kPings + 1;
constexpr size_t kCompletionsAtOnce = 16;

}  // namespace

IbQueuePairs::IbQueuePairs(const NetConfig& config, verbs::Adapter& adapter, int peer)
    : config_(config), adapter_(adapter), peer_(peer) {}

IbQueuePairs::~IbQueuePairs() {
  if (events_ != nullptr) events_->remove(completions_->fd());
}

Status IbQueuePairs::open(DataSocket socket, EventSet& events) {
  control_ = std::make_unique<NetControlConnection>(std::move(socket), peer_, sizeof(verbs::ConnectionInfo));
  // The rings have pages of their own, which children that the application forks do not inherit (ibv_fork_init).
  memory_.reset(static_cast<uint8_t*>(std::aligned_alloc(pageBytes(), pageBytes())));
  if (memory_ == nullptr) return {Code::NoMemory, "net: no memory for the ring of a connection"};
  std::memset(memory_.get(), 0, pageBytes());
  static_assert(kFlushAt < kMinPageBytes);
  constexpr int kWrittenByTheOther = verbs::kAccessLocalWrite | verbs::kAccessRemoteWrite;
  Status registered =
      verbs::Region::make(adapter_.device(), memory_.get(), kRingBytes, kWrittenByTheOther, false, &ring_);
  if (!registered) return registered;
  registered = verbs::Region::make(adapter_.device(), memory_.get() + kRingBytes, kRingBytes, 0, false, &staged_);
  if (!registered) return registered;
  const auto count = static_cast<uint32_t>(config_.ib.queuePairs);
  const auto entries = static_cast<int>(count * (kSendRequests + kReceiveRequests) + kNetInFlight);
  if (Status made = verbs::Completions::make(adapter_.device(), entries, &completions_); !made) return made;
  inlineBytes_ = kInlineBytes;
  for (uint32_t i = 0; i < count; ++i) {
    std::unique_ptr<QueuePairObject> qp;
    const verbs::QueuePairShape shape = {kSendRequests, kReceiveRequests, kInlineBytes};
    if (Status made = QueuePairObject::make(adapter_.device(), *completions_, shape, &qp); !made) return made;
    if (Status initialised = qp->initialise(adapter_.path(), verbs::kAccessRemoteWrite); !initialised)
      return initialised;
    inlineBytes_ = std::min(inlineBytes_, qp->inlineBytes());
    qps_.push_back(std::move(qp));
  }
  return watch(events);
}

Status IbQueuePairs::watch(EventSet& events) {
  if (Status watched = control_->watch(events); !watched) return watched;
  if (events_ != nullptr) events_->remove(completions_->fd());
  events_ = nullptr;
  if (Status added = events.add(completions_->fd(), this); !added) return added;
  events_ = &events;
  notified_ = true;  // the previous event set may have consumed the notification
  return Status::ok();
}

verbs::ConnectionInfo IbQueuePairs::ownInfo() const {
  const verbs::Port& port = adapter_.port();
  verbs::ConnectionInfo info;
  info.linkLayer = port.attributes.linkLayer;
  info.mtu = static_cast<uint8_t>(port.attributes.activeMtu);
  info.port = port.number;
  info.split = config_.ib.splitData ? 1 : 0;
  info.lid = port.attributes.lid;
  info.queuePairs = static_cast<uint16_t>(qps_.size());
  info.gid = port.gid;
  info.ringAddress = reinterpret_cast<uintptr_t>(memory_.get());
  info.ringRkey = ring_->rkey();
  info.ringBytes = kRingBytes;
  port.label.copy(info.device.data(), info.device.size() - 1);
  for (size_t i = 0; i < qps_.size(); ++i) {
    info.qpNumbers[i] = qps_[i]->number();
    info.psns[i] = qps_[i]->sendPsn();
  }
  return info;
}

Status IbQueuePairs::sendInfo() { return control_->send(ownInfo()); }

Status IbQueuePairs::join() {
  remote_ = control_->info<verbs::ConnectionInfo>();
  const verbs::ConnectionInfo own = ownInfo();
  if (Status fits = verbs::checkConnectionInfo(own, remote_, kRingBytes); !fits) {
    return {fits.code(), "net: " + control_->describe() + ": " + fits.message()};
  }
  for (size_t i = 0; i < qps_.size(); ++i) {
    verbs::RemoteEnd end;
    end.qpNumber = remote_.qpNumbers[i];
    end.mtu = std::min(own.mtu, remote_.mtu);
    end.lid = remote_.linkLayer == verbs::LinkLayer::Ethernet ? 0 : remote_.lid;
    end.gid = remote_.gid;
    end.psn = remote_.psns[i];
    end.global = end.lid == 0 || own.gid.halves[0] != remote_.gid.halves[0];
    if (Status connected = qps_[i]->connect(end); !connected) return connected;
    if (Status started = qps_[i]->start(); !started) return started;
  }
  joined_ = true;
  logMessage(LogLevel::Info, "net", "ib: joined " + describe());
  return Status::ok();
}

std::string IbQueuePairs::describe() const {
  std::string text = control_->describe();
  if (!control_->hasInfo()) return text;
  const auto remote = control_->info<verbs::ConnectionInfo>();
  const verbs::Port& port = adapter_.port();
  text += " device=" + port.label + " gid=" + verbs::gidText(port.gid) +
          " gid_index=" + std::to_string(adapter_.path().gidIndex) + " lid=" + std::to_string(port.attributes.lid) +
          " remote_device=" + std::string(remote.device.data(), ::strnlen(remote.device.data(), remote.device.size())) +
          " remote_gid=" + verbs::gidText(remote.gid) +
          " mtu=" + std::to_string(verbs::mtuBytes(std::min<int>(port.attributes.activeMtu, remote.mtu))) + " qps=";
  for (size_t i = 0; i < qps_.size(); ++i) {
    if (i > 0) text += ',';
    text += std::to_string(qps_[i]->number()) + "-" + std::to_string(remote.qpNumbers[i]);
  }
  return text;
}

Status IbQueuePairs::postReceives(const IbWork& work, int count) {
  return qps_[work.qp]->postReceives(work.encode(), count);
}

// Makes the request for an RDMA write with immediate: of the first `bytes` of the staged entry, to the other end's
// ring.
verbs::SendRequest IbQueuePairs::entryRequest(const IbWork& work, uint32_t bytes, uint32_t immediate,
                                              verbs::ScatterGather* list) {
  const size_t at = entryAt(work.sequence, work.purpose == IbWork::ClearToSend);
  *list = {reinterpret_cast<uintptr_t>(memory_.get()) + kRingBytes + at, bytes, staged_->lkey()};
  verbs::SendRequest request{};
  request.id = work.encode();
  request.list = list;
  request.listLength = bytes > 0 ? 1 : 0;
  request.opcode = verbs::kWrRdmaWriteWithImm;
  request.flags = verbs::kSendSignaled | (bytes > 0 && bytes <= inlineBytes_ ? verbs::kSendInline : 0);
  request.immediate = htonl(immediate);
  request.rdma = {remote_.ringAddress + at, remote_.ringRkey};
  return request;
}

Status IbQueuePairs::writeNothing(const IbWork& work) { return writeStaged(work, 0, 0); }

Status IbQueuePairs::writeStaged(const IbWork& work, uint32_t bytes, uint32_t immediate) {
  verbs::ScatterGather list{};
  verbs::SendRequest request = entryRequest(work, bytes, immediate, &list);
  return qps_[work.qp]->postSends(&request);
}

Status IbQueuePairs::writeData(const IbWork& work, const void* data, uint32_t dataBytes, bool onDevice, uint32_t lkey,
                               uint64_t remoteAddress, uint32_t rkey, uint32_t entryBytes) {
  verbs::ScatterGather entryList{};
  verbs::SendRequest entry = entryRequest(work, entryBytes, dataBytes, &entryList);
  if (dataBytes == 0) return qps_[work.qp]->postSends(&entry);
  verbs::ScatterGather list{reinterpret_cast<uintptr_t>(data), dataBytes, lkey};
  verbs::SendRequest payload{};
  payload.id = work.encode();
  payload.next = &entry;
  payload.list = &list;
  payload.listLength = 1;
  payload.opcode = verbs::kWrRdmaWrite;
  payload.flags = dataBytes <= inlineBytes_ && !onDevice ? verbs::kSendInline : 0;
  payload.rdma = {remoteAddress, rkey};
  return qps_[work.qp]->postSends(&payload);
}

Status IbQueuePairs::openFlush() { return IbFlush::make(adapter_, *completions_, memory_.get() + kFlushAt, &flush_); }

Status IbQueuePairs::flush(uint64_t sequence, const void* data, uint32_t bytes, uint32_t rkey) {
  const IbWork work = {IbWork::Flush, 0, sequence};
  return flush_->begin(work.encode(), data, bytes, rkey);
}

void IbQueuePairs::silence() {
  for (const auto& qp : qps_) {
    if (QueuePairObject::isLegal(qp->state(), QueuePairObject::State::Error)) static_cast<void>(qp->fail());
  }
}

Status IbQueuePairs::failed(const verbs::WorkCompletion& completion) {
  const IbWork work = IbWork::decode(completion.id);
  QueuePairObject& qp = *qps_[work.qp];
  qp.noteFailure();
  const auto remote = control_->info<verbs::ConnectionInfo>();
  const verbs::EndText here = {adapter_.port().label, verbs::gidText(adapter_.port().gid), qp.number()};
  const verbs::EndText there = {
      std::string(remote.device.data(), ::strnlen(remote.device.data(), remote.device.size())),
      verbs::gidText(remote.gid), remote.qpNumbers[work.qp]};
  const char* what = work.purpose == IbWork::Ping      ? "the first ping over a new queue pair"
                     : work.purpose != IbWork::Message ? "a receive credit"
                                                       : "a message";
  return Status::transport(
      "net: " + control_->describe() + ": " + what + " failed: " +
      verbs::completionText(completion, here, there, adapter_.path().timeout, adapter_.path().retryCount));
}

Status IbQueuePairs::collect(Listener& listener, int* work) {
  std::array<verbs::WorkCompletion, kCompletionsAtOnce> got;
  for (;;) {
    size_t count = 0;
    if (Status polled = completions_->poll(got, &count); !polled) return polled;
    for (const verbs::WorkCompletion& completion : std::span(got).first(count)) {
      const IbWork done = IbWork::decode(completion.id);
      if (done.purpose == IbWork::Flush) {
        flush_->complete(done.sequence, completion);
        continue;
      }
      if (completion.status != verbs::kWcSuccess) return failed(completion);
      const bool received = (completion.opcode & 128) != 0;
      Status handled = received ? listener.onReceived(done, ntohl(completion.immediate)) : listener.onSent(done);
      if (!handled) return handled;
    }
    *work += static_cast<int>(count);
    if (count == got.size()) continue;
    if (count > 0 || (armed_ && !notified_)) return Status::ok();
    // There is no completion, so an event is requested. One more poll finds completions that came between the last poll
    // and the request.
    if (notified_) completions_->drainEvents();
    notified_ = false;
    if (Status requested = completions_->requestEvent(); !requested) return requested;
    armed_ = true;
  }
}

Status IbQueuePairs::progress(int64_t nowNanos, Listener& listener, int* work) {
  Status living = control_->progress(work);
  // Completions are processed before the end of the connection is reported: data that has arrived is delivered even if
  // the other end has just ended.
  if (Status collected = collect(listener, work); !collected) {
    if (living) {
      control_->onEvents(0);  // the FIN of the other end may have arrived since the last call
      living = control_->progress(work);
    }
    // the other end has sent its FIN, so it has lost nothing that it had accepted
    if (control_->ended() && living) return Status::ok();
    return living ? collected : Status::transport(living.message() + "; " + collected.message());
  }
  if (!living) return living;
  return control_->ended() ? Status::ok() : adapter_.health(nowNanos);
}

}  // namespace jccl
