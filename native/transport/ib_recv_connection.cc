#include <algorithm>

#include "transport/ib_connection.h"

namespace jccl {

IbRecvConnection::IbRecvConnection(const NetConfig& config, int peer, verbs::Adapter& adapter, EventSet& dataEvents)
    : config_(config),
      dataEvents_(dataEvents),
      sharing_(static_cast<uint32_t>(config.ib.queuePairs), config.ib.splitData),
      endpoint_(config, adapter, peer) {}

Status IbRecvConnection::open(UniqueFd socket, EventSet& controlEvents) {
  return endpoint_.open(std::move(socket), controlEvents);
}

// Everything that the sender may need is there before it is told of the queue pairs.
Status IbRecvConnection::join() {
  if (Status joined = endpoint_.join(); !joined) return joined;
  for (uint8_t qp = 0; qp < endpoint_.queuePairs(); ++qp) {
    if (Status posted = endpoint_.postReceives({IbWork::Ping, qp, 0}); !posted) return posted;
  }
  return endpoint_.tellInfo();
}

Status IbRecvConnection::irecv(uint64_t sequence, std::span<const NetBuffer, kNetTags> byTag) {
  if (sequence != posted_ || posted_ - taken_ >= kNetInFlight) {
    return Status::internal("irecv: sequence=" + std::to_string(sequence) + " posted=" + std::to_string(posted_) +
                            " taken=" + std::to_string(taken_) + ": out of order or too far ahead");
  }
  Slot& next = slot(sequence);
  next = Slot{};
  std::copy(byTag.begin(), byTag.end(), next.byTag.begin());
  ++posted_;
  return Status::ok();
}

Status IbRecvConnection::announce(uint64_t sequence) {
  for (uint32_t part = 0; part < sharing_.parts(); ++part) {
    Status posted = endpoint_.postReceives({IbWork::Message, sharing_.qpOf(sequence, part), sequence});
    if (!posted) return posted;
  }
  auto* place = endpoint_.staged<IbReceiveSlot>(sequence);
  *place = IbReceiveSlot{};
  place->sequence = sequence;
  for (uint32_t tag = 0; tag < kNetTags; ++tag) {
    const NetBuffer& buffer = slot(sequence).byTag[tag];
    auto* memory = dynamic_cast<IbMemory*>(buffer.memory);
    if (memory == nullptr) return Status::internal("irecv: the memory is not registered");
    if (memory->onDevice() && !endpoint_.flushes()) {
      if (Status opened = endpoint_.openFlush(); !opened) return opened;
    }
    const verbs::Region* region = nullptr;
    if (Status registered = memory->with(endpoint_.adapter(), &region); !registered) return registered;
    place->address[tag] = reinterpret_cast<uintptr_t>(buffer.address);
    place->rkey[tag] = region->rkey();
    place->room[tag] = buffer.bytes;
  }
  const auto immediate = static_cast<uint32_t>(sequence & (kIbWishBit - 1));
  return endpoint_.writeStaged({IbWork::Slot, 0, sequence}, sizeof *place, immediate);
}

void IbRecvConnection::redirect(uint64_t sequence, const NetMessage& expected, const NetBuffer& buffer) {
  if (sequence < taken_ || sequence >= posted_) return;
  Slot& target = slot(sequence);
  if (target.wish != Slot::Wish::None || target.parts > 0) return;
  target.wish = Slot::Wish::Known;
  target.expected = expected;
  target.wished = buffer;
}

Status IbRecvConnection::tellWish(uint64_t sequence) {
  Slot& target = slot(sequence);
  target.wish = Slot::Wish::Told;
  auto* wish = endpoint_.staged<IbWish>(sequence);
  *wish = IbWish{};
  wish->sequence = sequence;
  if (auto* memory = dynamic_cast<IbMemory*>(target.wished.memory); memory != nullptr) {
    const verbs::Region* region = nullptr;
    if (Status registered = memory->with(endpoint_.adapter(), &region); !registered) return registered;
    wish->address = reinterpret_cast<uintptr_t>(target.wished.address);
    wish->rkey = region->rkey();
    wish->bytes = target.wished.bytes;
    wish->check = target.expected.check;
    wish->tag = target.expected.tag;
  }
  const auto immediate = static_cast<uint32_t>(sequence & (kIbWishBit - 1)) | kIbWishBit;
  return endpoint_.writeStaged({IbWork::Wish, 0, sequence}, sizeof *wish, immediate);
}

Status IbRecvConnection::flush(uint64_t sequence, const NetBuffer& data) {
  auto* memory = dynamic_cast<IbMemory*>(data.memory);
  if (memory == nullptr || !endpoint_.flushes()) return Status::internal("flush: no memory of a device");
  const verbs::Region* region = nullptr;
  if (Status registered = memory->with(endpoint_.adapter(), &region); !registered) return registered;
  return endpoint_.flush(sequence, data.address, data.bytes, region->rkey());
}

Status IbRecvConnection::flushed(uint64_t sequence, bool* done) {
  Status tested = endpoint_.flushed(sequence, done);
  return tested ? tested : Status(tested.code(), "net: " + describe() + ": " + tested.message());
}

Status IbRecvConnection::onReceived(const IbWork& work, uint32_t immediate) {
  if (work.purpose == IbWork::Ping) {
    ++pings_;
    return endpoint_.writeNothing({IbWork::Ping, work.qp, 0});
  }
  Slot& target = slot(work.sequence);
  ++target.parts;
  target.bytes += immediate;
  looksLeft_ = config_.eagerLooks;
  return Status::ok();
}

Status IbRecvConnection::progress(int64_t nowNanos, int* work) {
  if (looksLeft_ > 0) --looksLeft_;
  if (Status moved = endpoint_.progress(nowNanos, *this, work); !moved) return moved;
  if (!endpoint_.joined() && endpoint_.lifeline().hasInfo()) {
    if (Status joined = join(); !joined) return joined;
    ++*work;
  }
  if (pings_ < endpoint_.queuePairs() || endpoint_.lifeline().ended()) return Status::ok();
  if (announced_ == 0 && posted_ > 0) {
    if (Status watched = endpoint_.watch(dataEvents_); !watched) return watched;
  }
  while (announced_ < posted_) {
    if (Status announced = announce(announced_); !announced) return announced;
    ++announced_;
    ++*work;
  }
  for (uint64_t sequence = taken_; sequence < announced_; ++sequence) {
    if (slot(sequence).wish != Slot::Wish::Known || slot(sequence).parts > 0) continue;
    if (Status told = tellWish(sequence); !told) return told;
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
  if (sequence != taken_ || sequence >= posted_) {
    return Status::internal("test: sequence=" + std::to_string(sequence) + " posted=" + std::to_string(posted_) +
                            " taken=" + std::to_string(taken_) + ": out of order");
  }
  const Slot& tested = slot(sequence);
  *done = tested.parts == sharing_.parts();
  if (!*done) return Status::ok();
  const auto header = endpoint_.received<IbMessageHeader>(sequence);
  if (header.sequence != sequence) return badHeader(header, "expected_sequence=" + std::to_string(sequence));
  if (header.tag >= kNetTags) return badHeader(header, "its protocol is unknown");
  const NetMessage message = {header.tag, header.check, header.bytes};
  const bool asWished = header.asWished != 0;
  if (asWished && (tested.wish != Slot::Wish::Told || tested.expected != message)) {
    return badHeader(header, "it is where nobody wished it");
  }
  const NetBuffer& buffer = asWished ? tested.wished : tested.byTag[header.tag];
  if (header.bytes > buffer.bytes) return badHeader(header, "room_bytes=" + std::to_string(buffer.bytes));
  if (header.bytes != tested.bytes) return badHeader(header, "written_bytes=" + std::to_string(tested.bytes));
  *arrival = {message, buffer.address};
  ++taken_;
  return Status::ok();
}

}  // namespace jccl
