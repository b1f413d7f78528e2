// Runs operations in place: ranks read and write the user buffers of all ranks directly.
//
// This requires that every rank can address the buffers of all ranks: the ranks are threads of one process, or the
// buffers are in memory that JCCL shares between processes. Ranks agree for each operation. Each writes a
// buffer-exchange descriptor into the segment of every peer, which says where its buffers are, or that they are
// ordinary. A rank with ordinary buffers goes through slots at once. The others read all descriptors first, and all get
// the same answer. A rank whose buffers have been ordinary for a while declares its next operations ordinary in
// advance, whatever their buffers will be. When it comes to these operations, it writes no descriptors.
//
//     publish descriptors -> wait for all -> work on own part of all buffers -> completion flags -> wait for all
//
// A failed operation returns only when no peer reads or writes this rank's buffers any more: the rank revokes its
// buffers and waits until no peer is inside a chunk. A thread of this process is inside for at most one chunk, and a
// process that has ended is not inside. A process that has been stopped stays inside, and may store into a buffer
// later. The resolver then replaces the pages of the receive buffer, so that late stores reach only the old pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/operation.h"
#include "engine/segment.h"
#include "primitives/wait.h"

namespace jccl {

// Finds memory that processes share, and knows which of these processes still run.
class BufferResolver {
 public:
  virtual ~BufferResolver() = default;

  // Finds [address, address + bytes) of this process in its shared memory. Returns false if these bytes are not shared.
  virtual bool locate(const void* address, size_t bytes, uint64_t& segment, uint64_t& offset) = 0;

  // Returns the address of the peer's shared memory in this process; null if it cannot be mapped.
  virtual uint8_t* resolve(int peer, uint64_t segment, uint64_t offset, size_t bytes) = 0;

  // Returns false once no thread of the peer's process runs any more.
  virtual bool isRunning(int peer) = 0;

  // Makes sure that later stores of the peer do not change [address, address + bytes) of this process. `waitedNanos`:
  // time for which the peer has not left these bytes.
  virtual void isolate(int peer, void* address, size_t bytes, int64_t waitedNanos) = 0;
};

class ZeroCopy {
 public:
  enum class Result { Done, NotShared, Failed };

  ZeroCopy(int rank, int size) : rank_(rank), size_(size), peers_(size), kinds_(size, TransportKind::None) {}

  void setOwn(const Segment& own) { own_ = own; }
  void addPeer(int peer, TransportKind kind, const Segment& segment) {
    peers_[peer] = segment;
    kinds_[peer] = kind;
  }
  void setResolver(BufferResolver* resolver) { resolver_ = resolver; }

  // Returns false for sends and receives, which are between two ranks only, for a barrier, which has no data, and for
  // scans, in which each rank needs the results of others.
  static bool supports(Collective collective) {
    return collective != Collective::SendRecv && collective != Collective::Barrier && !isScan(collective);
  }

  // Runs an operation in place. For each operation, either all ranks call run() or none. NotShared: some rank's buffers
  // are ordinary, and no buffer has been touched.
  Result run(const Operation& operation, const Transfer& transfer, Waiter& waiter);

 private:
  struct Buffers {
    const uint8_t* send = nullptr;
    uint8_t* recv = nullptr;
  };

  // Number of operations that a rank declares ordinary in advance: the number of ordinary operations in a row, divided
  // by kOrdinaryShare, and at most kMaxDeclared.
  static constexpr uint64_t kOrdinaryShare = 4;
  static constexpr uint64_t kMaxDeclared = 64;

  size_t largeBufferBytes(const Operation& operation) const;
  bool publish(const Operation& operation);
  void publish(int peer, uint64_t sequence, const BufferLocations& own);
  void declareOrdinary();
  bool collect(const Operation& operation, Waiter& waiter, bool& shared);
  bool work(const Operation& operation, const Transfer& transfer, Waiter& waiter);
  bool workInside(const Operation& operation, const Transfer& transfer, const WaitControl& control);
  bool pullBlocks(const Operation& operation, const Transfer& transfer, const WaitControl& control);
  bool walk(const Transfer& transfer, void* const* destinations, int destinationCount, const void* const* sources,
            int sourceCount, size_t count, const WaitControl& control) const;
  bool mayContinue(const WaitControl& control) const;
  bool finish(Waiter& waiter);
  void reclaimBuffers(const Operation& operation);
  bool waitUntilOutside(int peer, int64_t deadline);
  WaitPlace placeOf(int peer) const {
    return {peer, kinds_[peer], WaitFor::BufferExchange, Protocol::Simple, sequence_};
  }

  int rank_;
  int size_;
  Segment own_;
  std::vector<Segment> peers_;
  std::vector<TransportKind> kinds_;
  BufferResolver* resolver_ = nullptr;
  uint64_t sequence_ = 0;    // number of calls of run()
  uint64_t ordinary_ = 0;    // number of operations in a row that had ordinary buffers or were declared ordinary
  uint64_t declaredTo_ = 0;  // operations up to this sequence_ are declared ordinary
  std::vector<Buffers> buffers_ = std::vector<Buffers>(size_);
};

}  // namespace jccl
