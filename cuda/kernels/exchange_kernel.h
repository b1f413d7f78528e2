// The body of the kernel for many sends and receives at once, none of which can hold up another. It corresponds to
// native/engine/point_to_point.h, with the same slots and check words.
//
// Tasks to one peer run in order, and so do tasks from one peer. Each such queue has a thread that polls whether its
// next chunk can move. A team of threads moves all chunks that can; then the threads of the queues publish them and poll
// again. Each channel of a message moves its part, even an empty one.
//
// If a launch both sends and receives, half of the warps send and the other half receives. The teams meet only at the
// beginning and at the end, so that one moves data while the other polls, or waits for its fence. Neither direction can
// hold up the other.
//
// A receiver can read a message out of the sender's buffer, if the sender says so: the first slot of the message then has
// the address of the data instead of the data. The receiver frees the slot when it has read everything. The sender's
// launch ends when all these slots are free.
//
// A block holds kMaxQueues queues. A rank with more of them runs these in windows, one after the other; each team has its
// own windows.
#pragma once

#include "collectives/ring.h"
#include "cuda/kernels/block.h"
#include "cuda/kernels/launch.h"
#include "cuda/primitives/elements.h"
#include "cuda/primitives/faults.h"
#include "cuda/primitives/links.h"
#include "cuda/primitives/move.h"

namespace jccl::device {

constexpr uint32_t kMaxQueues = 2 * kMaxLinks;  // of a window

template <class Faults = NoFaults>
class ExchangeKernel {
  // A queue of messages and its next chunk. The queue's thread writes this state; after the barrier all threads read
  // it.
  struct Queue {
    ActiveLink link;
    const uint8_t* source;
    uint8_t* destination;
    size_t done;   // bytes already moved of this channel's share
    size_t share;  // bytes of the current message that this channel moves
    uint32_t task;
    uint32_t end;
    uint32_t chunk;
    uint32_t fingerprint;
    bool sends;
    bool refers;  // the receiver reads the current message out of the sender's buffer
    bool ready;
    uint64_t readEnd;  // for a sender: the launch ends only when the receiver has freed all steps before this one
  };

 public:
  struct Shared {
    WaitControl wait;
    Queue queues[kMaxQueues];
    const uint8_t* copyFrom;
    uint8_t* copyTo;
    uint64_t readyRound[2];  // by team: last round in which a queue was ready, counted from 1
  };

  JCCL_DEVICE static void run(const ExchangeLaunch& launch, Shared& shared) {
    DeviceChannel& channel = launch.channels[simt::blockIndex()];
    if (simt::threadIndex() == 0) shared.readyRound[0] = shared.readyRound[1] = 0;
    if (beginBlock(shared.wait, channel, launch.control)) ExchangeKernel(launch, channel, shared).execute();
    endBlock(shared.wait, launch.channels, launch.control);
  }

 private:
  // The queues of one direction: `first` to `end` have not ended, and `count` of them are in the window.
  struct Direction {
    uint32_t first;
    uint32_t count;
    uint32_t end;
  };

  // The maximum of bytes that a receiver reads out of a sender's buffer before it polls its other queues; an estimate.
  static constexpr uint32_t kMaxReadBytes = 4 * kMaxChunkBytes;
  static constexpr int kPolls = 32;
  static constexpr uint32_t kRoundsPerClock = 64;
  // Each team has barriers of its own, except kEnded.
  enum Barrier : int { kReady = 1, kFailed = 2, kMoved = 3, kEnded = 7 };
  static constexpr int kTeamBarriers = 3;

  JCCL_DEVICE ExchangeKernel(const ExchangeLaunch& launch, DeviceChannel& channel, Shared& shared)
      : launch_(launch),
        channel_(channel),
        shared_(shared),
        tasks_(resolved(launch.tasks, launch.inlined)),
        queues_(resolved(launch.queues, launch.inlined)),
        thread_(simt::threadIndex()),
        threads_(simt::blockThreads()),
        sends_{0, 0, launch.sendQueueCount},
        recvs_{launch.sendQueueCount, 0, launch.queueCount} {}

  // Makes this thread a member of the team that sends or of the one that receives, if there are both.
  JCCL_DEVICE void joinTeam() {
    const unsigned sending = threads_ / simt::kWarpThreads / 2 * simt::kWarpThreads;
    if (launch_.sendQueueCount == 0 || launch_.sendQueueCount == launch_.queueCount || sending == 0) return;
    maxSlots_ = kMaxLinks;
    if (thread_ < sending) {
      threads_ = sending;
      recvs_.first = recvs_.end;
    } else {
      team_ = 1;
      thread_ -= sending;
      threads_ -= sending;
      sends_.first = sends_.end;
      firstSlot_ = kMaxLinks;
    }
  }
  JCCL_DEVICE int barrier(Barrier which) const { return which + team_ * kTeamBarriers; }

  JCCL_DEVICE void execute() {
    copyOwn();
    joinTeam();
    bool moved = true;
    while (moved && nextWindow()) {
      open();
      moved = moveAll();
      if (moved) forQueues([&](Queue& queue) { queue.link.close(endsOf(queue)); });
    }
    if (simt::syncOr(kEnded, static_cast<int>(simt::blockThreads()), !moved)) return;
    if (launch_.collectives != 0 && simt::threadIndex() == 0) countOperations(channel_, launch_.collectives);
  }

  // Advances to the team's next window. Returns false if there is none. If not all remaining queues fit, a window has
  // those of one number, of both directions: then the peers run the same window or have no earlier one to wait for.
  // Needs no barrier: the thread that opens a queue is the one that closed the queue before it in its place.
  JCCL_DEVICE bool nextWindow() {
    sends_.first += sends_.count;
    recvs_.first += recvs_.count;
    sends_.count = sends_.end - sends_.first;
    recvs_.count = recvs_.end - recvs_.first;
    if (sends_.count + recvs_.count > maxSlots_) {
      const uint32_t sending = windowOf(sends_), receiving = windowOf(recvs_);
      const uint32_t window = sending < receiving ? sending : receiving;
      limit(sends_, window);
      limit(recvs_, window);
    }
    endSlot_ = firstSlot_ + sends_.count + recvs_.count;
    return endSlot_ != firstSlot_;
  }
  JCCL_DEVICE uint32_t windowOf(const Direction& all) const {
    return all.count == 0 ? ~uint32_t{0} : queues_[all.first].window;
  }
  JCCL_DEVICE void limit(Direction& all, uint32_t window) const {
    uint32_t count = 0;
    while (count < all.count && queues_[all.first + count].window == window) ++count;
    all.count = count;
  }

  // Calls body() for the queues of this thread.
  template <class Body>
  JCCL_DEVICE void forQueues(Body&& body) {
    for (uint32_t q = firstSlot_ + thread_; q < endSlot_; q += threads_) body(shared_.queues[q]);
  }

  JCCL_DEVICE void move(const uint8_t* const* source, uint8_t* const* destination, size_t bytes) const {
    Copier(Team{thread_, threads_}, Operands{source, 1, destination, 1}).run(bytes);
  }

  // Returns true if this channel moves a part of the task, and sets `begin` and `share` to it.
  JCCL_DEVICE bool shareOf(const ExchangeTask& task, size_t& begin, size_t& share) const {
    const uint32_t part = task.partOf(simt::blockIndex(), launch_.rank);
    if (part >= task.channels) return false;
    ring::share(task.bytes, part, size_t{task.channels}, begin, share);
    return true;
  }
  JCCL_DEVICE const ConnectionShape& shapeOf(const ActiveLink& link) const {
    return link.compact ? launch_.compact : launch_.shape;
  }

  JCCL_DEVICE void copyOwn() {
    for (uint32_t t = launch_.firstCopy; t < launch_.taskCount; ++t) {
      const ExchangeTask& task = tasks_[t];
      size_t begin = 0, share = 0;
      if (!shareOf(task, begin, share) || task.other == task.address || share == 0) continue;
      if (thread_ == 0) {
        shared_.copyFrom = task.address + begin;
        shared_.copyTo = task.other + begin;
      }
      simt::syncBlock();
      move(&shared_.copyFrom, &shared_.copyTo, share);
      simt::syncBlock();
    }
  }

  JCCL_DEVICE void open() {
    for (uint32_t q = firstSlot_ + thread_; q < endSlot_; q += threads_) {
      const uint32_t at = q - firstSlot_;
      const ExchangeQueue& tasks = queues_[at < sends_.count ? sends_.first + at : recvs_.first + (at - sends_.count)];
      Queue& queue = shared_.queues[q];
      queue.task = tasks.first;
      queue.end = tasks.first + tasks.count;
      const ExchangeTask& first = tasks_[queue.task];
      queue.sends = first.kind == ExchangeTask::Kind::Send;
      queue.readEnd = 0;
      queue.link.open(endsOf(queue), first.peer);
      beginTask(queue);
    }
  }

  JCCL_DEVICE LinkEnd* endsOf(const Queue& queue) const { return queue.sends ? channel_.sends : channel_.recvs; }

  // Begins the next task of which this channel moves a part.
  JCCL_DEVICE void beginTask(Queue& queue) {
    size_t begin = 0;
    while (queue.task != queue.end && !shareOf(tasks_[queue.task], begin, queue.share)) ++queue.task;
    if (queue.task == queue.end) return;
    const ExchangeTask& task = tasks_[queue.task];
    queue.done = 0;
    queue.refers = false;
    queue.fingerprint = task.fingerprint;
    if (task.collective != 0) {
      queue.fingerprint ^= narrow((operationsOf(channel_) + task.collective) * 0x9e3779b97f4a7c15u);
    }
    if (queue.sends) {
      queue.refers = task.other != nullptr && queue.share != 0;
      queue.source = (queue.refers ? task.other : task.address) + begin;
    } else {
      queue.destination = task.address + begin;
    }
  }

  // Returns true if the queue has no more messages, and the receiver has read all of them.
  JCCL_DEVICE static bool hasEnded(Queue& queue) {
    if (queue.task != queue.end) return false;
    ActiveLink& link = queue.link;
    if (link.cachedHead < queue.readEnd) link.cachedHead = simt::loadAcquire(link.head);
    return link.cachedHead >= queue.readEnd;
  }

  // Returns the check word of a slot with the address of a message of `share` bytes. It differs in its lowest bit from
  // that of a slot with the message's first chunk.
  JCCL_DEVICE uint32_t referenceWord(const Queue& queue) const {
    const uint32_t word = checkWord(queue.fingerprint, narrow(queue.share * 0x9e3779b97f4a7c15u));
    return (word & ~uint32_t{1}) | (~checkWord(queue.fingerprint, chunkOf(queue.share)) & 1);
  }
  // Returns the bytes of the next chunk. Chunks have at most kMaxChunkBytes, even if slots are larger, so that the
  // receiver can begin early.
  JCCL_DEVICE uint32_t chunkOf(size_t left) const {
    const uint32_t maxBytes = launch_.compact.simpleSlotBytes();
    return left < maxBytes ? static_cast<uint32_t>(left) : maxBytes;
  }
  JCCL_DEVICE static uint32_t readOf(size_t left) {
    return left < kMaxReadBytes ? static_cast<uint32_t>(left) : kMaxReadBytes;
  }

  // Returns true when all messages have been moved, false after a failure.
  JCCL_DEVICE bool moveAll() {
    const Waiter waiter(shared_.wait);
    Waiter::WaitMemory memory;
    for (uint32_t& round = round_;; ++round) {
      bool ready = false, failed = false, waits = false;
      for (int poll = 0; poll < kPolls && !failed; ++poll) {
        waits = false;
        forQueues([&](Queue& queue) {
          queue.ready = queue.task != queue.end && !failed && canMove(waiter, queue, failed);
          ready = ready || queue.ready;
          waits = waits || !hasEnded(queue);
        });
        if (!waits) break;
        // One ready queue ends the polling of all threads, so that the team can move its chunk.
        if (ready) {
          simt::storeShared(&shared_.readyRound[team_], round + uint64_t{1});
          break;
        }
        simt::pause();
        if (simt::loadShared(&shared_.readyRound[team_]) > round) break;
      }
      if (!ready && waits && !failed) failed = !waiter.goesOn(memory, placeOf());
      if (ready) {
        waiter.forget(memory);
        memory = {};
        // A thread whose queues are always ready must check the abort word and the deadline, too.
        if (round % kRoundsPerClock == 0) failed = failed || !waiter.goesOn(memory, placeOf());
      }
      const bool any = simt::syncOr(barrier(kReady), static_cast<int>(threads_), ready || waits);
      if (simt::syncOr(barrier(kFailed), static_cast<int>(threads_), failed)) return false;
      if (!any) return true;
      for (uint32_t q = firstSlot_; q < endSlot_; ++q) {
        const Queue& queue = shared_.queues[q];
        if (queue.ready && queue.chunk != 0) moveChunk(queue);
      }
      simt::syncThreads(barrier(kMoved), static_cast<int>(threads_));
      forQueues([&](Queue& queue) {
        if (queue.ready) post(queue);
      });
    }
  }

  JCCL_DEVICE void moveChunk(const Queue& queue) const { move(&queue.source, &queue.destination, queue.chunk); }

  // Returns the place where this thread waits: the next step of a queue that is not ready. If all its queues are ready,
  // returns the next step of one of them.
  JCCL_DEVICE WaitPlace placeOf() {
    WaitPlace place{-1, TransportKind::None, WaitFor::Data, Protocol::Simple, 0};
    forQueues([&](Queue& queue) {
      if (!hasEnded(queue) && (place.peer < 0 || !queue.ready)) {
        place = queue.link.place(queue.sends ? WaitFor::Credit : WaitFor::Data, Protocol::Simple, queue.link.step);
      }
    });
    return place;
  }

  // Returns true if the queue's next chunk can move, and sets its source and destination.
  JCCL_DEVICE bool canMove(const Waiter& waiter, Queue& queue, bool& failed) {
    ActiveLink& link = queue.link;
    const size_t left = queue.share - queue.done;
    if (!queue.sends && queue.refers) {
      queue.chunk = readOf(left);
      return true;
    }
    const ConnectionShape& shape = shapeOf(link);
    queue.chunk = chunkOf(left);
    uint8_t* chunk = link.slots + shape.simpleChunkInSlots(link.step, queue.chunk, link.rotates);
    if (queue.sends) {
      if (link.step >= link.cachedHead + kSlots) {
        link.cachedHead = simt::loadAcquire(link.head);
        if (link.step >= link.cachedHead + kSlots) return false;
      }
      queue.destination = chunk;
      if (queue.refers) queue.chunk = 0;
      return true;
    }
    bool matches = false;
    const uint8_t* header = link.block + shape.slotHeader(link.step);
    if (!link.isPublished(header, checkWord(queue.fingerprint, queue.chunk), matches)) return false;
    if (!matches && queue.done == 0 && link.refers(header, referenceWord(queue))) {
      queue.refers = true;
      queue.source = reinterpret_cast<const uint8_t*>(simt::loadPeer<8>(header + ActiveLink::kReference));
      queue.chunk = readOf(left);
      return true;
    }
    if (!matches) {
      waiter.fail(Code::Mismatch, link.place(WaitFor::Data, Protocol::Simple, link.step));
      failed = true;
      return false;
    }
    queue.source = chunk;
    return true;
  }

  JCCL_DEVICE void post(Queue& queue) {
    ActiveLink& link = queue.link;
    if (queue.sends) {
      uint8_t* header = link.block + shapeOf(link).slotHeader(link.step);
      const uint32_t check = queue.refers ? referenceWord(queue) : checkWord(queue.fingerprint, queue.chunk);
      if (queue.refers) {
        simt::storePeer<8>(header + ActiveLink::kReference, reinterpret_cast<uint64_t>(queue.source));
      } else if (link.hasProxy()) {
        simt::storePeer<1>(header + offsetof(SlotHeader, protocol), static_cast<uint8_t>(Protocol::Simple));
        simt::storePeer<8>(header + offsetof(SlotHeader, check), check | uint64_t{queue.chunk} << 32);
      }
      if constexpr (!Faults::kSkipsFence) simt::fence();
      simt::storeRelaxed(reinterpret_cast<uint64_t*>(header),
                         link.hasProxy() ? link.step + 1 : SlotWord::of(link.step, check));
      ++link.step;
      if (queue.refers) {
        queue.readEnd = link.step;
        queue.done = queue.share;
      }
    }
    queue.done += queue.chunk;
    queue.source += queue.chunk;
    if (!queue.sends) {
      queue.destination += queue.chunk;
      if (queue.refers && queue.done < queue.share) return;
      if constexpr (!Faults::kSkipsFence) simt::fence();
      simt::storeRelaxed(link.head, ++link.step);
    }
    if (queue.done < queue.share) return;
    ++queue.task;
    beginTask(queue);
  }

  const ExchangeLaunch& launch_;
  DeviceChannel& channel_;
  Shared& shared_;
  const ExchangeTask* const tasks_;
  const ExchangeQueue* const queues_;
  // This thread's index in its team, and the team's size.
  unsigned thread_;
  unsigned threads_;
  int team_ = 0;
  uint32_t round_ = 0;
  // The team's queues of each direction that have not ended.
  Direction sends_;
  Direction recvs_;
  // The team's places in Shared::queues: a window needs at most `maxSlots_`, and the current one ends at `endSlot_`.
  uint32_t firstSlot_ = 0;
  uint32_t maxSlots_ = kMaxQueues;
  uint32_t endSlot_ = 0;
};

}  // namespace jccl::device
