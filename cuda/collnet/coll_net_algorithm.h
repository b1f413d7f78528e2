// CollNet on GPUs: a network that reduces. The ranks of a host form a chain, and a tree, at whose top the leader's
// kernel exchanges data with the network through host memory.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "collnet/coll_net_offer.h"
#include "cuda/collnet/coll_net_chain.h"
#include "cuda/collnet/coll_net_launch.h"
#include "cuda/runtime/added_algorithm.h"
#include "cuda/runtime/device_communicator.h"
#include "cuda/runtime/device_heap.h"
#include "cuda/runtime/registered_memory.h"

namespace jccl::device {

// Chains and trees are set before DeviceCommunicator::connectInfo, and the network is connected before prepare.
class CollNetAlgorithm : public AddedAlgorithm {
 public:
  explicit CollNetAlgorithm(DeviceCommunicator& communicator);

  // Sets the chain of one of the first channels.
  Status setChain(int channel, const CollNetChain& chain);
  // Sets the tree over the ranks of this host whose root is the leader of the channel's chain. Call setChain first. On
  // the leader, `up` is -1.
  Status setHostTree(int channel, int up, const std::vector<int>& down);
  // Uses the network on the first channels. `ends` is indexed by channel; the entries are set for channels whose chain
  // this rank leads. `common` describes the operations that the plug-ins of all ranks support. `memory` keeps the host
  // memory of the ends mapped. Either all ranks call this, or none.
  Status connect(const std::vector<StagedEnds>& ends, const CollNetOffer& common, std::shared_ptr<const void> memory);
  // Stops using the network.
  void drop();

  bool executes(Algorithm algorithm) const override {
    return algorithm == Algorithm::CollNetDirect || algorithm == Algorithm::CollNetChain;
  }
  bool adjust(OperationCode code, Choice& choice) const override;
  Issued launch(WorksLauncher& launcher) const override;
  Status prepare() override;
  void locate(int channel, WaitPlace& place) const override;
  void leak() override;
  bool usesHostMemory() const override { return groups_ != 0; }
  size_t deviceBytes() const override { return links_.bytes(); }

 private:
  struct Tree {
    int up = -1;
    std::vector<int> down;
  };

  const DeviceCommunicatorConfig& config() const { return communicator_.config(); }
  size_t chunkBytes(OperationCode code) const;

  DeviceCommunicator& communicator_;
  std::vector<CollNetChain> chains_;  // by channel
  std::vector<Tree> trees_;           // by channel
  size_t groups_ = 0;                 // number of channels that use the network; 0: not connected
  CollNetOffer common_;
  StagedMemory staged_;
  HeapMemory links_;  // a CollNetChannel for each channel
};

}  // namespace jccl::device
