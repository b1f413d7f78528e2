// Messages between the CollNet plug-in for tests and the process that simulates its switch, over TCP on one host.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>

namespace jccl::test {

struct SwitchHello {
  uint64_t group;
  uint32_t members;
  uint32_t member;
};

enum class SwitchKind : uint32_t { AllReduce = 0, AllGather = 1, ReduceScatter = 2 };

// Header of a request; the data follows. All members of a group send equal requests in the same order.
struct SwitchRequest {
  SwitchKind kind;
  int32_t type;  // ncclDataType_t
  int32_t op;    // ncclRedOp_t
  uint32_t zero;
  uint64_t bytes;         // size of the data that follows; in an all-gather the part of one member
  uint64_t bytesPerRank;  // for all-gather and reduce-scatter
  uint64_t windowOffset;
  uint64_t windowBytes;

  friend bool operator==(const SwitchRequest&, const SwitchRequest&) = default;
};

// Header of an answer; the result follows. The switch also answers each member's hello, once all members have
// connected.
struct SwitchAnswer {
  uint32_t failed;
  uint32_t zero;
  uint64_t bytes;
};

// Sends or receives all bytes; returns false if the connection ends before.
inline bool moveAll(int socket, void* data, size_t bytes, bool sends) {
  auto* at = static_cast<uint8_t*>(data);
  while (bytes > 0) {
    const ssize_t moved = sends ? ::send(socket, at, bytes, MSG_NOSIGNAL) : ::recv(socket, at, bytes, 0);
    if (moved <= 0) return false;
    at += moved;
    bytes -= static_cast<size_t>(moved);
  }
  return true;
}

}  // namespace jccl::test
