#include "cuda/collnet/coll_net_algorithm.h"

#include <algorithm>
#include <string>
#include <utility>

#include "cuda/kernels/registry.h"
#include "cuda/runtime/device_plan.h"
#include "cuda/runtime/works_launcher.h"

namespace jccl::device {
namespace {

const AddedKernels kKernels("coll_net", kElementClassCount);

}  // namespace

CollNetAlgorithm::CollNetAlgorithm(DeviceCommunicator& communicator)
    : communicator_(communicator), chains_(config().channels), trees_(config().channels) {}

Status CollNetAlgorithm::setChain(int channel, const CollNetChain& chain) {
  if (Status status = checkChain(channel, chain, config().rank, config().size, config().channels); !status) {
    return communicator_.noted(status);
  }
  chains_[channel] = chain;
  for (const int peer : {chain.up, chain.down, chain.leaderAfter, chain.leaderBefore}) {
    if (peer >= 0) communicator_.plan().addLink(channel, peer);
  }
  return Status::ok();
}

Status CollNetAlgorithm::setHostTree(int channel, int up, const std::vector<int>& down) {
  if (Status status = checkTree(channel, up, down, config().rank, config().size, config().channels, kMaxTreeLinks);
      !status) {
    return communicator_.noted(status);
  }
  if ((up == -1) != chains_[channel].leads()) {
    return communicator_.noted(
        Status::invalid("tree of the host, channel=" + std::to_string(channel) + " has up=" + std::to_string(up) +
                        ", expected -1 of the leader of the channel's chain, and another rank of all others"));
  }
  trees_[channel] = {up, down};
  if (up >= 0) communicator_.plan().addLink(channel, up);
  for (const int peer : down) communicator_.plan().addLink(channel, peer);
  return Status::ok();
}

Status CollNetAlgorithm::connect(const std::vector<StagedEnds>& ends, const CollNetOffer& common,
                                 std::shared_ptr<const void> memory) {
  for (size_t channel = 0; channel < ends.size(); ++channel) {
    const bool ours = channel < chains_.size() && chains_[channel].leads();
    if (ours == (ends[channel].sendBlock != nullptr)) continue;
    return communicator_.noted(Status::invalid("collnet: channel=" + std::to_string(channel) +
                                               " has ends on another rank than the one that leads its chain"));
  }
  const DeviceGuard guard(config().device);
  if (!guard.status()) return communicator_.noted(guard.status());
  staged_.mapping = std::move(memory);
  for (const StagedEnds& one : ends) {
    if (one.sendBlock == nullptr) continue;
    if (Status status = staged_.add(one, communicator_.shape().blockBytes()); !status) {
      return communicator_.noted(status);
    }
  }
  communicator_.plan().setExtraEnds(ends);
  groups_ = ends.size();
  common_ = common;
  return Status::ok();
}

void CollNetAlgorithm::drop() {
  communicator_.plan().setExtraEnds({});
  groups_ = 0;
}

// Returns how many bytes of one rank's data a chunk contains; 0 if the network does not execute the operation.
size_t CollNetAlgorithm::chunkBytes(OperationCode code) const {
  const bool gathers = code.collective == Collective::AllGather;
  const bool scatters = code.collective == Collective::ReduceScatter;
  if (groups_ == 0 || !(gathers || scatters || code.collective == Collective::AllReduce)) return 0;
  if ((gathers || scatters) && !common_.gathers) return 0;
  if (!gathers && !common_.reduces(code.type, code.op)) return 0;
  const int ranks = gathers || scatters ? config().size : 1;
  const size_t chunk = collNetChunkBytes(common_.maxBytes, ranks, sizeOf(code.type));
  return std::min<size_t>(chunk, communicator_.shape().simpleSlotBytes());
}

bool CollNetAlgorithm::adjust(OperationCode code, Choice& choice) const {
  const size_t most = chunkBytes(code);
  if (most == 0) return false;
  // collnet_direct is a tree, which only all-reduces use; other collectives use the chain.
  const Algorithm algorithm = code.collective == Collective::AllReduce ? choice.algorithm : Algorithm::CollNetChain;
  const auto groups = static_cast<uint8_t>(std::min<size_t>(choice.channels, groups_));
  const size_t chunk = choice.chunkBytes == 0 ? most : std::min<size_t>(choice.chunkBytes, most);
  choice = {algorithm, Protocol::Simple, groups, 0, static_cast<uint32_t>(chunk)};
  return true;
}

Issued CollNetAlgorithm::launch(WorksLauncher& launcher) const {
  const OperationCode& code = launcher.first().operation.code;
  CollNetLaunch launch{};
  launch.shape = communicator_.shape();
  launch.links = links_.as<CollNetChannel>();
  return launcher.launch(kKernels.kernel(code.collective, code.type), launch);
}

Status CollNetAlgorithm::prepare() {
  if (groups_ == 0) return Status::ok();
  const size_t bytes = chains_.size() * sizeof(CollNetChannel);
  HeapMemory staging;
  Status status = HeapMemory::pinned(bytes, staging);
  if (status) status = HeapMemory::device(bytes, links_);
  if (!status) return status;
  for (size_t channel = 0; channel < chains_.size(); ++channel) {
    const CollNetChain& chain = chains_[channel];
    const Tree& tree = trees_[channel];
    CollNetChannel links{};
    links.chainUp = chain.leads() ? config().size : chain.up;
    links.chainDown = chain.down;
    links.treeUp = chain.leads() ? config().size : tree.up;
    for (const int child : tree.down) links.treeDown[links.treeChildren++] = child;
    links.chainRanks = chain.ranks;
    links.chainPlace = chain.place;
    links.leaderAfter = chain.leaderAfter;
    links.leaderBefore = chain.leaderBefore;
    staging.as<CollNetChannel>()[channel] = links;
  }
  status = copyAsync(links_.base(), staging.base(), bytes, communicator_.ownStream());
  return status ? synchronize(communicator_.ownStream()) : status;
}

void CollNetAlgorithm::locate(int channel, WaitPlace& place) const {
  if (groups_ == 0) return;
  place.peer = chains_[channel].leaderAfter;
  place.waitFor = WaitFor::CollNet;
}

void CollNetAlgorithm::leak() {
  staged_.leak();
  links_.leak();
}

}  // namespace jccl::device
