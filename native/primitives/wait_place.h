// Which rank is waited for, and for what: how a progress record and a message describe a wait.
#pragma once

#include <cstdint>

#include "primitives/layout.h"

namespace jccl {

// Net stands for every network while data moves; which one it is matters only where connections are made.
enum class TransportKind : uint8_t { P2p = 0, Shm = 1, Net = 2, Ib = 3, Plugin = 4, None = 255 };

constexpr const char* nameOf(TransportKind kind) {
  switch (kind) {
    case TransportKind::P2p:
      return "p2p";
    case TransportKind::Shm:
      return "shm";
    case TransportKind::Net:
      return "net";
    case TransportKind::Ib:
      return "ib";
    case TransportKind::Plugin:
      return "plugin";
    case TransportKind::None:
      break;
  }
  return "none";
}

enum class WaitFor : uint8_t { Data = 0, Credit = 1, BufferExchange = 2, Worker = 3, CollNet = 4 };

struct WaitPlace {
  int peer;
  TransportKind transport;
  WaitFor waitFor;
  Protocol protocol;
  uint64_t step;
};

inline constexpr int kTransportKinds = 5;  // without None

// What the long waits of an operation took; short ones read no clock.
struct LongWaits {
  int64_t operationStart = 0;  // which operation: WaitControl::startNanos
  int64_t nanos = 0;
  int64_t longestNanos = 0;
  int32_t peer = -1;  // of the longest

  void add(int64_t start, int64_t waited, int32_t waitedFor) {
    if (operationStart != start) *this = {start};
    nanos += waited;
    if (waited <= longestNanos) return;
    longestNanos = waited;
    peer = waitedFor;
  }
};

}  // namespace jccl
