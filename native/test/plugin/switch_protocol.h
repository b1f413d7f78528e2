// What the CollNet plug-in of the tests and the process that simulates its switch send each other, over TCP on one host.
#pragma once

#include <cstdint>

namespace jccl::test {

struct SwitchHello {
  uint64_t group;
  uint32_t members;
  uint32_t member;
};

enum class SwitchKind : uint32_t { AllReduce = 0, AllGather = 1, ReduceScatter = 2 };

// Followed by the data; all members of a group send the same, in the same order.
struct SwitchRequest {
  SwitchKind kind;
  int32_t type;  // ncclDataType_t
  int32_t op;    // ncclRedOp_t
  uint32_t zero;
  uint64_t bytes;         // of the data: of an all-gather those of one member
  uint64_t bytesPerRank;  // of an all-gather and a reduce-scatter
  uint64_t windowOffset;
  uint64_t windowBytes;

  friend bool operator==(const SwitchRequest&, const SwitchRequest&) = default;
};

// Followed by the result. A hello has an answer, too, when all members are there.
struct SwitchAnswer {
  uint32_t failed;
  uint32_t zero;
  uint64_t bytes;
};

}  // namespace jccl::test
