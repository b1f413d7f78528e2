#include "cuda/runtime/device_segment.h"

namespace jccl::device {

Status DeviceSegment::behindDescriptor(size_t bytes, DeviceSegment& segment, UniqueFd& descriptor) {
  segment.reset();
  descriptor.reset();
  if (Status status = hasDescriptorMemory(); !status) return status;
  DeviceSegment made;
  if (Status status = allocateForDescriptors(bytes, made.mapped_); !status) return status;
  int exported = -1;
  if (Status status = exportDescriptor(made.mapped_, exported); !status) return status;
  descriptor.reset(exported);
  segment = std::move(made);
  return Status::ok();
}

void DeviceSegment::reset() {
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
