#include "cuda/runtime/peer_reach.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "cuda/runtime/device_context.h"
#include "cuda/runtime/driver_values.h"
#include "cuda/runtime/retired_memory.h"

namespace jccl::device {
namespace {

using Attribute = driver::PointerAttribute;

constexpr size_t kRemembered = 64;
constexpr std::chrono::seconds kQuietTimeout{1};
constexpr std::chrono::microseconds kQuietSleep{200};

// Enables access of a device's kernels to memory of cuMemAlloc on another device. Returns false if the hardware does not
// allow the access, or if the driver would wait for kernels in flight.
bool letUse(int user, int device) {
  static std::mutex mutex;
  static auto* enabled = new std::set<std::pair<int, int>>();
  const std::lock_guard lock(mutex);
  if (user == device || enabled->contains({user, device})) return true;
  bool reaches = false;
  (void)RetiredMemory::ofThisProcess().whenQuiet({user, device}, [&] {
    const DeviceGuard guard(user);
    reaches = guard.status() && reachDevice(device, reaches) && reaches;
  });
  if (reaches) enabled->insert({user, device});
  return reaches;
}

}  // namespace

Status PeerReach::add(int device) {
  if (std::find(devices_.begin(), devices_.end(), device) != devices_.end()) return Status::ok();
  int pageable = 0;
  Status status = attributeOf(device, driver::DeviceAttribute::PageableMemoryAccess, pageable);
  pageable_ = pageable_ && pageable != 0;
  devices_.push_back(device);
  return status;
}

Status PeerReach::check(const MemoryRange& memory, Found& found) {
  found = {};
  if (memory.bytes == 0) return Status::ok();
  Allocation allocation;
  (void)ask(Attribute::BufferId, memory.begin, allocation.id);
  found.allocation = allocation.id;
  for (const Allocation& known : known_) {
    if (known.id != allocation.id || !known.covers(memory)) continue;
    found.unreached = known.unreached;
    return Status::ok();
  }
  if (Status status = describe(memory, allocation); !status) return status;
  found.unreached = allocation.unreached;
  if (allocation.id == 0 || !allocation.covers(memory)) return Status::ok();
  if (known_.size() < kRemembered) known_.emplace_back();
  known_[next_++ % kRemembered] = std::move(allocation);
  return Status::ok();
}

Status PeerReach::describe(const MemoryRange& memory, Allocation& allocation) const {
  unsigned type = 0;
  if (!ask(Attribute::MemoryType, memory.begin, type)) return describeUnknown(memory);
  driver::Address begin = 0;
  if (ask(Attribute::RangeStart, memory.begin, begin) && ask(Attribute::RangeBytes, memory.begin, allocation.bytes)) {
    allocation.begin = static_cast<uintptr_t>(begin);
    // The rest of the buffer is in another allocation, about which nothing is known.
    if (!allocation.covers(memory))
      allocation.unreached = "is more than its allocation of " + bytesFact(allocation.bytes);
  }
  unsigned managed = 0;
  if (ask(Attribute::IsManaged, memory.begin, managed) && managed != 0) {
    allocation.unreached = "is managed memory, which would move between the devices";
    return Status::ok();
  }
  if (type == driver::kMemoryOfHost) return Status::ok();
  int device = -1, plain = 0;
  driver::Context context = nullptr;
  (void)ask(Attribute::DeviceOrdinal, memory.begin, device);
  (void)ask(Attribute::LegacyIpcCapable, memory.begin, plain);
  (void)ask(Attribute::Context, memory.begin, context);
  const bool ofRanks = std::find(devices_.begin(), devices_.end(), device) != devices_.end();
  if (plain != 0 && ofRanks && isPrimaryContext(context, device)) {
    examinePlain(device, allocation);
    return Status::ok();
  }
  for (const int user : devices_) {
    const DeviceGuard guard(user);
    if (!guard.status()) return guard.status();
    int access = 0;
    if (ask(Attribute::AccessFlags, memory.begin, access) && access == driver::kAccessReadWrite) continue;
    allocation.unreached = "is memory of device=" + std::to_string(device) +
                           ", to which device=" + std::to_string(user) + " has no access";
  }
  return Status::ok();
}

// Memory of cuMemAlloc in a primary context: access to it is enabled for all of it.
void PeerReach::examinePlain(int device, Allocation& allocation) const {
  for (const int user : devices_) {
    if (letUse(user, device)) continue;
    allocation.unreached = "is memory of device=" + std::to_string(device) +
                           ", to which device=" + std::to_string(user) +
                           " has no access, because kernels of other communicators ran when this communicator was made "
                           "(wait for their operations before)";
  }
}

void PeerReach::letPeersReach(int device) const {
  const auto deadline = std::chrono::steady_clock::now() + kQuietTimeout;
  for (const int user : devices_) {
    while (!letUse(user, device) && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(kQuietSleep);
  }
}

Status PeerReach::describeUnknown(const MemoryRange& memory) const {
  if (pageable_) return Status::ok();
  return Status::invalid(
      jccl::device::describe(memory) +
      ": the driver knows no memory there, expected memory of a device; allocate it with cudaMalloc or "
      "cuMemAlloc, do not free it before the operation ends, or register memory of the host "
      "(cudaHostRegister, cuMemHostRegister)");
}

}  // namespace jccl::device
