#include <algorithm>

#include "transport/ib_connection.h"

namespace jccl {

IbRecvConnection::IbRecvConnection(const NetConfig& config, int peer, verbs::Adapter& adapter, EventSet& dataEvents)
    : config_(config),
      dataEvents_(dataEvents),
      sharing_(static_cast<uint32_t>(config.ib.queuePairs), config.ib.splitData),
      queuePairs_(config, adapter, peer) {}

Status IbRecvConnection::open(DataSocket socket, EventSet& controlEvents) {
  return queuePairs_.open(std::move(socket), controlEvents);
}

// The info is sent last, so that everything that the sender may need is ready before the sender learns of the queue
// pairs.
Status IbRecvConnection::join() {
  if (Status joined = queuePairs_.join(); !joined) return joined;
  for (uint8_t qp = 0; qp < queuePairs_.count(); ++qp) {
    if (Status posted = queuePairs_.postReceives({IbWork::Ping, qp, 0}); !posted) return posted;
  }
  return queuePairs_.sendInfo();
}

Status IbRecvConnection::irecv(uint64_t sequence, std::span<const NetBuffer, kNetTags> byTag) {
  if (!window_.mayPost(sequence)) return window_.outOfOrder("irecv", sequence);
  Slot& next = window_.post();
  next = Slot{};
  std::copy(byTag.begin(), byTag.end(), next.byTag.begin());
  return Status::ok();
}

Status IbRecvConnection::sendCredit(uint64_t sequence) {
  for (uint32_t part = 0; part < sharing_.parts(); ++part) {
    Status posted = queuePairs_.postReceives({IbWork::Message, sharing_.qpOf(sequence, part), sequence});
    if (!posted) return posted;
  }
  auto* credit = queuePairs_.staged<IbReceiveCredit>(sequence);
  *credit = IbReceiveCredit{};
  credit->sequence = sequence;
  for (uint32_t tag = 0; tag < kNetTags; ++tag) {
    const NetBuffer& buffer = window_[sequence].byTag[tag];
    auto* memory = dynamic_cast<IbMemory*>(buffer.memory);
    if (memory == nullptr) return Status::internal("irecv: the memory is not registered");
    if (memory->onDevice() && !queuePairs_.flushes()) {
      if (Status opened = queuePairs_.openFlush(); !opened) return opened;
    }
    const verbs::Region* region = nullptr;
    if (Status registered = memory->with(queuePairs_.adapter(), &region); !registered) return registered;
    credit->address[tag] = reinterpret_cast<uintptr_t>(buffer.address);
    credit->rkey[tag] = region->rkey();
    credit->capacity[tag] = buffer.bytes;
  }
  const auto immediate = static_cast<uint32_t>(sequence & (kIbCtsBit - 1));
  return queuePairs_.writeStaged({IbWork::Credit, 0, sequence}, sizeof *credit, immediate);
}

void IbRecvConnection::redirect(uint64_t sequence, const NetMessage& expected, const NetBuffer& buffer) {
  if (!window_.holds(sequence)) return;
  Slot& target = window_[sequence];
  if (target.cts != Slot::Cts::None || target.parts > 0) return;
  target.cts = Slot::Cts::Known;
  target.expected = expected;
  target.postedBuffer = buffer;
}

Status IbRecvConnection::sendCts(uint64_t sequence) {
  Slot& target = window_[sequence];
  target.cts = Slot::Cts::Sent;
  auto* cts = queuePairs_.staged<IbClearToSend>(sequence);
  *cts = IbClearToSend{};
  cts->sequence = sequence;
  if (auto* memory = dynamic_cast<IbMemory*>(target.postedBuffer.memory); memory != nullptr) {
    const verbs::Region* region = nullptr;
    if (Status registered = memory->with(queuePairs_.adapter(), &region); !registered) return registered;
    cts->address = reinterpret_cast<uintptr_t>(target.postedBuffer.address);
    cts->rkey = region->rkey();
    cts->bytes = target.postedBuffer.bytes;
    cts->check = target.expected.check;
    cts->tag = target.expected.tag;
  }
  const auto immediate = static_cast<uint32_t>(sequence & (kIbCtsBit - 1)) | kIbCtsBit;
  return queuePairs_.writeStaged({IbWork::ClearToSend, 0, sequence}, sizeof *cts, immediate);
}

Status IbRecvConnection::flush(uint64_t sequence, const NetBuffer& data) {
  auto* memory = dynamic_cast<IbMemory*>(data.memory);
  if (memory == nullptr || !queuePairs_.flushes()) return Status::internal("flush: no memory of a device");
  const verbs::Region* region = nullptr;
  if (Status registered = memory->with(queuePairs_.adapter(), &region); !registered) return registered;
  return queuePairs_.flush(sequence, data.address, data.bytes, region->rkey());
}

Status IbRecvConnection::flushed(uint64_t sequence, bool* done) {
  Status tested = queuePairs_.flushed(sequence, done);
  return tested ? tested : Status(tested.code(), "net: " + describe() + ": " + tested.message());
}

Status IbRecvConnection::expose(NetMemory& memory, uint32_t* key) {
  auto* own = dynamic_cast<IbMemory*>(&memory);
  if (own == nullptr) return Status::internal("expose: memory of another network");
  const verbs::Region* region = nullptr;
  if (Status registered = own->with(queuePairs_.adapter(), &region); !registered) return registered;
  *key = region->rkey();
  return Status::ok();
}

Status IbRecvConnection::onReceived(const IbWork& work, uint32_t immediate) {
  if (work.purpose == IbWork::Ping) {
    ++pings_;
    return queuePairs_.writeNothing({IbWork::Ping, work.qp, 0});
  }
  Slot& target = window_[work.sequence];
  ++target.parts;
  target.bytes += immediate;
  pollsLeft_ = config_.pollsAfterData;
  return Status::ok();
}

Status IbRecvConnection::progress(int64_t nowNanos, int* work) {
  if (pollsLeft_ > 0) --pollsLeft_;
  if (Status moved = queuePairs_.progress(nowNanos, *this, work); !moved) return moved;
  if (!queuePairs_.joined() && queuePairs_.control().hasInfo()) {
    if (Status joined = join(); !joined) return joined;
    ++*work;
  }
  if (pings_ < queuePairs_.count() || queuePairs_.control().ended()) return Status::ok();
  if (credited_ == 0 && window_.posted() > 0) {
    if (Status watched = queuePairs_.watch(dataEvents_); !watched) return watched;
  }
  while (credited_ < window_.posted()) {
    if (Status sent = sendCredit(credited_); !sent) return sent;
    ++credited_;
    ++*work;
  }
  for (uint64_t sequence = window_.done(); sequence < credited_; ++sequence) {
    if (window_[sequence].cts != Slot::Cts::Known || window_[sequence].parts > 0) continue;
    if (Status sent = sendCts(sequence); !sent) return sent;
    ++*work;
  }
  return Status::ok();
}

Status IbRecvConnection::badHeader(const IbMessageHeader& header, const std::string& why) const {
  return Status::transport("net: " + describe() +
                           " sent a message that does not fit: sequence=" + std::to_string(header.sequence) +
                           " tag=" + std::to_string(header.tag) + " bytes=" + std::to_string(header.bytes) + ": " +
                           why + "; do all ranks have the same version and JCCL_* settings?");
}

Status IbRecvConnection::test(uint64_t sequence, bool* done, NetArrival* arrival) {
  if (!window_.isFirst(sequence)) return window_.outOfOrder("test", sequence);
  const Slot& tested = window_[sequence];
  *done = tested.parts == sharing_.parts();
  if (!*done) return Status::ok();
  const auto header = queuePairs_.received<IbMessageHeader>(sequence);
  if (header.sequence != sequence) return badHeader(header, "expected_sequence=" + std::to_string(sequence));
  if (header.tag >= kNetTags) return badHeader(header, "its protocol is unknown");
  const NetMessage message = {header.tag, header.check, header.bytes};
  if (header.place == IbMessageHeader::Exposed) {
    if (header.bytes != tested.bytes) return badHeader(header, "written_bytes=" + std::to_string(tested.bytes));
    *arrival = {message, nullptr};
    window_.finish();
    return Status::ok();
  }
  const bool atCtsAddress = header.place == IbMessageHeader::AtCtsAddress;
  if (atCtsAddress && (tested.cts != Slot::Cts::Sent || tested.expected != message)) {
    return badHeader(header, "it is at an address that was not posted");
  }
  const NetBuffer& buffer = atCtsAddress ? tested.postedBuffer : tested.byTag[header.tag];
  if (header.bytes > buffer.bytes) return badHeader(header, "capacity_bytes=" + std::to_string(buffer.bytes));
  if (header.bytes != tested.bytes) return badHeader(header, "written_bytes=" + std::to_string(tested.bytes));
  *arrival = {message, buffer.address};
  window_.finish();
  return Status::ok();
}

}  // namespace jccl
