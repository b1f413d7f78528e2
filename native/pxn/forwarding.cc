#include "pxn/forwarding.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/clock.h"
#include "primitives/exchange_shape.h"
#include "transport/shm_client.h"

namespace jccl {
namespace {

constexpr uint64_t kMagic = 0x4457464c43434a;  // "JCCLFWD"
constexpr size_t kPage = 4096;
constexpr size_t kMaxWhy = 1024;
constexpr int64_t kCheckNanos = 100'000'000;  // time between two checks that the forwarders' processes still run

size_t pages(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

}  // namespace

struct ForwardingSegment::Header {
  uint64_t magic = kMagic;
  uint64_t connections = 0;
  alignas(64) StagingCounts counts;
  alignas(64) std::atomic<uint32_t> ended{0};  // set after `why` is written, with release order
  char why[kMaxWhy] = {};
};

size_t ForwardingSegment::bytes(const ConnectionShape& shape, size_t connections) {
  return pages(sizeof(Header) + connections * sizeof(Entry)) + connections * shape.blockBytes();
}

void ForwardingSegment::begin(const std::vector<ForwardedConnection>& connections) {
  new (base_) Header();
  header().connections = connections.size();
  for (size_t i = 0; i < connections.size(); ++i) {
    const ForwardedConnection& one = connections[i];
    new (&entry(i)) Entry{one.from, one.to, one.channel, Use::Offered, false};
  }
}

bool ForwardingSegment::isValid(size_t connections) const {
  return header().magic == kMagic && header().connections == connections;
}

ForwardingSegment::Header& ForwardingSegment::header() const { return *reinterpret_cast<Header*>(base_); }

ForwardingSegment::Entry& ForwardingSegment::entry(size_t i) const {
  return reinterpret_cast<Entry*>(base_ + sizeof(Header))[i];
}

ConnectionMemory ForwardingSegment::memory(size_t i) const {
  uint8_t* block = base_ + pages(sizeof(Header) + connections_ * sizeof(Entry)) + i * shape_.blockBytes();
  ConnectionMemory memory;
  memory.block = block;
  memory.head = reinterpret_cast<HeadLine*>(block + shape_.headOffset());
  memory.shape = entry(i).exchangeOnly ? exchangeShape(shape_, ranks_) : shape_;
  memory.maxExchangeBytes = memory.shape.simpleSlotBytes();
  return memory;
}

StagingCounts& ForwardingSegment::counts() const { return header().counts; }

void ForwardingSegment::end(const std::string& why) const {
  if (ended()) return;
  std::memcpy(header().why, why.data(), std::min(why.size(), kMaxWhy - 1));
  header().ended.store(1, std::memory_order_release);
}

bool ForwardingSegment::ended() const { return header().ended.load(std::memory_order_acquire) != 0; }

std::string ForwardingSegment::why() const { return {header().why, ::strnlen(header().why, kMaxWhy)}; }

Forwarder::Forwarder(const ConnectionShape& shape, int ranks, std::vector<ForwardedConnection> connections)
    : shape_(shape), ranks_(ranks), connections_(std::move(connections)), segment_(std::make_shared<ShmSegment>()) {}

Status Forwarder::create(const ConnectionShape& shape, int ranks, std::vector<ForwardedConnection> connections,
                         std::unique_ptr<Forwarder>* forwarder) {
  std::unique_ptr<Forwarder> made(new Forwarder(shape, ranks, std::move(connections)));
  const std::vector<ForwardedConnection>& all = made->connections_;
  const size_t bytes = ForwardingSegment::bytes(shape, all.size());
  Status created = ShmSegment::create("forwarding", bytes, ShmBacking::Auto, made->segment_.get());
  if (!created) return created;
  made->view().begin(all);
  for (size_t i = 0; i < all.size(); ++i) made->zeroCopySlots_.emplace_back(new ZeroCopySlot[kSlots]);
  *forwarder = std::move(made);
  return Status::ok();
}

ConnectionMemory Forwarder::memory(size_t i, uint8_t* slots) const {
  ConnectionMemory memory = view().memory(i);
  memory.deviceSlots = slots + i * shape_.simpleSlotsBytes();
  memory.zeroCopySlots = zeroCopySlots_[i].get();
  return memory;
}

Status ForwardedSends::take(int self, int forwarder, const ShmProcess& process, std::shared_ptr<ShmSegment> segment,
                            const ConnectionShape& shape, int ranks, size_t connections, uint8_t* slots,
                            const std::vector<Request>& requests) {
  const ForwardingSegment view(segment->address(), shape, ranks, connections);
  const auto wrong = [&](const Request& request) {
    return Status::transport(
        "forwarder rank=" + std::to_string(forwarder) + " connections=" + std::to_string(connections) +
        ": none of them is number " + std::to_string(request.index) + " to rank=" + std::to_string(request.peer) +
        " channel=" + std::to_string(request.channel) + "; do all ranks run the same build of JCCL?");
  };
  if (segment->bytes() < ForwardingSegment::bytes(shape, connections) || !view.isValid(connections)) return wrong({});
  for (const Request& request : requests) {
    if (request.index >= connections) return wrong(request);
    const ForwardingSegment::Entry& entry = view.entry(request.index);
    if (entry.from != self || entry.to != request.peer || entry.channel != request.channel) return wrong(request);
  }
  Through through{forwarder, process, std::move(segment), view, {}};
  for (const Request& request : requests) {
    view.entry(request.index).exchangeOnly = request.exchangeOnly;
    ConnectionMemory memory = view.memory(request.index);
    memory.deviceSlots = slots + request.index * shape.simpleSlotsBytes();
    memory_[{request.peer, request.channel}] = memory;
    through.taken.push_back(request.index);
    view.entry(request.index).use.store(ForwardingSegment::Use::Taken);
  }
  through_.push_back(std::move(through));
  return Status::ok();
}

const ConnectionMemory* ForwardedSends::find(int peer, int channel) const {
  const auto found = memory_.find({peer, channel});
  return found == memory_.end() ? nullptr : &found->second;
}

std::vector<std::shared_ptr<ShmSegment>> ForwardedSends::segments() const {
  std::vector<std::shared_ptr<ShmSegment>> segments;
  for (const Through& through : through_) segments.push_back(through.segment);
  return segments;
}

std::vector<StagingCounts*> ForwardedSends::counts() const {
  std::vector<StagingCounts*> counts;
  for (const Through& through : through_) counts.push_back(&through.view.counts());
  return counts;
}

bool ForwardedSends::broken() {
  const auto anyOf = [this](auto&& holds) { return std::any_of(through_.begin(), through_.end(), holds); };
  if (anyOf([](const Through& through) { return through.view.ended(); })) return true;
  const int64_t now = monotonicNanos();
  if (now - checkedNanos_ >= kCheckNanos) {
    checkedNanos_ = now;
    if (anyOf([](const Through& through) { return !isRunning(through.process); })) processEnded_.store(true);
  }
  return processEnded_.load();
}

std::string ForwardedSends::error() const {
  for (const Through& through : through_) {
    const std::string who = "rank=" + std::to_string(through.rank) + ", through whose GPU this rank sends (PXN), ";
    if (through.view.ended()) return who + through.view.why();
    if (processEnded_.load() && !isRunning(through.process)) {
      return who + "has ended: pid=" + std::to_string(through.process.pid);
    }
  }
  return "";
}

void ForwardedSends::release() {
  for (const Through& through : through_) {
    for (const size_t i : through.taken) through.view.entry(i).use.store(ForwardingSegment::Use::Released);
  }
}

}  // namespace jccl
