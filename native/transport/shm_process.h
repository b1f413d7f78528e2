// How a process requests the shared memory of another process of this host.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "base/status.h"

namespace jccl {

// Identifies a process, and contains the secret token that a request to it must contain. Sent in the connect
// information, over authenticated connections.
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
  uint64_t networkNamespace = 0;  // abstract socket names are visible only inside one namespace
  uint64_t host = 0;              // made from the kernel's boot id; 0: unknown
  uint32_t pid = 0;
  uint32_t uid = 0;

  // Identifies this process, with a fresh token.
  static Status ofThisProcess(ShmProcess* process);

  Wire encode() const;
  static Status decode(std::span<const uint8_t> wire, ShmProcess* process);

  // Returns the name of the process's abstract socket. It is derived from the token by a hash, because the name is
  // public (/proc/net/unix) and the token is not.
  std::string socketName() const;

  // Returns ok, or why `peer` cannot share memory with this process.
  Status reachable(const ShmProcess& peer) const;
};

// A request and its answer are datagrams of fixed size; the answer passes the descriptor.
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
  uint64_t bytes = 0;  // size of the segment; with kNoDescriptors: RLIMIT_NOFILE of the process that answers
};

static_assert(sizeof(ShmRequest) == 32 && sizeof(ShmAnswer) == 16);

}  // namespace jccl
