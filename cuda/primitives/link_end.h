// The ends of connections between kernels of different ranks, as host and device share them.
#pragma once

#include <cstdint>

#include "primitives/layout.h"
#include "primitives/wait_place.h"

namespace jccl::device {

// The maximum number of connections of a block, on either side: direct operations use it up.
constexpr int kMaxLinks = 63;

// The maximum number of threads of a block: what the registers of a multiprocessor allow without spills. Any multiple
// of 32 up to this works; from 128 on SIMPLE has a warp that only publishes.
constexpr int kMaxBlockThreads = 384;

// One end of a connection, in device memory. Belongs to the kernels of one stream: they advance it.
struct alignas(16) LinkEnd {
  uint8_t* block;  // the receiver's block: holds the slots
  uint8_t* slots;  // SIMPLE's in it; or, between kernel and adapter, those in memory of the GPU for the data of SIMPLE
  uint64_t* head;  // the sender's head line
  uint64_t step;   // the next to write, or to read
  uint64_t cachedHead;  // the head as the sender read it last
  TransportKind transport;
  bool rotates;  // chunks alternate between the parts of a SIMPLE slot
  bool compact;  // the block has the shape of those that only exchanges use
};

}  // namespace jccl::device
