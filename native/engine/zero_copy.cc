#include "engine/zero_copy.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/clock.h"
#include "collectives/ring.h"
#include "primitives/host_primitives.h"

namespace jccl {
namespace {

// Segment number in descriptors for threads of the same process: it marks the offset as a pointer.
constexpr uint64_t kThisProcess = ~uint64_t{0};

// Number of bytes of each buffer that are processed at a time. Chosen from measurements of 4 to 256 KiB: large enough
// for sequential access to reach full speed, and a small part of the core's own cache.
constexpr size_t kChunkBytes = 64 * 1024;

// A process that has been inside a chunk for this time counts as stopped, because a chunk takes less than a millisecond
// of CPU time.
constexpr int64_t kMaxInsideNanos = 1'000'000'000;
constexpr int64_t kNanosPerProcessCheck = 20'000'000;
constexpr int kYieldsInside = 100;
constexpr std::chrono::microseconds kSleepInside{50};

// Returns true if peers read the send buffer of `rank`.
bool readsSend(const Operation& operation, int rank) {
  switch (operation.code.collective) {
    case Collective::AllGather:
    case Collective::Gather:
      return false;  // every rank reads its own send buffer, and stores into receive buffers of others
    case Collective::Broadcast:
    case Collective::Scatter:
      return rank == operation.root;
    default:
      return true;
  }
}

// Returns true if peers write the receive buffer of `rank`.
bool writesRecv(const Operation& operation, int rank) {
  switch (operation.code.collective) {
    case Collective::ReduceScatter:
    case Collective::Scatter:
    case Collective::AllToAll:
      return false;  // every rank stores only into its own receive buffer
    case Collective::Reduce:
    case Collective::Gather:
      return rank == operation.root;
    default:
      return true;
  }
}

// Returns true if the whole buffer is divided among the ranks, so that each rank works on one part of the buffer.
bool isDivided(Collective collective) {
  return collective == Collective::AllReduce || collective == Collective::Broadcast || collective == Collective::Reduce;
}

}  // namespace

ZeroCopy::Result ZeroCopy::run(const Operation& operation, const Transfer& transfer, Waiter& waiter) {
  if (++sequence_ <= declaredTo_) return Result::NotShared;
  if (!publish(operation)) return Result::NotShared;
  bool shared = true;
  const bool collected = collect(operation, waiter, shared);
  if (collected && !shared) return Result::NotShared;
  if (collected && work(operation, transfer, waiter) && finish(waiter)) return Result::Done;
  reclaimBuffers(operation);
  return Result::Failed;
}

// Returns the size of the buffers that peers use. Such a buffer contains the parts of all ranks, or all data of one
// rank.
size_t ZeroCopy::largeBufferBytes(const Operation& operation) const {
  const bool isPair = isExchange(operation.code.collective) && operation.counts == nullptr;
  return operation.bytes * (isPair ? size_ : 1);
}

void ZeroCopy::publish(int peer, uint64_t sequence, const BufferLocations& own) {
  peers_[peer].bufferExchangeOf(rank_).descriptors[sequence % 2].publish(sequence, own);
}

// Publishes descriptors of the last two declared operations. A peer that finds the descriptor of a later operation than
// its current one concludes that the current one is ordinary, so the earlier declared operations need no descriptors.
void ZeroCopy::declareOrdinary() {
  declaredTo_ = sequence_ + std::min(ordinary_ / kOrdinaryShare, kMaxDeclared);
  ordinary_ += declaredTo_ - sequence_;
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_) continue;
    publish(peer, declaredTo_, {});
    publish(peer, declaredTo_ - 1, {});
    peers_[peer].events().notifyIfWaiting();
  }
}

// Publishes where this rank's buffers are. Returns true if all peers can use them.
bool ZeroCopy::publish(const Operation& operation) {
  const bool needSend = readsSend(operation, rank_);
  const bool needRecv = writesRecv(operation, rank_);
  const size_t bytes = largeBufferBytes(operation);
  uint64_t sendSegment = 0, sendOffset = 0, recvSegment = 0, recvOffset = 0;
  const bool isSame = needSend && needRecv && operation.send == operation.recv;
  bool processes = false;
  for (int peer = 0; peer < size_; ++peer) processes = processes || kinds_[peer] == TransportKind::Shm;
  bool shared = true;
  if (processes) {
    shared = resolver_ != nullptr && (!needSend || resolver_->locate(operation.send, bytes, sendSegment, sendOffset)) &&
             (!needRecv || isSame || resolver_->locate(operation.recv, bytes, recvSegment, recvOffset));
    if (isSame) {
      recvSegment = sendSegment;
      recvOffset = sendOffset;
    }
  }
  ordinary_ = shared ? 0 : ordinary_ + 1;
  if (ordinary_ > kOrdinaryShare) {
    declareOrdinary();
    return false;
  }
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_) continue;
    const bool samePlace = kinds_[peer] == TransportKind::P2p;
    BufferLocations own{shared, sendSegment, sendOffset, recvSegment, recvOffset, operation.fingerprint};
    if (samePlace) {
      own.sendSegment = own.recvSegment = kThisProcess;
      own.sendOffset = reinterpret_cast<uint64_t>(operation.send);
      own.recvOffset = reinterpret_cast<uint64_t>(operation.recv);
    }
    publish(peer, sequence_, own);
    peers_[peer].events().notifyIfWaiting();
  }
  return shared;
}

// Waits for the descriptors of all peers. Sets `shared` to false if the buffers of a rank cannot be used. Returns false
// after a failure.
bool ZeroCopy::collect(const Operation& operation, Waiter& waiter, bool& shared) {
  const size_t bytes = largeBufferBytes(operation);
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_) {
      buffers_[peer] = {operation.send, operation.recv};
      continue;
    }
    const BufferDescriptor& descriptor = own_.bufferExchangeOf(peer).descriptors[sequence_ % 2];
    if (!waiter.wait([&] { return descriptor.isPublished(sequence_); }, placeOf(peer))) return false;
    BufferLocations theirs;
    // A peer that is in a later operation did not wait for this rank, so its buffers were ordinary in this operation.
    if (!descriptor.read(sequence_, theirs)) {
      shared = false;
      continue;
    }
    if (!theirs.shared) {
      // The fingerprints are not compared here: a descriptor that was declared in advance contains none. The check
      // words in the slots show a mismatch.
      shared = false;
      continue;
    }
    if (theirs.fingerprint != operation.fingerprint) {
      waiter.fail(Code::Mismatch, placeOf(peer));
      return false;
    }
    if (!shared) continue;
    const auto find = [&](uint64_t segment, uint64_t offset) {
      if (segment == kThisProcess && kinds_[peer] == TransportKind::P2p) return reinterpret_cast<uint8_t*>(offset);
      return resolver_ == nullptr ? nullptr : resolver_->resolve(peer, segment, offset, bytes);
    };
    Buffers& found = buffers_[peer];
    found = {};
    const bool needSend = readsSend(operation, peer);
    const bool needRecv = writesRecv(operation, peer);
    if (needSend) found.send = find(theirs.sendSegment, theirs.sendOffset);
    if (needRecv) found.recv = find(theirs.recvSegment, theirs.recvOffset);
    if ((needSend && found.send == nullptr) || (needRecv && found.recv == nullptr)) {
      // The peer expects this rank to use its memory, and would wait for ever if this rank now went through slots.
      waiter.fail(Code::Transport, placeOf(peer));
      return false;
    }
  }
  return true;
}

// Does this rank's part of the operation. Returns false if this rank failed or a peer revoked its buffers. In the
// latter case waits until the operation fails here, too: by the cause that ended the peer's operation, or at the
// deadline.
bool ZeroCopy::work(const Operation& operation, const Transfer& transfer, Waiter& waiter) {
  PeerAccess& access = own_.peerAccess();
  access.inside.store(1, std::memory_order_seq_cst);
  const bool whole = workInside(operation, transfer, waiter.control());
  access.inside.store(0, std::memory_order_release);
  if (whole) return true;
  if (const uint32_t revoker = access.revokedBy.load(std::memory_order_relaxed); revoker != 0) {
    waiter.wait([] { return false; }, placeOf(static_cast<int>(revoker) - 1));
  }
  return false;
}

// Returns true if this rank may use the next chunk.
bool ZeroCopy::mayContinue(const WaitControl& control) const {
  return own_.peerAccess().revokedBy.load(std::memory_order_seq_cst) == 0 && !control.failed();
}

// Reads and writes this rank's part of all ranks' buffers. No rank writes an element of a buffer that another rank
// reads or writes.
bool ZeroCopy::workInside(const Operation& operation, const Transfer& transfer, const WaitControl& control) {
  const Collective collective = operation.code.collective;
  if (collective == Collective::AllToAll) return pullBlocks(operation, transfer, control);
  ring::Part part{};
  if (isDivided(collective)) {
    ring::share(operation.count, rank_, size_, part.begin, part.count);
  } else {
    part = ring::partOf({operation.counts, operation.displacements, operation.count, 0, 1}, rank_);
  }
  if (part.count == 0) return true;
  const size_t at = part.begin * transfer.elementBytes;
  const void* sources[kMaxFanout + 1];
  int sourceCount = 1;
  if (reduces(collective)) {
    for (int i = 0; i < size_; ++i) sources[i] = buffers_[i].send + at;
    sourceCount = size_;
  } else if (collective == Collective::Broadcast || collective == Collective::Scatter) {
    sources[0] = buffers_[operation.root].send + at;
  } else {
    sources[0] = operation.send;
  }
  void* destinations[kMaxFanout + 1];
  int destinationCount = 0;
  const auto addDestination = [&](uint8_t* destination) {
    const bool isThere = sourceCount == 1 && destination == sources[0];
    if (!isThere) destinations[destinationCount++] = destination;
  };
  if (collective == Collective::ReduceScatter || collective == Collective::Scatter) {
    addDestination(operation.recv);
  } else if (collective == Collective::Reduce || collective == Collective::Gather) {
    addDestination(buffers_[operation.root].recv + at);
  } else {
    // Every rank begins with a different destination, so that the ranks do not all write into the same memory at once.
    for (int i = 0; i < size_; ++i) addDestination(buffers_[(rank_ + i) % size_].recv + at);
  }
  return destinationCount == 0 ||
         walk(transfer, destinations, destinationCount, sources, sourceCount, part.count, control);
}

// Runs an all-to-all: copies this rank's block from the buffer of every rank.
bool ZeroCopy::pullBlocks(const Operation& operation, const Transfer& transfer, const WaitControl& control) {
  const size_t block = operation.count * transfer.elementBytes;
  for (int i = 0; i < size_; ++i) {
    const int peer = (rank_ + i) % size_;
    const void* const source = buffers_[peer].send + rank_ * block;
    void* const destination = operation.recv + peer * block;
    if (!walk(transfer, &destination, 1, &source, 1, operation.count, control)) return false;
  }
  return true;
}

// Processes the elements chunk by chunk, upwards and downwards in alternate operations: each operation begins with the
// data that the previous one used last, which is still in the core's own cache. If all operations went upwards, buffers
// somewhat larger than that cache would evict every line just before it is used again. Returns false if the operation
// must stop.
bool ZeroCopy::walk(const Transfer& transfer, void* const* destinations, int destinationCount,
                    const void* const* sources, int sourceCount, size_t count, const WaitControl& control) const {
  const void* from[kMaxFanout + 1];
  void* to[kMaxFanout + 1];
  // A copy needs no post-operation: averages are divided when they are summed.
  const PostOp post = sourceCount == 1 ? PostOp{} : transfer.post;
  const size_t each = std::max<size_t>(kChunkBytes / transfer.elementBytes, 1);
  const size_t chunks = (count + each - 1) / each;
  const bool down = sequence_ % 2 == 0;
  for (size_t i = 0; i < chunks; ++i) {
    if (!mayContinue(control)) return false;
    const size_t begin = (down ? chunks - 1 - i : i) * each;
    const size_t at = begin * transfer.elementBytes;
    for (int s = 0; s < sourceCount; ++s) from[s] = static_cast<const uint8_t*>(sources[s]) + at;
    for (int d = 0; d < destinationCount; ++d) to[d] = static_cast<uint8_t*>(destinations[d]) + at;
    transfer.reduce(to, destinationCount, from, sourceCount, std::min(each, count - begin), post,
                    transfer.streaming ? ~0u : 0u);
  }
  return true;
}

bool ZeroCopy::finish(Waiter& waiter) {
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_) continue;
    peers_[peer].bufferExchangeOf(rank_).finished[sequence_ % 2].sequence.store(sequence_, std::memory_order_release);
    peers_[peer].events().notifyIfWaiting();
  }
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_) continue;
    const auto& flag = own_.bufferExchangeOf(peer).finished[sequence_ % 2].sequence;
    if (!waiter.wait([&] { return flag.load(std::memory_order_acquire) == sequence_; }, placeOf(peer))) return false;
  }
  return true;
}

// Revokes this rank's buffers after a failed operation, and waits until no peer uses them any more. Isolates the
// receive buffer from peers that do not leave it in time.
void ZeroCopy::reclaimBuffers(const Operation& operation) {
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_) continue;
    peers_[peer].peerAccess().revokedBy.store(static_cast<uint32_t>(rank_) + 1, std::memory_order_seq_cst);
  }
  const int64_t start = monotonicNanos();
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_ || waitUntilOutside(peer, start + kMaxInsideNanos)) continue;
    if (writesRecv(operation, rank_)) {
      resolver_->isolate(peer, operation.recv, largeBufferBytes(operation), monotonicNanos() - start);
    }
  }
}

// Waits until a peer no longer uses this rank's buffers. Returns false if a peer in another process still uses them at
// the deadline: that process is probably stopped. For a thread of this process there is no deadline.
bool ZeroCopy::waitUntilOutside(int peer, int64_t deadline) {
  const std::atomic<uint32_t>& inside = peers_[peer].peerAccess().inside;
  int64_t nextCheck = 0;
  for (int round = 0; inside.load(std::memory_order_seq_cst) != 0; ++round) {
    if (kinds_[peer] == TransportKind::Shm) {
      const int64_t now = monotonicNanos();
      if (now >= deadline) return false;
      if (now >= nextCheck && !resolver_->isRunning(peer)) return true;
      if (now >= nextCheck) nextCheck = now + kNanosPerProcessCheck;
    }
    if (round < kYieldsInside) {
      sched_yield();
    } else {
      std::this_thread::sleep_for(kSleepInside);
    }
  }
  return true;
}

}  // namespace jccl
