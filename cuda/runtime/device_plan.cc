#include "cuda/runtime/device_plan.h"

#include <algorithm>
#include <new>
#include <utility>

namespace jccl::device {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kMaxPage = 64 * 1024;  // the largest page size of a host; an adapter's driver takes whole pages

constexpr LinkEnd kNoEnd = {nullptr, nullptr, nullptr, 0, 0, TransportKind::None, true, false};

size_t pages(size_t bytes, size_t page = kPage) { return (bytes + page - 1) / page * page; }

}  // namespace

DevicePlan::DevicePlan(int rank, int size, int channels, int openChannels, const ConnectionShape& shape)
    : rank_(rank),
      size_(size),
      channels_(channels),
      openChannels_(openChannels),
      shape_(shape),
      exchangeShape_(jccl::exchangeShape(shape, size)),
      rings_(channels),
      positions_(channels, 0),
      trees_(channels),
      links_(channels),
      staged_(size, false),
      throughHost_(size, false) {}

Status DevicePlan::setRing(int channel, const std::vector<int>& order) {
  if (Status status = checkRing(channel, order, size_, channels_); !status) return status;
  std::vector<int>& ring = rings_[channel];
  ring = order;
  std::rotate(ring.begin(), std::find(ring.begin(), ring.end(), rank_), ring.end());
  const auto zero = std::find(ring.begin(), ring.end(), 0) - ring.begin();
  positions_[channel] = (size_ - static_cast<int>(zero)) % size_;
  placed_.reset();
  return Status::ok();
}

Status DevicePlan::setTree(int channel, int up, const std::vector<int>& down) {
  if (Status status = checkTree(channel, up, down, rank_, size_, channels_, kMaxTreeLinks); !status) return status;
  trees_[channel] = {up, down, true};
  hasTrees_ = std::all_of(trees_.begin(), trees_.end(), [](const Tree& tree) { return tree.set; });
  placed_.reset();
  return Status::ok();
}

void DevicePlan::addLink(int channel, int peer) {
  links_[channel].push_back(peer);
  placed_.reset();
}

void DevicePlan::setStaged(int peer) {
  staged_[peer] = throughHost_[peer] = true;
  placed_.reset();
}

bool DevicePlan::complete() const {
  return std::none_of(rings_.begin(), rings_.end(), [](const auto& ring) { return ring.empty(); });
}

bool DevicePlan::uses(int peer, int channel) const {
  if (peer == rank_) return false;
  if (channel < openChannels_ && allowsDirect()) return true;
  const std::vector<int>& ring = rings_[channel];
  if (!ring.empty() && (ring[1 % size_] == peer || ring[size_ - 1] == peer)) return true;
  const std::vector<int>& links = links_[channel];
  return trees_[channel].links(peer) || std::find(links.begin(), links.end(), peer) != links.end();
}

size_t DevicePlan::bounceOffset() const { return allowsDirect() ? pages(descriptorOffset(channels_, size_, 0)) : 0; }

size_t DevicePlan::bytesBelow(int peer, int channel) const {
  size_t bytes = 0;
  for (int below = 0; below < channel; ++below) bytes += shapeOf(peer, below).blockBytes();
  return bytes;
}

const DevicePlan::Placement& DevicePlan::placed() const {
  if (placed_) return *placed_;
  Placement placement;
  placement.blocks.assign(static_cast<size_t>(size_), kNone);
  size_t next = bounceOffset() + (allowsDirect() ? channels_ * kBounceBytes : 0);
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_ || staged_[peer]) continue;
    placement.blocks[peer] = next;
    next += bytesBelow(peer, channels_);
  }
  placement.forwardedOffset = forwarded_ == 0 ? next : pages(next, kMaxPage);
  placement.segmentBytes = placement.forwardedOffset + pages(forwardedBytes(), kMaxPage);
  placed_ = std::move(placement);
  return *placed_;
}

void DevicePlan::setForwarded(int connections) {
  forwarded_ = connections;
  placed_.reset();
}

// Layout: the channels, then the ends of connections by channel, direction and peer, then the rings.
size_t DevicePlan::tableBytes() const {
  const size_t pairs = static_cast<size_t>(channels_) * size_;
  return pages(channels_ * sizeof(DeviceChannel)) + pages(2 * channels_ * endsOfChannel() * sizeof(LinkEnd)) +
         pages(pairs * sizeof(int32_t));
}

void DevicePlan::write(uint8_t* staging, uint8_t* memory, uint8_t* segment, const std::vector<PeerSegment>& peers,
                       ProgressRecord* records) const {
  const size_t linksAt = pages(channels_ * sizeof(DeviceChannel));
  const size_t ringsAt = linksAt + pages(2 * channels_ * endsOfChannel() * sizeof(LinkEnd));
  auto* links = reinterpret_cast<LinkEnd*>(staging + linksAt);
  auto* orders = reinterpret_cast<int32_t*>(staging + ringsAt);
  const auto stagedEnd = [&](uint8_t* block, uint8_t* slots, void* head, TransportKind transport, bool compact) {
    if (slots == nullptr) slots = block + (compact ? exchangeShape_ : shape_).simpleOffset();
    return LinkEnd{block, slots, static_cast<uint64_t*>(head), 0, 0, transport, false, compact};
  };
  for (int c = 0; c < channels_; ++c) {
    const size_t sends = 2 * static_cast<size_t>(c) * endsOfChannel(), recvs = sends + endsOfChannel();
    const StagedEnds extra = static_cast<size_t>(c) < extraEnds_.size() ? extraEnds_[c] : StagedEnds();
    links[sends + size_] = links[recvs + size_] = kNoEnd;
    if (extra.sendBlock != nullptr) {
      links[sends + size_] = stagedEnd(extra.sendBlock, nullptr, extra.sendHead, TransportKind::Plugin, false);
      links[recvs + size_] = stagedEnd(extra.recvBlock, nullptr, extra.recvHead, TransportKind::Plugin, false);
    }
    for (int peer = 0; peer < size_; ++peer) {
      links[sends + peer] = links[recvs + peer] = kNoEnd;
      if (peer == rank_) continue;
      const TransportKind transport = peers[peer].transport;
      if (!peers[peer].staged.empty()) {
        if (!stages(peer, c)) continue;
        const StagedEnds& ends = peers[peer].staged[c];
        const bool small = isStagedCompact(peer, c, transport);
        links[sends + peer] = stagedEnd(ends.sendBlock, ends.sendSlots, ends.sendHead, transport, small);
        links[recvs + peer] = stagedEnd(ends.recvBlock, ends.recvSlots, ends.recvHead, transport, small);
        continue;
      }
      const size_t below = bytesBelow(peer, c);
      uint8_t* ours = segment + blocksOf(peer) + below;
      uint8_t* theirs = peers[peer].base + peers[peer].blocks + below;
      const auto headOf = [&](uint8_t* block) { return reinterpret_cast<uint64_t*>(block + shape_.headOffset()); };
      const bool compact = !uses(peer, c);
      const size_t slotsAt = shapeOf(peer, c).simpleOffset();
      links[sends + peer] = {theirs, theirs + slotsAt, headOf(ours), 0, 0, transport, true, compact};
      links[recvs + peer] = {ours, ours + slotsAt, headOf(theirs), 0, 0, transport, true, compact};
    }
    std::copy(rings_[c].begin(), rings_[c].end(), orders + static_cast<size_t>(c) * size_);
    DeviceChannel channel{};
    channel.sends = reinterpret_cast<LinkEnd*>(memory + linksAt) + sends;
    channel.recvs = reinterpret_cast<LinkEnd*>(memory + linksAt) + recvs;
    channel.ringOrder = reinterpret_cast<int32_t*>(memory + ringsAt) + static_cast<size_t>(c) * size_;
    channel.ringPosition = positions_[c];
    channel.treeUp = trees_[c].up;
    for (const int child : trees_[c].down) channel.treeDown[channel.treeChildren++] = child;
    channel.record = records + c;
    new (staging + c * sizeof(DeviceChannel)) DeviceChannel(channel);
  }
}

}  // namespace jccl::device
