#include "cuda/runtime/registered_buffers.h"

#include <cstring>
#include <iterator>
#include <string>

#include "cuda/runtime/driver_values.h"

namespace jccl::device {
namespace {

using Attribute = driver::PointerAttribute;

constexpr uint64_t kMagic = 0x4a43434c42554631;  // "JCCLBUF1"

Status refused(const MemoryRange& memory, const std::string& why) {
  return Status::invalid(
      describe(memory) + ": " + why +
      "; expected memory of this rank's GPU of one cudaMalloc (cuMemAlloc), or of one cuMemCreate with "
      "CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR: allocate it so");
}

Status differs(int peer, const char* name, uint64_t found, uint64_t expected) {
  return Status::transport("buffer of rank=" + std::to_string(peer) + " has " + name + "=" + std::to_string(found) +
                           ", expected " + std::to_string(expected) + "; all ranks must run the same library");
}

}  // namespace

// Sent by a rank to its peers.
struct RegisteredBuffers::Introduction {
  uint64_t magic;
  int32_t rank;
  int32_t byDescriptor;
  uint64_t address, bytes;  // in the sender's process
  uint64_t allocation;      // number that the sender's driver gave the allocation
  uint64_t allocationBytes;
  uint64_t offset;
  MemoryHandle handle;
};

Status RegisteredBuffers::describe(const MemoryRange& memory, int device, std::vector<uint8_t>& info,
                                   UniqueFd& descriptor) {
  next_ = {};
  descriptor.reset();
  unsigned type = 0, managed = 0;
  int ordinal = -1, plain = 0;
  driver::Address begin = 0;
  Introduction own{};
  if (memory.bytes == 0) return refused(memory, "is empty");
  if (!ask(Attribute::MemoryType, memory.begin, type)) return refused(memory, "the driver knows no memory there");
  (void)ask(Attribute::IsManaged, memory.begin, managed);
  if (type != driver::kMemoryOfDevice || managed != 0) {
    return refused(memory, managed != 0 ? "is managed memory, which moves" : "is memory of the host");
  }
  if (ask(Attribute::DeviceOrdinal, memory.begin, ordinal) && ordinal != device) {
    return refused(memory, "is memory of device=" + std::to_string(ordinal) +
                               ", that of this rank is device=" + std::to_string(device));
  }
  if (!ask(Attribute::BufferId, memory.begin, own.allocation) || !ask(Attribute::RangeStart, memory.begin, begin) ||
      !ask(Attribute::RangeBytes, memory.begin, own.allocationBytes)) {
    return refused(memory, "the driver does not say of which allocation it is");
  }
  own.offset = addressOf(memory.begin) - begin;
  if (own.offset > own.allocationBytes || memory.bytes > own.allocationBytes - own.offset) {
    return refused(memory, "is more than its allocation of " + bytesFact(own.allocationBytes));
  }
  (void)ask(Attribute::LegacyIpcCapable, memory.begin, plain);
  int exported = -1;
  const Status status = plain != 0 ? exportMemory(pointerOf(begin), own.handle)
                                   : exportMappedDescriptor(pointerOf(addressOf(memory.begin)), exported);
  if (!status) return refused(memory, status.message());
  descriptor.reset(exported);
  own.magic = kMagic;
  own.rank = rank_;
  own.byDescriptor = plain != 0 ? 0 : 1;
  own.address = addressOf(memory.begin);
  own.bytes = memory.bytes;
  info.resize(sizeof own);
  std::memcpy(info.data(), &own, sizeof own);
  next_ = {memory, own.allocation, {}, {}};
  return Status::ok();
}

Status RegisteredBuffers::open(int peer, bool inProcess, std::span<const uint8_t> info, UniqueFd descriptor,
                               uint64_t& here) {
  Introduction theirs{};
  if (info.size() != sizeof theirs) return differs(peer, "infoBytes", info.size(), sizeof theirs);
  std::memcpy(&theirs, info.data(), sizeof theirs);
  if (theirs.magic != kMagic) return differs(peer, "magic", theirs.magic, kMagic);
  if (theirs.rank != peer) return differs(peer, "rank", theirs.rank, peer);
  if (theirs.offset > theirs.allocationBytes || theirs.bytes > theirs.allocationBytes - theirs.offset) {
    return differs(peer, "allocationBytes", theirs.allocationBytes, theirs.offset + theirs.bytes);
  }
  if (next_.memory.bytes == 0) return Status::invalid("no buffer is being registered; describe one first");
  if (inProcess) {
    here = theirs.address;
    return Status::ok();
  }
  std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<PeerMemory>& known = known_[{peer, theirs.allocation}];
  std::shared_ptr<PeerMemory> memory = known.lock();
  if (memory == nullptr) {
    memory = std::make_shared<PeerMemory>();
    const Status opened = theirs.byDescriptor == 0 ? PeerMemory::open(theirs.handle, *memory)
                          : descriptor             ? PeerMemory::map(descriptor.get(), theirs.allocationBytes, *memory)
                                                   : Status::transport("its descriptor was not received");
    if (!opened) {
      return Status::transport("buffer of rank=" + std::to_string(peer) + " cannot be opened: " + opened.message());
    }
    known = memory;
  }
  here = addressOf(memory->base()) + theirs.offset;
  next_.opened.push_back(std::move(memory));
  return Status::ok();
}

Status RegisteredBuffers::use(std::vector<uint64_t> there, uint64_t& number) {
  if (next_.memory.bytes == 0 || there.size() != static_cast<size_t>(size_)) {
    return Status::invalid("peers=" + std::to_string(there.size()) + ", expected " + std::to_string(size_) +
                           " of a buffer that was described");
  }
  next_.there = std::move(there);
  number = ++numbers_;
  buffers_.emplace(number, std::exchange(next_, {}));
  return Status::ok();
}

bool RegisteredBuffers::close(uint64_t number, Opened& opened) {
  const auto found = buffers_.find(number);
  if (found == buffers_.end()) return false;
  opened = std::move(found->second.opened);
  buffers_.erase(found);
  return true;
}

RegisteredBuffers::Opened RegisteredBuffers::closeAll() {
  Opened all = drop();
  for (auto& [number, buffer] : buffers_)
    std::move(buffer.opened.begin(), buffer.opened.end(), std::back_inserter(all));
  buffers_.clear();
  return all;
}

bool RegisteredBuffers::find(const MemoryRange& memory, uint64_t allocation, std::vector<uint64_t>& there) const {
  there.clear();
  if (memory.bytes == 0) return true;
  for (const auto& [number, buffer] : buffers_) {
    if (buffer.allocation != allocation || !buffer.memory.covers(memory)) continue;
    const uint64_t offset = static_cast<uint64_t>(memory.begin - buffer.memory.begin);
    for (const uint64_t address : buffer.there) there.push_back(address + offset);
    return true;
  }
  return false;
}

}  // namespace jccl::device
