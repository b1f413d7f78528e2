// The connections on which a schedule of the host works.
#pragma once

#include "primitives/connection.h"

namespace jccl {

// Maximum number of connections, in each direction, that one call combines. A direct operation has at most one rank
// more.
inline constexpr int kMaxFanout = 63;

// The connections a schedule works on, in an order that the schedule defines.
struct Links {
  RecvConnection* const* recv = nullptr;
  int recvCount = 0;
  SendConnection* const* send = nullptr;
  int sendCount = 0;
  int ownPosition = 0;  // number of received chunks that precede this rank's input in a reduction
  bool atOnce = false;  // the senders to this rank send without waiting for another rank first
  bool oneWay = false;  // data flows in one direction only, so senders run ahead of receivers
};

}  // namespace jccl
