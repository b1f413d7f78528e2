// Puts collectives that share a kernel on a stream, in one launch.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "cuda/kernels/registry.h"
#include "cuda/runtime/argument_areas.h"
#include "cuda/runtime/device_issuing.h"

namespace jccl::device {

class WorksLauncher {
 public:
  // `area` is null if the arguments of the operations fit into the descriptor.
  WorksLauncher(DeviceIssuing& issuing, std::span<const DeviceOperation> operations, std::unique_ptr<ArgumentArea> area,
                int64_t timeoutNanos, const LaunchTarget& target)
      : issuing_(issuing),
        operations_(operations),
        area_(std::move(area)),
        timeoutNanos_(timeoutNanos),
        target_(target) {}

  const DeviceOperation& first() const { return operations_.front(); }

  // Sets the members that the descriptors of all collectives have, and launches the kernel. The caller has set the
  // other members of the descriptor.
  template <class Descriptor>
  Issued launch(const KernelEntry& kernel, Descriptor& descriptor) {
    describe(descriptor, descriptor.inlined);
    descriptor.rank = issuing_.config_.rank;
    descriptor.size = issuing_.config_.size;
    descriptor.channels = issuing_.connections_.channels();
    return issue({kernel, &descriptor, descriptor.control, static_cast<int>(descriptor.blocks)});
  }

 private:
  void describe(Works& works, InlineArguments& inlined) const;
  Issued issue(const DeviceIssuing::KernelLaunch& launch);

  DeviceIssuing& issuing_;
  const std::span<const DeviceOperation> operations_;
  std::unique_ptr<ArgumentArea> area_;
  const int64_t timeoutNanos_;
  const LaunchTarget& target_;
};

}  // namespace jccl::device
