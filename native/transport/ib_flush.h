// Makes what has arrived in memory of a GPU visible to the GPU.
#pragma once

#include <cstdint>
#include <memory>

#include "base/status.h"
#include "verbs/adapter.h"
#include "verbs/queue_pair.h"

namespace jccl {

// A queue pair connected to itself, on the adapter that receives. The adapter writes data to the GPU and the completion to
// the host, by different paths; a read by the same adapter of what it wrote comes back only when the writes before it are
// there. One byte will do. Reads complete in their order, on the connection's own completion queue.
class IbFlush {
 public:
  // Reads go to `landing`, a byte of the host's memory that outlives this.
  static Status make(const verbs::Adapter& adapter, const verbs::Completions& completions, uint8_t* landing,
                     std::unique_ptr<IbFlush>* flush);

  // Begins to read the last byte of `data`. `id` comes back with the completion.
  Status begin(uint64_t id, const void* data, uint32_t bytes, uint32_t rkey);
  // The completion of the flush of message `sequence`.
  void complete(uint64_t sequence, const verbs::WorkCompletion& completion);
  // Whether the flush of message `sequence` is over, or why it, or one before, failed.
  Status test(uint64_t sequence, bool* done) const;

  uint32_t qpNumber() const { return qp_->number(); }

 private:
  explicit IbFlush(const verbs::Adapter& adapter) : adapter_(adapter) {}

  const verbs::Adapter& adapter_;
  std::unique_ptr<verbs::Region> landing_;
  std::unique_ptr<verbs::QueuePairObject> qp_;
  uint64_t over_ = 0;  // those of all messages below
  Status failure_;
};

}  // namespace jccl
