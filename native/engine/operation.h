// An operation of a communicator: the decoded request of Java, and the values that the channels need to run their
// shares.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/collective.h"
#include "base/types.h"
#include "primitives/layout.h"
#include "primitives/operation.h"

namespace jccl {

// Java has constants for the numbers of these enums and the layouts of packed values; jni/numbers.cc compares them.
enum class Algorithm : uint8_t { Ring = 0, Tree = 1, Direct = 2, Nvls = 3, CollNetDirect = 4, CollNetChain = 5 };
inline constexpr int kAlgorithmCount = 6;
inline constexpr int kProtocolCount = 3;

constexpr const char* nameOf(Protocol protocol) {
  return protocol == Protocol::LL ? "ll" : protocol == Protocol::LL128 ? "ll128" : "simple";
}

constexpr const char* nameOf(Algorithm algorithm) {
  constexpr const char* names[kAlgorithmCount] = {"ring", "tree", "direct", "nvls", "collnet_direct", "collnet_chain"};
  return names[static_cast<unsigned>(algorithm)];
}

// The format in which an operation of the host crosses hosts: format | stochastic << 3, packed into the highest 8 bits
// above an OperationCode.
struct WireCode {
  static constexpr uint8_t kStochastic = 8;
  static constexpr int kShift = 24;

  uint8_t packed = 0;

  static constexpr WireCode decode(int32_t operation) { return {static_cast<uint8_t>(operation >> kShift & 0xff)}; }
  constexpr int32_t encode() const { return static_cast<int32_t>(static_cast<uint32_t>(packed) << kShift); }
  constexpr WireFormat format() const { return static_cast<WireFormat>(packed & (kStochastic - 1)); }
  constexpr bool stochastic() const { return (packed & kStochastic) != 0; }
  constexpr bool isExact() const { return packed == 0; }
  constexpr bool valid() const {
    return packed < 2 * kStochastic && static_cast<int>(format()) < kWireFormatCount &&
           (isExact() || format() != WireFormat::Exact);
  }
};

// Returns true if elements of a type can be narrowed in a collective.
constexpr bool canNarrow(Collective collective, DataType type) {
  return (type == DataType::Float32 || type == DataType::Float64) &&
         (collective == Collective::AllReduce || collective == Collective::ReduceScatter ||
          collective == Collective::AllGather || collective == Collective::Broadcast);
}

// What the application asks for between hosts. `seed` decides stochastic rounding.
struct Wire {
  WireCode code;
  uint64_t seed = 0;
};

// The kind of an operation. Packed into an integer: collective | type << 8 | reduction << 16.
struct OperationCode {
  Collective collective;
  DataType type;
  ReduceOp op;

  static constexpr OperationCode decode(int32_t packed) {
    return {static_cast<Collective>(packed & 0xff), static_cast<DataType>(packed >> 8 & 0xff),
            static_cast<ReduceOp>(packed >> 16 & 0xff)};
  }
  JCCL_FN constexpr int32_t encode() const {
    return static_cast<int32_t>(collective) | static_cast<int32_t>(type) << 8 | static_cast<int32_t>(op) << 16;
  }
  bool valid() const {
    return static_cast<int>(collective) < kCollectiveCount && static_cast<int>(type) < kDataTypeCount &&
           static_cast<int>(op) < kReduceOpCount && supports(op, type);
  }
  // Returns true if the counts of a v-form say how much this rank sends to and receives from each rank.
  bool exchangesWithCounts() const { return collective == Collective::AllToAll || op == kUserReduction; }
  OperationCode withoutReduction() const { return {collective, type, ReduceOp::Sum}; }
};

// The way to execute an operation. Packed: algorithm | protocol << 4 | channels << 8 | flags << 16 | chunkBytes << 32.
struct Choice {
  static constexpr int kFlagShift = 16;
  // run in place if possible; the flag is the same on all ranks of an operation
  static constexpr uint16_t kTryZeroCopy = 1;
  // set only in a choice that native code returns: the operation ran in place
  static constexpr uint16_t kZeroCopyUsed = 2;
  // algorithm `direct`: in an all-reduce two-shot, every rank reduces one part; in an all-gather or reduce-scatter by
  // hosts, every rank exchanges a share with other hosts (engine/host_shares.h)
  static constexpr uint16_t kTwoShot = 4;
  // algorithm `direct`: the ranks of a host act together towards other hosts. Without kTwoShot only one of them sends to
  // other hosts (collectives/hosts.h)
  static constexpr uint16_t kByHosts = 8;
  // on GPUs: let copy engines move the data if the inputs of all ranks are in symmetric windows; else use the rest of
  // the choice
  static constexpr uint16_t kTryCopies = 16;
  // with kByHosts and without kTwoShot: leaders exchange data in rounds, or with a root along a tree
  // (collectives/host_rounds.h)
  static constexpr uint16_t kInRounds = 32;

  Algorithm algorithm = Algorithm::Ring;
  Protocol protocol = Protocol::Simple;
  uint8_t channels = 1;
  uint16_t flags = 0;
  uint32_t chunkBytes = 0;  // 0: the engine chooses

  static constexpr Choice decode(int64_t packed) {
    return {static_cast<Algorithm>(packed & 0xf), static_cast<Protocol>(packed >> 4 & 0xf),
            static_cast<uint8_t>(packed >> 8 & 0xff), static_cast<uint16_t>(packed >> kFlagShift & 0xffff),
            static_cast<uint32_t>(packed >> 32 & 0xffffffff)};
  }
  constexpr int64_t encode() const {
    return static_cast<int64_t>(algorithm) | static_cast<int64_t>(protocol) << 4 | static_cast<int64_t>(channels) << 8 |
           static_cast<int64_t>(flags) << kFlagShift | static_cast<int64_t>(chunkBytes) << 32;
  }
  bool valid() const {
    return static_cast<int>(algorithm) < kAlgorithmCount && static_cast<int>(protocol) < kProtocolCount &&
           channels >= 1 && static_cast<int32_t>(chunkBytes) >= 0;
  }
};

// The place of an operation in a larger operation that is executed in parts. All ranks divide the larger operation into
// the same parts.
struct Part {
  size_t whole = 0;  // number of elements of the larger operation; 0: the operation is not a part
  size_t begin = 0;  // first element of the part

  // Hashes `whole` and `begin`. So the fingerprints of ranks whose larger operations differ are different, even if this
  // part is the same.
  uint64_t fingerprint() const {
    return whole == 0 ? 0 : ((whole * 0x9e3779b97f4a7c15u) ^ (begin + 1)) * 0xd6e8feb86659fd93u;
  }
};

struct Operation {
  Operation() {}  // replaces the compiler's constructor, which would clear the object with a slow string instruction

  OperationCode code{};
  Choice choice;
  const uint8_t* send = nullptr;
  uint8_t* recv = nullptr;
  size_t count = 0;  // the unit depends on the collective (see NativeEngine.run in Java)
  int root = 0;
  // For v-forms: the number of elements and the displacement of each rank's part; null for equal parts.
  const int64_t* counts = nullptr;
  const int64_t* displacements = nullptr;
  // size of the larger buffer, which decides about streaming; in an exchange: size of a message between two ranks
  size_t bytes = 0;
  // in an exchange or a user-defined reduction: the larger of the bytes that this rank sends and the bytes it receives
  size_t moved = 0;
  Part part;
  WireCode wire;
  Narrowing narrowing;  // not exact if chunks that cross hosts are narrowed
  uint64_t sequence = 0;
  uint64_t fingerprint = 0;

  // Returns the bytes of this rank's larger buffer.
  size_t bufferBytes() const { return isExchange(code.collective) || code.op == kUserReduction ? moved : bytes; }
};

// Returns the 32 bits of the fingerprint that messages contain.
JCCL_FN inline uint32_t narrow(uint64_t fingerprint) { return static_cast<uint32_t>(fingerprint ^ fingerprint >> 32); }

// Hashes everything that all ranks must agree on. Two ranks whose fingerprints differ are in different operations.
JCCL_FN inline uint64_t fingerprintOf(uint64_t sequence, OperationCode code, size_t count, int root) {
  uint64_t x = sequence * 0x9e3779b97f4a7c15u + static_cast<uint64_t>(code.encode());
  x = (x ^ x >> 32) * 0xd6e8feb86659fd93u + count;
  x = (x ^ x >> 32) * 0xd6e8feb86659fd93u + static_cast<uint64_t>(root);
  x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
  return x ^ x >> 32;
}

// Returns the fingerprint of a message between two ranks, which has no sequence number.
inline uint32_t messageFingerprint(DataType type, size_t count) {
  return narrow(fingerprintOf(0, {Collective::SendRecv, type, ReduceOp::Sum}, count, 0));
}

}  // namespace jccl
