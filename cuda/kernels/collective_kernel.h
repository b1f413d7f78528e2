// The body of the collective kernels: runs the schedules of native/collectives, from the same source as on the host.
#pragma once

#include "collectives/direct.h"
#include "collectives/ring.h"
#include "collectives/tree.h"
#include "cuda/kernels/linked_block.h"

namespace jccl::device {

template <Protocol P, class E, class Faults = NoFaults>
class CollectiveKernel {
  using Primitives = DevicePrimitives<P, E, Faults>;

 public:
  // Shared memory contains everything that is equal for all threads, so that registers are free for moving data.
  struct Shared {
    BlockState block;
    Storage<Work> work;
    DeviceTransfer transfer;
    Storage<Primitives> primitives;
    Storage<Primitives> down;  // for the way down a tree; only trees use it
    Storage<RingPlan> ring;
    Storage<TreePlan> tree;
    Storage<DirectPlan> direct;
    Storage<PartPlan> parts;
    uint64_t staging[P == Protocol::LL128 ? kMaxBlockThreads / simt::kWarpThreads * kStagingWords : 1];
  };

  JCCL_DEVICE static void run(const Launch& launch, Shared& shared) {
    DeviceChannel& channel = launch.channels[simt::blockIndex()];
    Faults::pass(KernelPoint::Entry, launch.rank);
    if (beginBlock(shared.block.wait, channel, launch.control)) {
      Faults::pass(KernelPoint::HostWords, launch.rank);
      forWorks(launch, shared.work, shared.block.wait,
               [&](const Work& work) { return runWork(launch, work, channel, shared); });
    }
    endBlock(shared.block.wait, launch.channels, launch.control);
  }

 private:
  // Returns true if the work ended well.
  JCCL_DEVICE static bool runWork(const Launch& launch, const Work& work, DeviceChannel& channel, Shared& shared) {
    LinkedBlock block(shared.block, channel);
    if (LinkedBlock::thread() == 0) describe(launch, work, channel, shared);
    bool failed = false;
    switch (work.choice.algorithm) {
      case Algorithm::Ring:
        failed = ring(launch, work, channel, block, shared);
        break;
      case Algorithm::Tree:
        failed = tree(launch, work, channel, block, shared);
        break;
      case Algorithm::Direct:
        failed = direct(launch, work, block, shared);
        break;
      default:
        break;  // other kernels execute the other algorithms
    }
    if (failed) return false;
    Faults::pass(KernelPoint::Moved, launch.rank);
    block.close();
    if (LinkedBlock::thread() == 0) countOperations(channel, 1);
    Faults::pass(KernelPoint::End, launch.rank);
    return true;
  }

  JCCL_DEVICE static void describe(const Launch& launch, const Work& work, const DeviceChannel& channel,
                                   Shared& shared) {
    shared.transfer = transferOf(launch, work, channel, P);
    shared.block.staging = shared.staging;
    shared.parts.make(work.counts, work.displacements, work.count, size_t{simt::blockIndex()},
                      size_t{work.choice.channels});
  }

  JCCL_DEVICE static bool ring(const Launch& launch, const Work& work, const DeviceChannel& channel, LinkedBlock& block,
                               Shared& shared) {
    const int neighbours = launch.size == 1 ? 0 : 1;
    block.open(
        neighbours, [&](int) { return channel.ringOrder[1]; }, [&](int) { return channel.ringOrder[launch.size - 1]; });
    const Collective collective = work.code.collective;
    if (LinkedBlock::thread() == 0) {
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
    Faults::pass(KernelPoint::Met, launch.rank);
    ringSchedule(primitives, plan, shared.parts.get(), collective, work.root);
    return primitives.failed();
  }

  JCCL_DEVICE static bool tree(const Launch& launch, const Work& work, const DeviceChannel& channel, LinkedBlock& block,
                               Shared& shared) {
    const bool root = channel.treeUp < 0;
    const int children = channel.treeChildren;
    // The links lead first to the children, then to the parent.
    const auto peerOf = [&](int i) { return i < children ? channel.treeDown[i] : channel.treeUp; };
    const int links = children + (root ? 0 : 1);
    block.open(links, peerOf, peerOf);
    if (LinkedBlock::thread() == 0) {
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
    Faults::pass(KernelPoint::Met, launch.rank);
    treeAllReduce(up, down, shared.tree.get());
    return up.failed() || down.failed();
  }

  JCCL_DEVICE static bool direct(const Launch& launch, const Work& work, LinkedBlock& block, Shared& shared) {
    const int peers = launch.size - 1;
    const auto peerOf = [&](int i) { return i < launch.rank ? i : i + 1; };
    block.open(peers, peerOf, peerOf);
    if (LinkedBlock::thread() == 0) {
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
    Faults::pass(KernelPoint::Met, launch.rank);
    directSchedule(primitives, plan, shared.parts.get(), work.code.collective, work.root,
                   (work.choice.flags & Choice::kTwoShot) != 0);
    return primitives.failed();
  }
};

}  // namespace jccl::device
