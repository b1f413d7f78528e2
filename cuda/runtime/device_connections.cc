// Allocates a rank's memory on a GPU, describes it to the peers, and connects to theirs.
#include "cuda/runtime/device_connections.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "cuda/runtime/retired_memory.h"
#include "engine/plan_arguments.h"

namespace jccl::device {
namespace {

constexpr uint64_t kMagic = 0x4a43434c44455631;  // "JCCLDEV1"

// Returns a number that differs in every process on every host.
const uint64_t* processIdentity() {
  static const auto identity = [] {
    std::array<uint64_t, 2> words{};
    if (::getrandom(words.data(), sizeof words, 0) != static_cast<ssize_t>(sizeof words)) {
      throw std::system_error(errno, std::generic_category(), "no random numbers for the identity of this process");
    }
    return words;
  }();
  return identity.data();
}

Status differs(int peer, const char* name, uint64_t found, uint64_t expected) {
  return Status::transport("device segment of rank=" + std::to_string(peer) + " has " + name + "=" +
                           std::to_string(found) + ", expected " + std::to_string(expected) +
                           "; all ranks must run the same library with the same JCCL_*BUFFSIZE settings");
}

}  // namespace

DeviceConnections::DeviceConnections(const DeviceCommunicatorConfig& config)
    : config_(config),
      shape_(config.simpleSlotBytes, config.llSlotBytes, config.ll128SlotBytes),
      descriptors_(config.descriptors),
      handles_(config.handles),
      plan_(config.rank, config.size, config.channels,
            std::min(config.channels, config.size <= kMaxDirectRanks ? DevicePlan::kOpenChannels : 1), shape_),
      peers_(config.size) {}

// The message by which each rank describes its segment to its peers. A PeerBlocks for each peer that has blocks in the
// segment follows it.
struct DeviceConnections::Introduction {
  uint64_t magic;
  uint64_t base;  // address of the segment in the sender's process
  uint64_t process[2];
  uint8_t uuid[16];
  int32_t device;
  int32_t rank, size, channels;
  uint32_t slotBytes[3];
  int32_t capability;
  MemoryHandle handle;  // legacy handle, if there is no descriptor
  uint64_t token[2];
  uint64_t segmentBytes;
  uint64_t descriptorBytes;  // bytes that a peer maps by the descriptor; 0: the segment has no descriptor
  // Offset of the slots that the sender forwards for others. These slots extend to the end of the segment; if there are
  // none, the offset is segmentBytes.
  uint64_t forwardedOffset;
};

struct DeviceConnections::PeerBlocks {
  int64_t peer;
  uint64_t offset;  // of the first block, in the segment
};

// If the driver cannot share memory between processes, threads of this process still reach the segment.
Status DeviceConnections::makeSegment() {
  handle_.offset = DevicePlan::kNone;
  if (descriptors_) {
    Status status = DeviceSegment::behindDescriptor(plan_.segmentBytes(), *segment_, descriptor_);
    if (status) return status;
    noDescriptor_ = status.message();
    handles_ = true;
  }
  const bool forAdapters = plan_.forwarded() != 0 && !servesAdapters();
  Status status = DeviceSegment::onHeap(plan_.segmentBytes(), handles_ || forAdapters, *segment_);
  if (!status || !handles_) return status;
  const Status exported = exportMemory(segment_->base(), handle_);
  if (!exported) handle_.offset = DevicePlan::kNone;
  noHandle_ = exported.message();
  return status;
}

std::string DeviceConnections::handleExchange() const {
  if (segment_->hasDescriptor()) return "file descriptor (cuMemCreate)";
  const std::string because = noDescriptor_.empty() ? "" : "; no file descriptor: " + noDescriptor_;
  return (noHandle_.empty() ? "CUDA IPC handle" : "none: " + noHandle_) + because;
}

void DeviceConnections::renounceDescriptors(const std::string& why) {
  const DeviceGuard guard(config_.device);
  descriptors_ = false;
  handles_ = true;
  noDescriptor_ = why;
  refusedDescriptor_ = false;
  descriptor_.reset();
  peers_.assign(peers_.size(), {});
  RetiredMemory& retired = RetiredMemory::ofThisProcess();
  retired.retire(config_.device, {config_.device}, std::move(opened_));
  DeviceNumbers users = segment_->users();
  retired.retire(config_.device, std::move(users), std::exchange(segment_, std::make_shared<DeviceSegment>()));
  opened_.clear();
  retired.collect();
  allInProcess_ = true;
  anyInProcess_ = false;
}

Status DeviceConnections::connectInfo(Stream stream, std::vector<uint8_t>& info) {
  const DeviceGuard guard(config_.device);
  if (!guard.status()) return guard.status();
  if (!plan_.complete()) {
    return Status::invalid("a channel has no ring; call setRing for every channel first");
  }
  DeviceProperties properties;
  Status status = describeDevice(config_.device, properties);
  if (status) status = makeSegment();
  // The memory is zeroed before any peer can write into it: the first legal flag is 1.
  if (status) status = fillAsync(segment_->base(), 0, plan_.segmentBytes(), stream);
  if (status) status = synchronize(stream);
  if (!status) return status;
  Introduction own{};
  own.magic = kMagic;
  own.base = reinterpret_cast<uint64_t>(segment_->base());
  std::memcpy(own.process, processIdentity(), sizeof own.process);
  std::memcpy(own.uuid, properties.uuid, sizeof own.uuid);
  own.device = config_.device;
  own.rank = config_.rank;
  own.size = config_.size;
  own.channels = config_.channels;
  own.slotBytes[0] = shape_.simpleSlotBytes();
  own.slotBytes[1] = shape_.llSlotBytes();
  own.slotBytes[2] = shape_.ll128SlotBytes();
  own.capability = properties.capability;
  own.token[0] = config_.token[0];
  own.token[1] = config_.token[1];
  own.segmentBytes = plan_.segmentBytes();
  own.handle = handle_;
  own.forwardedOffset = plan_.forwardedOffset();
  own.descriptorBytes = segment_->hasDescriptor() ? segment_->bytes() : 0;
  std::vector<PeerBlocks> blocks;
  for (int peer = 0; peer < config_.size; ++peer) {
    if (const uint64_t offset = plan_.blocksOf(peer); offset != DevicePlan::kNone) blocks.push_back({peer, offset});
  }
  info.resize(sizeof own + blocks.size() * sizeof(PeerBlocks));
  std::memcpy(info.data(), &own, sizeof own);
  if (!blocks.empty()) std::memcpy(info.data() + sizeof own, blocks.data(), blocks.size() * sizeof(PeerBlocks));
  return Status::ok();
}

Status DeviceConnections::describePeer(int peer, std::span<const uint8_t> info, int descriptor,
                                       DevicePlan::PeerSegment& segment) {
  Introduction theirs{};
  const size_t maxBytes = sizeof theirs + static_cast<size_t>(config_.size) * sizeof(PeerBlocks);
  if (info.size() < sizeof theirs || info.size() > maxBytes ||
      (info.size() - sizeof theirs) % sizeof(PeerBlocks) != 0) {
    return differs(peer, "infoBytes", info.size(), maxBytes);
  }
  std::memcpy(&theirs, info.data(), sizeof theirs);
  if (theirs.magic != kMagic) return differs(peer, "magic", theirs.magic, kMagic);
  if (theirs.rank != peer) return differs(peer, "rank", theirs.rank, peer);
  if (theirs.size != config_.size) return differs(peer, "size", theirs.size, config_.size);
  if (theirs.channels != config_.channels) return differs(peer, "channels", theirs.channels, config_.channels);
  const uint32_t slots[] = {shape_.simpleSlotBytes(), shape_.llSlotBytes(), shape_.ll128SlotBytes()};
  for (int i = 0; i < 3; ++i) {
    if (theirs.slotBytes[i] != slots[i]) return differs(peer, "slotBytes", theirs.slotBytes[i], slots[i]);
  }
  if (std::memcmp(theirs.token, config_.token, sizeof theirs.token) != 0) {
    return differs(peer, "token", theirs.token[0], config_.token[0]);
  }
  segment.blocks = DevicePlan::kNone;
  for (size_t at = sizeof theirs; at < info.size(); at += sizeof(PeerBlocks)) {
    PeerBlocks blocks{};
    std::memcpy(&blocks, info.data() + at, sizeof blocks);
    if (blocks.peer == config_.rank) segment.blocks = blocks.offset;
  }
  const size_t needed = plan_.bytesBelow(peer, config_.channels);
  if (segment.blocks != DevicePlan::kNone &&
      (needed > theirs.segmentBytes || segment.blocks > theirs.segmentBytes - needed)) {
    return differs(peer, "blocksOffset", segment.blocks, theirs.segmentBytes - std::min(needed, theirs.segmentBytes));
  }
  if (theirs.forwardedOffset > theirs.segmentBytes) {
    return differs(peer, "forwardedOffset", theirs.forwardedOffset, theirs.segmentBytes);
  }
  segment.forwardedOffset = theirs.forwardedOffset < theirs.segmentBytes ? theirs.forwardedOffset : DevicePlan::kNone;
  segment.transport = TransportKind::P2p;
  if (std::memcmp(theirs.process, processIdentity(), sizeof theirs.process) == 0) {
    bool reaches = false;
    if (Status status = canReach(config_.device, theirs.device, reaches); !status) return status;
    if (!reaches) {
      return Status::transport("device=" + std::to_string(config_.device) +
                               " peerDevice=" + std::to_string(theirs.device) + " of rank=" + std::to_string(peer) +
                               ": cannot reach each other's memory; give the ranks GPUs that can, or host buffers");
    }
    // The peer gives this device access to its own segment in the same way.
    if (Status status = segment_->giveAccess(theirs.device); !status) return status;
    segment.base = reinterpret_cast<uint8_t*>(theirs.base);
    segment.inProcess = anyInProcess_ = true;
    return reach_.add(theirs.device);
  }
  allInProcess_ = false;
  return openPeer(peer, theirs, descriptor, segment);
}

// Opens the memory of a peer in another process.
Status DeviceConnections::openPeer(int peer, const Introduction& theirs, int descriptor,
                                   DevicePlan::PeerSegment& segment) {
  const std::string rank = "rank=" + std::to_string(peer);
  PeerMemory memory;
  if (theirs.descriptorBytes != 0) {
    if (theirs.descriptorBytes < theirs.segmentBytes) {
      return differs(peer, "descriptorBytes", theirs.descriptorBytes, theirs.segmentBytes);
    }
    const Status mapped = descriptor < 0 ? Status::transport("it was not received")
                                         : PeerMemory::map(descriptor, theirs.descriptorBytes, memory);
    refusedDescriptor_ = !mapped;
    if (!mapped) return Status::transport(rank + ": the descriptor of its device memory: " + mapped.message());
  } else if (theirs.handle.offset == DevicePlan::kNone) {
    return Status::transport(rank +
                             ": its driver cannot share device memory with other processes (CUDA IPC); run the ranks "
                             "as threads of one process, or use host buffers");
  } else if (Status status = PeerMemory::open(theirs.handle, memory); !status) {
    return Status::transport(rank + ": its device memory cannot be opened: " + status.message() +
                             "; run the ranks on one host with GPUs that reach each other");
  }
  segment.base = memory.base();
  opened_.push_back(std::move(memory));
  return Status::ok();
}

Status DeviceConnections::connect(int peer, std::span<const uint8_t> info, int descriptor) {
  const UniqueFd owned(descriptor);
  if (Status status = checkPeer(peer, config_.rank, config_.size); !status) return status;
  const DeviceGuard guard(config_.device);
  if (!guard.status()) return guard.status();
  refusedDescriptor_ = false;
  disconnect(peer);
  return describePeer(peer, info, owned.get(), peers_[peer]);
}

// Forgets an earlier connection to the peer, which has another segment now.
void DeviceConnections::disconnect(int peer) {
  uint8_t* const base = std::exchange(peers_[peer], {}).base;
  const auto opened = std::find_if(opened_.begin(), opened_.end(),
                                   [&](const PeerMemory& memory) { return base != nullptr && memory.base() == base; });
  if (opened == opened_.end()) return;
  RetiredMemory& retired = RetiredMemory::ofThisProcess();
  retired.retire(config_.device, {config_.device}, std::move(*opened));
  opened_.erase(opened);
  retired.collect();
}

Status DeviceConnections::findForProbe(const std::vector<int>& peers, std::vector<PeerProbe::Peer>& found) const {
  for (const int peer : peers) {
    if (Status status = checkPeer(peer, config_.rank, config_.size); !status) return status;
    const DevicePlan::PeerSegment& segment = peers_[peer];
    const uint64_t ours = plan_.blocksOf(peer);
    const uint64_t theirs = segment.base == nullptr ? DevicePlan::kNone : segment.blocks;
    if (ours == DevicePlan::kNone || theirs == DevicePlan::kNone) {
      return Status::invalid("peer=" + std::to_string(peer) + ": cannot be probed, expected one that is connected");
    }
    // The slots of the pair's first channel. Their headers contain flags, so the last step zeroes them.
    const size_t slots = plan_.shapeOf(peer, 0).simpleOffset();
    found.push_back({peer, segment_->base() + ours + slots, segment.base + theirs + slots});
  }
  return Status::ok();
}

Status DeviceConnections::setStaged(int peer) {
  if (Status status = checkPeer(peer, config_.rank, config_.size); !status) return status;
  plan_.setStaged(peer);
  return Status::ok();
}

std::vector<int> DeviceConnections::stagedChannels(int peer) const {
  std::vector<int> channels;
  for (int channel = 0; channel < config_.channels; ++channel) {
    if (plan_.stages(peer, channel)) channels.push_back(channel);
  }
  return channels;
}

std::vector<int> DeviceConnections::exchangeOnlyChannels(int peer) const {
  std::vector<int> channels = stagedChannels(peer);
  std::erase_if(channels, [&](int channel) { return plan_.uses(peer, channel); });
  return channels;
}

Status DeviceConnections::makeDeviceSlots(int connections, std::shared_ptr<AdapterMemory>& slots) {
  if (connections < 1 || adapterMemory_ != nullptr) {
    return Status::invalid("connections=" + std::to_string(connections) + ", expected at least 1, and once");
  }
  const DeviceGuard guard(config_.device);
  if (!guard.status()) return guard.status();
  const Status made = AdapterMemory::make(static_cast<size_t>(connections) * shape_.simpleSlotsBytes(), adapterMemory_);
  slots = adapterMemory_;
  return made;
}

Status DeviceConnections::forwardedSlots(std::shared_ptr<AdapterMemory>& slots) {
  if (plan_.forwarded() == 0 || segment_->base() == nullptr) {
    return Status::invalid("forwarded=" + std::to_string(plan_.forwarded()) +
                           ", expected at least 1 connection, and connectInfo before");
  }
  const DeviceGuard guard(config_.device);
  if (!guard.status()) return guard.status();
  slots = AdapterMemory::in(segment_, config_.device, plan_.forwardedOffset(),
                            plan_.segmentBytes() - plan_.forwardedOffset());
  return Status::ok();
}

Status DeviceConnections::connectStaged(int peer, TransportKind transport, const std::vector<StagedEnds>& ends,
                                        std::shared_ptr<const void> memory) {
  const std::vector<int> channels = stagedChannels(peer);
  if (ends.size() != channels.size()) {
    return Status::invalid("peer=" + std::to_string(peer) + " ends=" + std::to_string(ends.size()) +
                           ", expected those of its " + std::to_string(channels.size()) + " channels");
  }
  const DeviceGuard guard(config_.device);
  if (!guard.status()) return guard.status();
  DevicePlan::PeerSegment& segment = peers_[peer];
  segment.transport = transport;
  segment.staged.assign(config_.channels, {});
  plan_.setThroughHost(peer);
  staged_.mapping = std::move(memory);
  for (size_t i = 0; i < ends.size(); ++i) {
    const bool compact = plan_.isStagedCompact(peer, channels[i], transport);
    const size_t bytes = (compact ? plan_.exchangeShape() : shape_).blockBytes();
    if (Status status = staged_.add(ends[i], bytes); !status) return status;
    segment.staged[channels[i]] = ends[i];
  }
  return Status::ok();
}

Status DeviceConnections::prepare(Stream stream, ProgressRecord* records) {
  for (int peer = 0; peer < config_.size; ++peer) {
    if (peer == config_.rank || !peers_[peer].staged.empty()) continue;
    const bool known = peers_[peer].base != nullptr && peers_[peer].blocks != DevicePlan::kNone;
    if (!known) {
      return Status::invalid("peer=" + std::to_string(peer) +
                             " is not connected, or has another plan; call connect for it first");
    }
  }
  HeapMemory staging;
  Status status = reach_.add(config_.device);
  if (status) status = HeapMemory::pinned(plan_.tableBytes(), staging);
  if (status) status = HeapMemory::device(plan_.tableBytes(), tables_);
  if (!status) return status;
  plan_.write(staging.base(), tables_.base(), segment_->base(), peers_, records);
  status = copyAsync(tables_.base(), staging.base(), plan_.tableBytes(), stream);
  return status ? synchronize(stream) : status;
}

uint8_t* DeviceConnections::forwardedSlotsOf(int peer) const {
  const DevicePlan::PeerSegment& segment = peers_[peer];
  return segment.base == nullptr || segment.forwardedOffset == DevicePlan::kNone
             ? nullptr
             : segment.base + segment.forwardedOffset;
}

bool DeviceConnections::anyStaged() const {
  return std::any_of(peers_.begin(), peers_.end(), [](const auto& peer) { return !peer.staged.empty(); });
}

size_t DeviceConnections::deviceBytes() const {
  return segment_->bytes() + tables_.bytes() + (adapterMemory_ == nullptr ? 0 : adapterMemory_->bytes());
}

void DeviceConnections::leak() {
  tables_.leak();
  staged_.leak();
  for (PeerMemory& memory : opened_) memory.leak();
  if (adapterMemory_ != nullptr) adapterMemory_->leak();
}

void DeviceConnections::retire() {
  RetiredMemory& retired = RetiredMemory::ofThisProcess();
  retired.retire(config_.device, {config_.device}, std::move(opened_));
  retired.retire(config_.device, allDevices(), std::move(staged_));
}

}  // namespace jccl::device
