// How another process of this host requests this one's shared memory.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "base/status.h"

namespace jccl {

// Names a process and contains the secret that a request must contain. Sent in the connect information, over
// authenticated connections.
//
//     0          4          8                 24                        32              40     44
//     +----------+----------+-----------------+-------------------------+---------------+------+------+
//     | magic    | version  | token, 16 bytes | network namespace (u64) | host (u64)    | pid  | uid  |
//     +----------+----------+-----------------+-------------------------+---------------+------+------+
struct ShmProcess {
  static constexpr size_t kWireBytes = 48;
  using Wire = std::array<uint8_t, kWireBytes>;
  using Token = std::array<uint8_t, 16>;

  Token token{};
  uint64_t networkNamespace = 0;  // abstract socket names are visible only inside one
  uint64_t host = 0;              // made from the kernel's boot id
  uint32_t pid = 0;
  uint32_t uid = 0;

  // This process, with a fresh token.
  static Status ofThisProcess(ShmProcess* process);

  Wire encode() const;
  static Status decode(std::span<const uint8_t> wire, ShmProcess* process);

  // The abstract socket of the process. Derived from the token by a hash: the name is public (/proc/net/unix), the
  // token is not.
  std::string socketName() const;

  // Ok, or why the process behind `peer` cannot share memory with this one.
  Status reachable(const ShmProcess& peer) const;
};

// One request and one answer cross the socket, each a datagram of fixed size; the answer passes the descriptor.
struct ShmRequest {
  static constexpr uint32_t kMagic = 0x71534a4a;
  uint32_t magic = kMagic;
  uint32_t version = 1;
  ShmProcess::Token token{};
  uint64_t segment = 0;
};

struct ShmAnswer {
  static constexpr uint32_t kMagic = 0x61534a4a;
  enum : uint32_t { kGranted = 0, kUnknownSegment = 1, kNoDescriptors = 2 };
  uint32_t magic = kMagic;
  uint32_t result = kGranted;
  uint64_t bytes = 0;  // of the segment; with kNoDescriptors RLIMIT_NOFILE of the process that answers
};

static_assert(sizeof(ShmRequest) == 32 && sizeof(ShmAnswer) == 16);

}  // namespace jccl
