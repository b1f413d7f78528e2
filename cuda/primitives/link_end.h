// The ends of connections between kernels of different ranks, in a layout that host and device share.
#pragma once

#include <cstdint>

#include "primitives/layout.h"
#include "primitives/wait_place.h"

namespace jccl::device {

// The maximum number of connections that a block holds in shared memory in each direction. Direct operations of
// kMaxDirectRanks ranks use all of them.
constexpr int kMaxLinks = 63;

// The maximum number of ranks whose direct collectives, also in place, kernels execute: a block keeps the buffers or
// connections of all ranks in shared memory. Communicators of more ranks use rings and trees.
constexpr int kMaxDirectRanks = kMaxLinks + 1;

// The maximum number of threads of a block, so that the registers of a multiprocessor suffice without spills. Any
// smaller multiple of 32 works, too; from 128 on, SIMPLE has a warp that only publishes.
constexpr int kMaxBlockThreads = 384;

// One end of a connection, in device memory. Only kernels advance it, and kernels of one communicator run one after
// another.
struct alignas(16) LinkEnd {
  uint8_t* block;  // the receiver's block, which contains the slots
  // The first SIMPLE slot. The slots are in `block`, unless an adapter moves their data: then this is separate GPU
  // memory for the data, and `block` keeps the headers.
  uint8_t* slots;
  uint64_t* head;       // the sender's head line
  uint64_t step;        // next step that this end writes or reads
  uint64_t cachedHead;  // on the sender: value of the head when last read
  TransportKind transport;
  bool rotates;  // chunks alternate between the parts of a SIMPLE slot
  bool compact;  // the block has the shape of exchangeShape()
};

}  // namespace jccl::device
