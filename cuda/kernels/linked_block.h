// Common parts of the kernels that run schedules: a block's links, and the facts about an operation for the primitives.
#pragma once

#include "cuda/kernels/block.h"
#include "cuda/kernels/launch.h"
#include "cuda/primitives/device_primitives.h"
#include "engine/slicing.h"

namespace jccl::device {

// The links of a block, numbered as the schedule numbers them.
class LinkedBlock {
 public:
  JCCL_DEVICE LinkedBlock(BlockState& state, const DeviceChannel& channel) : state_(state), channel_(channel) {}

  // Opens links to and from `count` peers; sendPeer(i) and recvPeer(i) name them. All threads must meet at a barrier
  // before they use the links.
  template <class SendPeer, class RecvPeer>
  JCCL_DEVICE void open(int count, SendPeer&& sendPeer, RecvPeer&& recvPeer) {
    count_ = count;
    for (int i = thread(); i < count; i += threads()) {
      state_.sends[i].open(channel_.sends, sendPeer(i));
      state_.recvs[i].open(channel_.recvs, recvPeer(i));
    }
  }

  // Writes the counters of the links back to device memory. Not called after a failure, because a communicator that has
  // failed runs no further operation.
  JCCL_DEVICE void close() {
    simt::syncBlock();
    for (int i = thread(); i < count_; i += threads()) {
      state_.sends[i].close(channel_.sends);
      state_.recvs[i].close(channel_.recvs);
    }
  }

  JCCL_DEVICE static int thread() { return static_cast<int>(simt::threadIndex()); }
  JCCL_DEVICE static int threads() { return static_cast<int>(simt::blockThreads()); }

 private:
  BlockState& state_;
  const DeviceChannel& channel_;
  int count_ = 0;
};

JCCL_DEVICE DeviceTransfer transferOf(const Launch& launch, const Work& work, const DeviceChannel& channel,
                                      Protocol protocol) {
  const DataType type = work.code.type;
  const uint32_t element = static_cast<uint32_t>(sizeOf(type));
  const size_t slice = sliceCountOf(work.choice, launch.shape.payloadCapacity(protocol), element);
  const uint32_t divisor = work.code.op == ReduceOp::Avg ? static_cast<uint32_t>(launch.size) : 1;
  const uint64_t operation = operationsOf(channel) + 1;
  const uint64_t print = work.fingerprint ^ fingerprintOf(operation, work.code, work.count, work.root);
  const Reduction reduction = reductionOf(type, work.code.op, divisor);
  return {work.send, work.recv, element, slice, reduction, narrow(print), work.code};
}

}  // namespace jccl::device
