// Makes data that has arrived in GPU memory visible to the GPU.
#pragma once

#include <cstdint>
#include <memory>

#include "base/status.h"
#include "verbs/adapter.h"
#include "verbs/queue_pair.h"

namespace jccl {

// Reads received data back through a queue pair that is connected to itself, on the adapter that receives. The adapter
// writes data to the GPU and the completion to the host by different paths. A read by the same adapter returns only
// when the adapter's earlier writes have reached the GPU's memory; reading one byte suffices. Reads complete in order,
// on the connection's own completion queue.
class IbFlush {
 public:
  // Reads go to `landing`, a byte of host memory that must outlive this object.
  static Status make(const verbs::Adapter& adapter, const verbs::Completions& completions, uint8_t* landing,
                     std::unique_ptr<IbFlush>* flush);

  // Begins to read the last byte of `data`. The completion of the read carries `id`.
  Status begin(uint64_t id, const void* data, uint32_t bytes, uint32_t rkey);
  // Processes the completion of the flush of message `sequence`.
  void complete(uint64_t sequence, const verbs::WorkCompletion& completion);
  // Sets *done to true if the flush of message `sequence` has succeeded. Returns the error if that flush or an earlier
  // one has failed.
  Status test(uint64_t sequence, bool* done) const;

  uint32_t qpNumber() const { return qp_->number(); }

 private:
  explicit IbFlush(const verbs::Adapter& adapter) : adapter_(adapter) {}

  const verbs::Adapter& adapter_;
  std::unique_ptr<verbs::Region> landing_;
  std::unique_ptr<verbs::QueuePairObject> qp_;
  uint64_t over_ = 0;  // the flushes of all messages with lower sequence numbers have succeeded
  Status failure_;
};

}  // namespace jccl
