// Between kernels of a GPU and a network that reduces.
#pragma once

#include <array>
#include <cstdint>

#include "base/status.h"
#include "engine/operation.h"
#include "primitives/connection.h"
#include "transport/coll_net.h"

namespace jccl {

// What a leader's kernel publishes in SIMPLE slots of one connection goes to the network, and what comes back into slots of the
// other:
//
//     kernel ── slots ──> link ── memory of the group ══ switch ══ memory of the group ── link ── slots ──> kernel
//
// The slots say which operation they are of (SlotHeader). An all-reduce's chunk is one step; one of an all-gather or a
// reduce-scatter is a step for each rank of the host or of all hosts (collectives/chain.h), which the network gets together.
// Empty steps have nothing for the network. Used by one thread, as its group, which is the link's alone.
class CollNetLink {
 public:
  // `ranks` is how many there are, by which an average divides; `ranksOfHost` how many each host has, which have numbers that
  // follow each other, or 0: then the network gathers and scatters nothing.
  CollNetLink(const ConnectionMemory& toNetwork, const ConnectionMemory& fromNetwork, CollNetGroup& group, int ranks,
              int ranksOfHost)
      : to_(toNetwork),
        from_(fromNetwork),
        group_(group),
        ranks_(static_cast<uint32_t>(ranks)),
        ranksOfHost_(static_cast<uint32_t>(ranksOfHost)) {}

  // Does what can be done without waiting and adds to *work how much that was. An error is final.
  Status poll(int* work);

 private:
  struct Chunk {
    OperationCode code{};
    uint32_t check = 0;
    uint32_t bytes = 0;      // of a step
    uint32_t stepsIn = 0;    // that the kernel publishes
    uint32_t stepsOut = 0;   // that come back
    uint32_t taken = 0;      // of stepsIn
    uint32_t delivered = 0;  // of stepsOut
  };

  // Takes the next step of the kernel, or leaves it for when the network is idle.
  Status take(int* work);
  bool deliver();
  Status describe(const SlotHeader& header, Chunk* chunk) const;
  void begin(const Chunk& chunk, size_t slot);
  Chunk& chunkOf(uint64_t number) { return chunks_[number % CollNetGroup::kSlots]; }

  const ConnectionMemory to_, from_;
  CollNetGroup& group_;
  const uint32_t ranks_, ranksOfHost_;
  std::array<Chunk, CollNetGroup::kSlots> chunks_;
  uint64_t filled_ = 0;     // the chunk whose steps the kernel publishes next
  uint64_t delivered_ = 0;  // the one whose steps come back next
  uint64_t taken_ = 0;      // steps, of both directions
  uint64_t returned_ = 0;
};

}  // namespace jccl
