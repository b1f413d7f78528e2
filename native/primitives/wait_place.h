// Describes a wait in progress records and messages: the awaited rank, and what it must do.
#pragma once

#include <cstdint>

#include "base/function.h"
#include "primitives/layout.h"

namespace jccl {

// None: no connection has been made.
enum class TransportKind : uint8_t { P2p = 0, Shm = 1, Plugin = 2, Ib = 3, Socket = 4, None = 255 };
inline constexpr int kTransportKinds = 5;  // without None

JCCL_FN constexpr bool isNetwork(TransportKind kind) {
  return kind >= TransportKind::Plugin && kind <= TransportKind::Socket;
}

constexpr const char* nameOf(TransportKind kind) {
  switch (kind) {
    case TransportKind::P2p:
      return "p2p";
    case TransportKind::Shm:
      return "shm";
    case TransportKind::Plugin:
      return "plugin";
    case TransportKind::Ib:
      return "ib";
    case TransportKind::Socket:
      return "socket";
    case TransportKind::None:
      break;
  }
  return "none";
}

// CollNet: the end of an operation that the network executes.
enum class WaitFor : uint8_t { Data = 0, Credit = 1, BufferExchange = 2, CollNet = 3 };
inline constexpr int kWaitForCount = 4;

constexpr const char* nameOf(WaitFor waitFor) {
  constexpr const char* names[kWaitForCount] = {"data", "credit", "buffer_exchange", "collnet"};
  const auto index = static_cast<unsigned>(waitFor);
  return index < kWaitForCount ? names[index] : "unknown";
}

struct WaitPlace {
  int peer;
  TransportKind transport;
  WaitFor waitFor;
  Protocol protocol;
  uint64_t step;
  // True if something else can end the wait, too: another peer over another transport, or a poll of a plug-in.
  bool isOneOfMany = false;
};

// The long waits of one operation. Short waits read no clock and are not counted.
struct LongWaits {
  int64_t operationStart = 0;  // identifies the operation: WaitControl::startNanos
  int64_t nanos = 0;
  int64_t longestNanos = 0;
  int32_t peer = -1;  // the peer that the longest wait was for

  void add(int64_t start, int64_t waited, int32_t waitedFor) {
    if (operationStart != start) *this = {start};
    nanos += waited;
    if (waited <= longestNanos) return;
    longestNanos = waited;
    peer = waitedFor;
  }
};

}  // namespace jccl
