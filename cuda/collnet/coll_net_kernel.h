// The body of the kernels for a network that reduces (CollNet). The ranks of a host form a chain, or a tree for
// all-reduces by collnet_direct. Each rank passes chunks on towards the network and back (collectives/chain.h). The
// leader's kernel treats the network as one more peer, to which the extra LinkEnds of a channel lead; a thread of the
// host moves the network's slots (collnet/coll_net_link.h). SIMPLE is the only protocol.
#pragma once

#include "collectives/chain.h"
#include "collectives/ring.h"
#include "collectives/tree.h"
#include "cuda/collnet/coll_net_launch.h"
#include "cuda/kernels/linked_block.h"

namespace jccl::device {

template <class E>
class CollNetKernel {
  using Primitives = DevicePrimitives<Protocol::Simple, E>;

 public:
  struct Shared {
    BlockState block;
    Storage<Work> work;
    DeviceTransfer transfer;
    Storage<Primitives> up;
    Storage<Primitives> down;
    Storage<TreePlan> tree;
    Storage<ChainPlan> chain;
  };

  JCCL_DEVICE static void run(const CollNetLaunch& launch, Shared& shared) {
    DeviceChannel& channel = launch.channels[simt::blockIndex()];
    if (beginBlock(shared.block.wait, channel, launch.control)) {
      forWorks(launch, shared.work, shared.block.wait,
               [&](const Work& work) { return runWork(launch, work, channel, shared); });
    }
    endBlock(shared.block.wait, launch.channels, launch.control);
  }

 private:
  // Returns true if the work ended well.
  JCCL_DEVICE static bool runWork(const CollNetLaunch& launch, const Work& work, DeviceChannel& channel,
                                  Shared& shared) {
    LinkedBlock block(shared.block, channel);
    const CollNetChannel& links = launch.links[simt::blockIndex()];
    const bool chained = work.choice.algorithm == Algorithm::CollNetChain;
    const int32_t* down = chained ? &links.chainDown : links.treeDown;
    const int children = !chained ? links.treeChildren : links.chainDown < 0 ? 0 : 1;
    const int up = chained ? links.chainUp : links.treeUp;
    const bool leads = up == launch.size;
    // The order of the links: to the ranks below, if any; then towards the network; on a leader, finally to other
    // leaders.
    const auto peerOf = [&](int i, int leader) { return i < children ? down[i] : i == children ? up : leader; };
    block.open(
        children + (leads ? 2 : 1), [&](int i) { return peerOf(i, links.leaderAfter); },
        [&](int i) { return peerOf(i, links.leaderBefore); });
    if (LinkedBlock::thread() == 0) shared.transfer = transferOf(launch, work, channel, Protocol::Simple);
    // The network does not check that all hosts run the same operation. So each leader sends the next leader an empty
    // chunk, whose check word identifies the operation.
    if (leads && !compareWithLeaders(launch, shared, LinkRange{0, 0, children + 1, 1, 0})) return false;
    if (LinkedBlock::thread() == 0) plan(launch, work, links, children, shared);
    simt::syncBlock();
    if (!runSchedule(work.code.collective, shared)) return false;
    if (leads && !compareWithLeaders(launch, shared, LinkRange{children + 1, 1, 0, 0, 0})) return false;
    block.close();
    if (LinkedBlock::thread() == 0) countOperations(channel, 1);
    return true;
  }

  JCCL_DEVICE static bool runSchedule(Collective collective, Shared& shared) {
    Primitives& up = shared.up.get();
    Primitives& down = shared.down.get();
    switch (collective) {
      case Collective::AllGather:
        chainAllGather(up, down, shared.chain.get());
        break;
      case Collective::ReduceScatter:
        chainReduceScatter(up, down, shared.chain.get());
        break;
      default:
        treeAllReduce(up, down, shared.tree.get());
        break;
    }
    return !up.failed() && !down.failed();
  }

  JCCL_DEVICE static void plan(const Launch& launch, const Work& work, const CollNetChannel& links, int children,
                               Shared& shared) {
    shared.up.make(shared.block, launch.shape, shared.transfer, LinkRange{0, children, children, 1, 0});
    shared.down.make(shared.block, launch.shape, shared.transfer, LinkRange{children, 1, 0, children, 0});
    shared.chain.make();
    ChainPlan& chain = shared.chain.get();
    chain.last = children == 0;
    chain.ranks = links.chainRanks;
    chain.place = links.chainPlace;
    chain.all = launch.size;
    chain.part = work.count;
    chain.chunkCount = shared.transfer.sliceCount;
    ring::share(work.count, simt::blockIndex(), work.choice.channels, chain.begin, chain.count);
    shared.tree.make(false, chain.last, chain.chunkCount, chain.begin, chain.count);
  }

  // Sends an empty chunk to the next leader, or receives one from the previous leader. Returns false if the received
  // chunk belongs to another operation, and after any other failure.
  JCCL_DEVICE static bool compareWithLeaders(const Launch& launch, Shared& shared, const LinkRange& link) {
    simt::syncBlock();
    if (LinkedBlock::thread() == 0) shared.up.make(shared.block, launch.shape, shared.transfer, link);
    simt::syncBlock();
    Primitives& primitives = shared.up.get();
    if (link.sendCount != 0) {
      primitives.send(0, 0);
    } else {
      primitives.recv(0, 0);
    }
    const bool same = !primitives.failed();
    simt::syncBlock();
    return same;
  }
};

}  // namespace jccl::device
