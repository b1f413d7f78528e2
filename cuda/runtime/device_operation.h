// Operations between their checks and their launch: what each one is and which memory it touches, and which of a group go
// into one launch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/exchange_tasks.h"
#include "engine/operation.h"

namespace jccl::device {

struct MemoryRange {
  const uint8_t* begin = nullptr;
  size_t bytes = 0;

  bool overlaps(const MemoryRange& other) const {
    return bytes != 0 && other.bytes != 0 && begin < other.begin + other.bytes && other.begin < begin + bytes;
  }
  bool covers(const MemoryRange& other) const {
    const uintptr_t offset = reinterpret_cast<uintptr_t>(other.begin) - reinterpret_cast<uintptr_t>(begin);
    return offset <= bytes && other.bytes <= bytes - offset;
  }
};
// As name=value facts.
std::string describe(const MemoryRange& memory);

struct DeviceOperation {
  Operation operation;                  // of sends and receives only the code counts: SendRecv
  std::vector<int64_t> counts;          // of a v-form; `operation` points into it
  std::vector<PointToPointTask> tasks;  // of all that consists of sends and receives
  bool unreachable = false;             // in place: whether a peer cannot reach a buffer
  // In place, by peer, where its process has the buffers; empty where all have them under their own addresses.
  std::vector<uint64_t> sendThere, recvThere;

  bool isCollective() const { return operation.code.collective != Collective::SendRecv; }
  // Whether the exchange kernel executes it.
  bool isExchange() const { return !isCollective() || jccl::isExchange(operation.code.collective); }
  bool isInPlace() const { return (operation.choice.flags & Choice::kZeroCopyUsed) != 0; }
  bool isCollNet() const { return jccl::isCollNet(operation.choice.algorithm); }
  bool isNvls() const { return operation.choice.algorithm == Algorithm::Nvls; }
};

// What an operation reads and writes on its own rank.
struct TouchedMemory {
  std::vector<MemoryRange> reads, writes;

  void add(const DeviceOperation& operation, int rank);
  // Whether what one of them writes is read or written by the other.
  bool conflictsWith(const TouchedMemory& other) const;
};

// What a launch of operations needs beside its descriptor; one kernel executes all of them.
class ArgumentBytes {
 public:
  explicit ArgumentBytes(int size) : size_(static_cast<size_t>(size)) {}
  void add(const DeviceOperation& operation);
  size_t total() const;

 private:
  size_t size_;
  size_t bytes_ = 0, works_ = 0, tasks_ = 0;
};
size_t argumentBytes(std::span<const DeviceOperation> operations, int size);

// Cuts the operations of a group, which are to happen in their order, into launches: adjacent ones go together if one
// kernel executes them, none of them touches what another writes, and their arguments have no more than `maxBytes`; sends
// and receives are never cut apart. Every rank may cut as it likes, because each channel takes the operations in their order however many a launch has.
std::vector<std::span<const DeviceOperation>> intoLaunches(std::span<const DeviceOperation> group, int rank, int size,
                                                           size_t maxBytes);

}  // namespace jccl::device
