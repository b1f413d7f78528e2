#include "cuda/runtime/device_segment.h"

#include <algorithm>

namespace jccl::device {

Status DeviceSegment::onHeap(size_t bytes, bool exportable, DeviceSegment& segment) {
  segment.reset();
  int device = 0;
  if (Status status = currentDevice(device); !status) return status;
  segment.users_ = {device};
  return exportable ? HeapMemory::exportable(bytes, segment.heap_) : HeapMemory::device(bytes, segment.heap_);
}

Status DeviceSegment::behindDescriptor(size_t bytes, DeviceSegment& segment, UniqueFd& descriptor) {
  segment.reset();
  descriptor.reset();
  if (Status status = hasDescriptorMemory(); !status) return status;
  DeviceSegment made;
  if (Status status = allocateForDescriptors(bytes, made.mapped_); !status) return status;
  int exported = -1;
  if (Status status = exportDescriptor(made.mapped_, exported); !status) return status;
  descriptor.reset(exported);
  int device = 0;
  if (Status status = currentDevice(device); !status) return status;
  made.users_ = {device};
  segment = std::move(made);
  return Status::ok();
}

Status DeviceSegment::giveAccess(int other) {
  if (std::find(users_.begin(), users_.end(), other) != users_.end()) return Status::ok();
  Status status;
  if (hasDescriptor() || heap_.isMapped()) {
    status = letUse({base(), bytes(), 0}, other);
  } else {
    int device = 0;
    status = currentDevice(device);
    if (!status) return status;
    const DeviceGuard guard(other);
    bool reaches = false;
    status = guard.status() ? reachDevice(device, reaches) : guard.status();
  }
  if (status) users_.push_back(other);
  return status;
}

void DeviceSegment::reset() {
  users_.clear();
  heap_.reset();
  if (mapped_.address != nullptr) (void)unmapMemory(mapped_);
  mapped_ = {};
}

void PeerMemory::reset() {
  if (opened_ != nullptr) (void)closeMemory(opened_);
  if (mapped_.address != nullptr) (void)unmapMemory(mapped_);
  leak();
}

}  // namespace jccl::device
