// Connects kernels of a GPU with a network that reduces (CollNet).
#pragma once

#include <array>
#include <cstdint>

#include "base/status.h"
#include "collnet/coll_net.h"
#include "engine/operation.h"
#include "primitives/connection.h"

namespace jccl {

// Passes the steps that a leader's kernel publishes in SIMPLE slots of one connection to the network, and writes the
// results into SIMPLE slots of another connection:
//
//     kernel ── slots ──> link ── memory of the group ══ switch ══ memory of the group ── link ── slots ──> kernel
//
// The header of each slot names the operation (SlotHeader). A chunk of an all-reduce is one step. A chunk of an
// all-gather or a reduce-scatter is one step for each rank of the host or of all hosts (collectives/chain.h); the
// network gets these steps together. Steps without data are not passed to the network. One thread uses the link and its
// group, and no other link uses that group.
class CollNetLink {
 public:
  // `ranks`: size of the communicator, by which averages are divided. `ranksOfHost`: number of ranks on each host; 0 if
  // hosts differ in that number or the ranks of a host are not consecutive. With 0 only all-reduces use the network.
  CollNetLink(const ConnectionMemory& toNetwork, const ConnectionMemory& fromNetwork, CollNetGroup& group, int ranks,
              int ranksOfHost)
      : to_(toNetwork),
        from_(fromNetwork),
        group_(group),
        ranks_(static_cast<uint32_t>(ranks)),
        ranksOfHost_(static_cast<uint32_t>(ranksOfHost)) {}

  // Moves all steps that can move without waiting, and adds their number to *work. An error is final.
  Status poll(int* work);

 private:
  struct Chunk {
    OperationCode code{};
    uint32_t check = 0;
    uint32_t bytes = 0;      // bytes of one step
    uint32_t stepsIn = 0;    // steps that the kernel publishes
    uint32_t stepsOut = 0;   // steps that return to the kernel
    uint32_t taken = 0;      // steps taken so far, at most stepsIn
    uint32_t delivered = 0;  // steps returned so far, at most stepsOut
  };

  // Takes the kernel's next step, if one is published and a slot of the group is free. If the group needs more memory
  // for the step, leaves the step in its slot until the network is idle.
  Status take(int* work);
  bool deliver();
  Status describe(const SlotHeader& header, Chunk* chunk) const;
  void begin(const Chunk& chunk, size_t slot);
  Chunk& chunkOf(uint64_t number) { return chunks_[number % CollNetGroup::kSlots]; }

  const ConnectionMemory to_, from_;
  CollNetGroup& group_;
  const uint32_t ranks_, ranksOfHost_;
  std::array<Chunk, CollNetGroup::kSlots> chunks_;
  uint64_t filled_ = 0;     // chunks passed to the network
  uint64_t delivered_ = 0;  // chunks returned to the kernel
  uint64_t taken_ = 0;      // steps taken from the kernel
  uint64_t returned_ = 0;   // steps returned to the kernel
};

}  // namespace jccl
