// Operations that read and write the users' buffers of all ranks in place.
//
// It works when every rank can address every rank's buffers: ranks are threads of one process, or buffers are in
// memory that JCCL shares between processes. Ranks agree per operation: each writes a buffer-exchange descriptor into
// every peer's segment: where its buffers are, or that they are ordinary. A rank with ordinary buffers goes through
// slots at once; the others read all descriptors first, and all come to the same answer. A rank that has had ordinary
// buffers for a while declares the buffers of its next operations ordinary, whatever they turn out to be: for these it
// writes nothing.
//
//     publish descriptors -> wait for all -> work on the own part in all ranks' buffers -> completion flags -> wait for all
//
// A failed operation returns only when no peer reads or writes this rank's buffers any more. The rank revokes its buffers
// and waits until no peer is inside of a chunk. A thread of this process is there for one chunk at most, and a
// process that has ended is there no more. A process that stays too long, because it is stopped, may store later: the
// resolver then replaces the pages of the receive buffer, and late stores go to the old ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/operation.h"
#include "engine/segment.h"
#include "primitives/wait.h"

namespace jccl {

// Finds memory that processes share, and knows of the processes.
class BufferResolver {
 public:
  virtual ~BufferResolver() = default;

  // Where [address, address + bytes) of ours is in shared memory; false if it is not.
  virtual bool locate(const void* address, size_t bytes, uint64_t& segment, uint64_t& offset) = 0;

  // The peer's shared memory in our address space; null if it cannot be had.
  virtual uint8_t* resolve(int peer, uint64_t segment, uint64_t offset, size_t bytes) = 0;

  // False once no thread of the peer's process runs any more.
  virtual bool isRunning(int peer) = 0;

  // The peer is still inside of [address, address + bytes) of ours after `waitedNanos`: from now on its stores no longer
  // change these bytes.
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

  // Messages have partners of their own, and a barrier has no data.
  static bool supports(Collective collective) {
    return collective != Collective::SendRecv && collective != Collective::Barrier;
  }

  // Every rank of the operation calls this, or none. NotShared: one rank's buffers are ordinary, nothing has been touched.
  Result run(const Operation& operation, const Transfer& transfer, Waiter& waiter);

 private:
  struct Buffers {
    const uint8_t* send = nullptr;
    uint8_t* recv = nullptr;
  };

  // Of the operations that a rank declares ordinary in advance: a share of those that were, and so many at most.
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
  uint64_t sequence_ = 0;    // counts only operations in place
  uint64_t ordinary_ = 0;    // with ordinary buffers, one after the other
  uint64_t declaredTo_ = 0;  // all operations to this one are declared ordinary
  std::vector<Buffers> buffers_ = std::vector<Buffers>(size_);
};

}  // namespace jccl
