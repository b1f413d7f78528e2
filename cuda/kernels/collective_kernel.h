// The body of the kernels: maps a launch descriptor to the schedules of native/collectives, the same source as the host's.
#pragma once

#include "collectives/direct.h"
#include "collectives/ring.h"
#include "collectives/tree.h"
#include "cuda/kernels/block.h"
#include "cuda/kernels/launch.h"
#include "cuda/primitives/device_primitives.h"
#include "engine/slicing.h"

namespace jccl::device {

// The links of a block, as the schedule counts them.
class Block {
 public:
  JCCL_DEVICE Block(BlockState& state, const DeviceChannel& channel) : state_(state), channel_(channel) {}

  // Links to and from so many peers; peerOf(i) names them. All threads have to meet before they are used.
  template <class SendPeer, class RecvPeer>
  JCCL_DEVICE void open(int count, SendPeer&& sendPeer, RecvPeer&& recvPeer) {
    count_ = count;
    for (int i = thread(); i < count; i += threads()) {
      state_.sends[i].open(channel_.sends, sendPeer(i));
      state_.recvs[i].open(channel_.recvs, recvPeer(i));
    }
  }

  // After a failure the counters stay as they were: the communicator has failed for good.
  JCCL_DEVICE void close() {
    simt::syncBlock();
    for (int i = thread(); i < count_; i += threads()) {
      state_.sends[i].close(channel_.sends);
      state_.recvs[i].close(channel_.recvs);
    }
  }

  JCCL_DEVICE static int thread() { return static_cast<int>(simt::threadIndex()); }
  JCCL_DEVICE static int threads() { return static_cast<int>(simt::blockThreads()); }

 private:
  BlockState& state_;
  const DeviceChannel& channel_;
  int count_ = 0;
};

template <Protocol P, class E, class Faults = NoFaults>
class CollectiveKernel {
  using Primitives = DevicePrimitives<P, E, Faults>;

 public:
  // Whatever is the same for all threads is in shared memory: registers are for what moves.
  struct Shared {
    BlockState block;
    Storage<Work> work;
    DeviceTransfer transfer;
    Storage<Primitives> primitives;
    Storage<Primitives> down;  // of a tree
    Storage<RingPlan> ring;
    Storage<TreePlan> tree;
    Storage<DirectPlan> direct;
    Storage<PartPlan> parts;
    uint64_t staging[P == Protocol::LL128 ? kMaxBlockThreads / simt::kWarpThreads * kStagingWords : 1];
  };

  JCCL_DEVICE static void run(const Launch& launch, Shared& shared) {
    DeviceChannel& channel = launch.channels[simt::blockIndex()];
    if (!beginBlock(shared.block.wait, channel, launch.control)) return;
    forWorks(launch, shared.work, shared.block.wait,
             [&](const Work& work) { return runWork(launch, work, channel, shared); });
  }

 private:
  // Returns whether it ended well.
  JCCL_DEVICE static bool runWork(const Launch& launch, const Work& work, DeviceChannel& channel, Shared& shared) {
    Block block(shared.block, channel);
    if (Block::thread() == 0) describe(launch, work, channel, shared);
    bool failed = false;
    switch (work.choice.algorithm) {
      case Algorithm::Ring:
        failed = ring(launch, work, channel, block, shared);
        break;
      case Algorithm::Tree:
      case Algorithm::CollNetChain:
        failed = tree(launch, work, channel, block, shared);
        break;
      case Algorithm::Direct:
        failed = direct(launch, work, block, shared);
        break;
      case Algorithm::Nvls:
        break;  // a kernel of its own
      case Algorithm::CollNetDirect:
        break;  // of host ranks alone
    }
    if (failed) return false;
    block.close();
    if (Block::thread() == 0) countOperations(channel, 1);
    return true;
  }

  JCCL_DEVICE static void describe(const Launch& launch, const Work& work, const DeviceChannel& channel,
                                   Shared& shared) {
    const DataType type = work.code.type;
    const uint32_t element = static_cast<uint32_t>(sizeOf(type));
    const size_t slice = sliceCountOf(work.choice, launch.shape.payloadCapacity(P), element);
    const uint32_t divisor = work.code.op == ReduceOp::Avg ? static_cast<uint32_t>(launch.size) : 1;
    const uint64_t operation = operationsOf(channel) + 1;
    const uint64_t print = work.fingerprint ^ fingerprintOf(operation, work.code, work.count, work.root);
    const Reduction reduction = reductionOf(type, work.code.op, divisor);
    const uint32_t reduced = static_cast<uint32_t>(type) | static_cast<uint32_t>(work.code.op) << 8;
    shared.transfer = DeviceTransfer{work.send, work.recv, element, slice, reduction, narrow(print), reduced};
    shared.block.staging = shared.staging;
    shared.parts.make(work.counts, work.displacements, work.count, size_t{simt::blockIndex()},
                      size_t{work.choice.channels});
  }

  JCCL_DEVICE static bool ring(const Launch& launch, const Work& work, const DeviceChannel& channel, Block& block,
                               Shared& shared) {
    const int neighbours = launch.size == 1 ? 0 : 1;
    block.open(
        neighbours, [&](int) { return channel.ringOrder[1]; }, [&](int) { return channel.ringOrder[launch.size - 1]; });
    const Collective collective = work.code.collective;
    if (Block::thread() == 0) {
      shared.primitives.make(shared.block, launch.shape, shared.transfer, LinkRange{0, neighbours, 0, neighbours, 0});
      shared.ring.make();
      RingPlan& plan = shared.ring.get();
      plan.order = channel.ringOrder;
      plan.size = launch.size;
      plan.position = channel.ringPosition;
      plan.chunkCount = chunkCountOf(collective, shared.transfer.sliceCount);
      ring::share(work.count, simt::blockIndex(), work.choice.channels, plan.begin, plan.count);
    }
    simt::syncBlock();
    Primitives& primitives = shared.primitives.get();
    const RingPlan& plan = shared.ring.get();
    switch (collective) {
      case Collective::AllReduce:
      case Collective::Barrier:
        ringAllReduce(primitives, plan);
        break;
      case Collective::AllGather:
        ringAllGather(primitives, plan, shared.parts.get());
        break;
      case Collective::ReduceScatter:
        ringReduceScatter(primitives, plan, shared.parts.get());
        break;
      case Collective::Broadcast:
        ringBroadcast(primitives, plan, work.root);
        break;
      case Collective::Reduce:
        ringReduce(primitives, plan, work.root);
        break;
      default:
        break;  // exchanges have a kernel of their own
    }
    return primitives.failed();
  }

  // Of a tree over all ranks, or of a host's chain, whose root is a network that reduces.
  JCCL_DEVICE static bool tree(const Launch& launch, const Work& work, const DeviceChannel& channel, Block& block,
                               Shared& shared) {
    const bool chain = P == Protocol::Simple && work.choice.algorithm == Algorithm::CollNetChain;
    const int parent = chain ? channel.chainUp : channel.treeUp;
    const bool root = parent < 0;
    const int children = !chain ? channel.treeChildren : channel.chainDown < 0 ? 0 : 1;
    const int32_t* below = chain ? &channel.chainDown : channel.treeDown;
    // The children first, then the parent; then, of a chain's leader, the leaders of other hosts.
    const int links = children + (root ? 0 : 1);
    const bool leads = chain && parent == launch.size;
    const auto peerOf = [&](int i, int leader) { return i < children ? below[i] : i < links ? parent : leader; };
    block.open(
        links + (leads ? 1 : 0), [&](int i) { return peerOf(i, channel.leaderAfter); },
        [&](int i) { return peerOf(i, channel.leaderBefore); });
    // That all hosts are in this operation nothing in the network checks.
    if (leads && !compareWithLeaders(launch, shared, LinkRange{0, 0, links, 1, 0})) return true;
    if (Block::thread() == 0) {
      shared.primitives.make(shared.block, launch.shape, shared.transfer,
                             LinkRange{0, children, root ? 0 : children, root ? children : 1, 0});
      shared.down.make(shared.block, launch.shape, shared.transfer, LinkRange{children, root ? 0 : 1, 0, children, 0});
      shared.tree.make();
      TreePlan& plan = shared.tree.get();
      plan.root = root;
      plan.leaf = children == 0;
      plan.chunkCount = shared.transfer.sliceCount;
      ring::share(work.count, simt::blockIndex(), work.choice.channels, plan.begin, plan.count);
    }
    simt::syncBlock();
    Primitives& up = shared.primitives.get();
    Primitives& down = shared.down.get();
    treeAllReduce(up, down, shared.tree.get());
    if (up.failed() || down.failed()) return true;
    return leads && !compareWithLeaders(launch, shared, LinkRange{links, 1, 0, 0, 0});
  }

  // Sends an empty chunk to a leader, or gets one: whether it is of the same operation.
  JCCL_DEVICE static bool compareWithLeaders(const Launch& launch, Shared& shared, const LinkRange& link) {
    simt::syncBlock();
    if (Block::thread() == 0) shared.primitives.make(shared.block, launch.shape, shared.transfer, link);
    simt::syncBlock();
    Primitives& primitives = shared.primitives.get();
    if (link.sendCount != 0) {
      primitives.send(0, 0);
    } else {
      primitives.recv(0, 0);
    }
    const bool same = !primitives.failed();
    simt::syncBlock();
    return same;
  }

  JCCL_DEVICE static bool direct(const Launch& launch, const Work& work, Block& block, Shared& shared) {
    const int peers = launch.size - 1;
    const auto peerOf = [&](int i) { return i < launch.rank ? i : i + 1; };
    block.open(peers, peerOf, peerOf);
    if (Block::thread() == 0) {
      shared.primitives.make(shared.block, launch.shape, shared.transfer, LinkRange{0, peers, 0, peers, launch.rank});
      shared.direct.make();
      DirectPlan& plan = shared.direct.get();
      plan.rank = launch.rank;
      plan.size = launch.size;
      plan.chunkCount = shared.transfer.sliceCount;
      ring::share(work.count, simt::blockIndex(), work.choice.channels, plan.begin, plan.count);
    }
    simt::syncBlock();
    Primitives& primitives = shared.primitives.get();
    const DirectPlan& plan = shared.direct.get();
    switch (work.code.collective) {
      case Collective::AllReduce:
        if ((work.choice.flags & Choice::kTwoShot) != 0) {
          directAllReduceTwoShot(primitives, plan);
        } else {
          directAllReduce(primitives, plan);
        }
        break;
      case Collective::Barrier:
        directAllReduce(primitives, plan);
        break;
      case Collective::AllGather:
        directAllGather(primitives, plan, shared.parts.get());
        break;
      case Collective::ReduceScatter:
        directReduceScatter(primitives, plan, shared.parts.get());
        break;
      case Collective::Broadcast:
        directBroadcast(primitives, plan, work.root);
        break;
      case Collective::Reduce:
        directReduce(primitives, plan, work.root);
        break;
      default:
        break;
    }
    return primitives.failed();
  }
};

}  // namespace jccl::device
