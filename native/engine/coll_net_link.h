// Between kernels of a GPU and a network that reduces.
#pragma once

#include <array>
#include <cstdint>

#include "base/status.h"
#include "primitives/connection.h"
#include "transport/coll_net.h"

namespace jccl {

// What a leader's kernel publishes in SIMPLE slots of one connection goes to the network, and the sums come back in slots of the
// other, step by step:
//
//     kernel ── slot ──> link ── memory of the group ══ switch ══ memory of the group ── link ── slot ──> kernel
//
// The slots say what is to be reduced (SlotHeader). An empty chunk comes back at once. Used by one thread, as its group, which
// is the link's alone.
class CollNetLink {
 public:
  // `ranks` is what an average divides by.
  CollNetLink(const ConnectionMemory& toNetwork, const ConnectionMemory& fromNetwork, CollNetGroup& group, int ranks)
      : to_(toNetwork), from_(fromNetwork), group_(group), ranks_(static_cast<uint32_t>(ranks)) {}

  // Does what can be done without waiting and adds to *work how much that was. An error is final.
  Status poll(int* work);

 private:
  struct Chunk {
    uint32_t check = 0;
    uint32_t bytes = 0;
    DataType type = DataType::Uint8;
    ReduceOp op = ReduceOp::Sum;
  };

  Status begin();
  bool deliver();
  void finish(const Chunk& chunk, uint8_t* sums) const;
  Chunk& chunkOf(uint64_t step) { return chunks_[step % CollNetGroup::kSlots]; }

  const ConnectionMemory to_, from_;
  CollNetGroup& group_;
  const uint32_t ranks_;
  std::array<Chunk, CollNetGroup::kSlots> chunks_;  // from delivered_ to begun_
  uint64_t begun_ = 0;                              // the next step to pass to the network
  uint64_t delivered_ = 0;                          // the next step that comes back
};

}  // namespace jccl
