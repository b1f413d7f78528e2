// Operations between their checks and their launch: what each one is, which memory it touches, and which operations of
// a group share a launch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cuda/runtime/added_algorithm.h"
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
// Formats the range as name=value facts.
std::string describe(const MemoryRange& memory);

// A place in a symmetric window: see symmetric_windows.h. The number of the window is equal on all ranks. It is 0 for
// memory outside of windows, or in a window that not all ranks know yet.
struct WindowPlace {
  uint32_t window = 0;
  uint64_t offset = 0;
  const std::vector<uint64_t>* here = nullptr;   // by peer: the address of its window in this process
  const std::vector<uint64_t>* there = nullptr;  // by peer: the address of this rank's window in its process
  bool behindDescriptor = false;                 // other processes map the memory by a file descriptor

  // Returns a number that differs, almost certainly, for any two places; not 0 for places in windows.
  uint32_t print() const {
    return window == 0 ? 0
                       : static_cast<uint32_t>((window * 0x9e3779b97f4a7c15u + offset) * 0xd6e8feb86659fd93u >> 32) | 1;
  }
};

struct DeviceOperation {
  // For sends and receives only the code is set: SendRecv.
  Operation operation;
  std::vector<int64_t> counts;            // for a v-form; `operation` points into it
  std::vector<PointToPointTask> tasks;    // for operations that consist of sends and receives
  bool unreachable = false;               // for operations in place: true if a peer cannot reach a buffer
  const AddedAlgorithm* added = nullptr;  // launches the operation; null: a kernel for ring, tree and direct
  // In place: address of our buffers in each peer's process, by peer. Empty if all peers use our own addresses.
  std::vector<uint64_t> sendThere, recvThere;
  // In place: the places of buffers in windows, which need no sendThere and recvThere.
  WindowPlace sendPlace, recvPlace;
  uint32_t windows = 0;          // Work::windows
  bool refersToWindows = false;  // receivers read large messages out of windows: see exchange_kernel.h
  bool triesCopies = false;      // copy engines execute the operation if the inputs of all ranks are in windows

  bool isCollective() const { return operation.code.collective != Collective::SendRecv; }
  // Returns true if the exchange kernel executes the operation.
  bool isExchange() const { return !isCollective() || jccl::isExchange(operation.code.collective); }
  bool isInPlace() const { return (operation.choice.flags & Choice::kZeroCopyUsed) != 0; }
};

// Memory that an operation reads and writes on its own rank.
struct TouchedMemory {
  std::vector<MemoryRange> reads, writes;

  void add(const DeviceOperation& operation, int rank);
  void clear() {
    reads.clear();
    writes.clear();
  }
  // Returns true if one of the two writes memory that the other reads or writes.
  bool conflictsWith(const TouchedMemory& other) const;
};

struct MemoryCopy {
  uint8_t* to;
  const uint8_t* from;
  size_t bytes;
};
// Returns the copies that execute the operations of a communicator with one rank. With one operand every reduction,
// also an average, is that operand. Copies of memory to itself are left out.
std::vector<MemoryCopy> ownCopies(std::span<const DeviceOperation> operations);

// Counts the bytes of arguments that the operations of one launch add to its descriptor: see InlineArguments. One
// kernel executes all these operations.
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

// Divides the operations of a group into launches, and keeps their order. Adjacent operations share a launch if one
// kernel executes them all, none touches memory that another one writes, and their arguments together fit into
// `maxBytes`. Sends and receives are not limited by `maxBytes`. Ranks may divide differently, because each channel
// executes the operations in order, however many a launch contains. An object keeps its memory for the next group.
class GroupDivision {
 public:
  // The result is valid until the next call.
  std::span<const std::span<const DeviceOperation>> intoLaunches(std::span<const DeviceOperation> group, int rank,
                                                                 int size, size_t maxBytes);

 private:
  std::vector<std::span<const DeviceOperation>> launches_;
  TouchedMemory touched_, own_;
};

}  // namespace jccl::device
