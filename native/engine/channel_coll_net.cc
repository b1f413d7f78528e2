// The part of Channel that runs CollNet operations: the network between the hosts reduces.
#include <algorithm>
#include <array>

#include "engine/channel.h"
#include "engine/channel_scratch.h"

namespace jccl {
namespace {

// The network, in the form that a leader's schedule needs (collectives/coll_net.h). The network takes chunks from the
// output of the inward transfer. The results of the network are the input of the outward transfer.
class LeaderNetwork {
 public:
  LeaderNetwork(CollNetGroup* group, Waiter& waiter, const Operation& operation, Transfer& inward, Transfer& outward,
                const WaitPlace& place)
      : group_(group), waiter_(waiter), operation_(operation), in_(inward), out_(outward), place_(place) {}

  void fill(size_t slot) { in_.output = group_->sendMemory(slot); }

  void allReduce(size_t slot, size_t count) {
    group_->allReduce(slot, count, operation_.code.type, operation_.code.op);
  }
  void allGather(size_t slot, size_t count) { group_->allGather(slot, count * in_.elementBytes); }
  void reduceScatter(size_t slot, size_t count) {
    group_->reduceScatter(slot, count * in_.elementBytes, operation_.code.type, operation_.code.op);
  }

  // Waits for the results of the slot and makes them the input of the outward transfer. The first `reduced` elements
  // are sums, which are divided here for an average. Returns false after a failure.
  bool await(size_t slot, size_t reduced) {
    if (!waiter_.wait([&] { return group_->poll(slot); }, place_)) return false;
    if (group_->failed()) {
      waiter_.fail(Code::Transport, place_);
      return false;
    }
    out_.input = group_->recvMemory(slot);
    if (out_.post.divisor == 1 || reduced == 0) return true;
    void* sums = group_->recvMemory(slot);
    const void* source = sums;
    out_.reduce(&sums, 1, &source, 1, reduced, out_.post, 0);
    return true;
  }

 private:
  CollNetGroup* const group_;
  Waiter& waiter_;
  const Operation& operation_;
  Transfer& in_;
  Transfer& out_;
  const WaitPlace place_;
};

}  // namespace

Status Channel::setCollNet(const CollNetSetup::Group& group, size_t maxBytes) {
  bool fits = hosts_ > 1 && group.leaders.size() == static_cast<size_t>(hosts_);
  for (size_t host = 0; fits && host < group.leaders.size(); ++host) {
    const int leader = group.leaders[host];
    fits = leader >= 0 && leader < size_ && hostOf_[static_cast<size_t>(leader)] == static_cast<int>(host);
  }
  const bool leads = fits && group.leaders[static_cast<size_t>(hostOf_[static_cast<size_t>(rank_)])] == rank_;
  if (fits && leads == (group.own != nullptr) && (!leads || group.own->members() == hosts_)) {
    collNet_ = group;
    collNetMaxBytes_ = maxBytes;
    return Status::ok();
  }
  return Status::invalid("channel=" + std::to_string(index_) + " leaders=" + std::to_string(group.leaders.size()) +
                         ", expected one leader for each of hosts=" + std::to_string(hosts_) +
                         ", at least 2 hosts, and a connected group only if this rank leads its host");
}

// Returns the number of ranks for which one chunk contains data: all ranks in an all-gather or a reduce-scatter.
int Channel::ranksOfChunk(Collective collective) const { return collective == Collective::AllReduce ? 1 : size_; }

bool Channel::collNetFits(Algorithm algorithm, OperationCode code) const {
  if (collNet_.leaders.empty()) return false;
  const size_t element = sizeOf(code.type);
  size_t largest = 0;
  bool even = hostRanksConsecutive_;
  for (int host = 0; host < hosts_; ++host) {
    const auto ranks = static_cast<size_t>(std::count(hostOf_.begin(), hostOf_.end(), host));
    even = even && (host == 0 || ranks == largest);
    largest = std::max(largest, ranks);
  }
  if (algorithm == Algorithm::CollNetDirect && largest > kMaxFanout) return false;
  if (collNetChunkBytes(collNetMaxBytes_, ranksOfChunk(code.collective), element) == 0) return false;
  switch (code.collective) {
    case Collective::AllReduce:
      return true;
    case Collective::AllGather:
    case Collective::ReduceScatter:
      return algorithm == Algorithm::CollNetDirect && even;
    default:
      return false;
  }
}

// A rank's connections within its host. `members`: the ranks that reach the leader through this rank. Unless this rank
// is the leader, it has one more pair of connections: to the leader, or to the next rank towards the leader.
struct Channel::CollNetLinks {
  std::array<RecvConnection*, kMaxFanout> memberRecvs{};
  std::array<SendConnection*, kMaxFanout> memberSends{};
  int members = 0;
  RecvConnection* leaderRecv = nullptr;
  SendConnection* leaderSend = nullptr;
  int leaderLinks = 0;  // 0 for the leader, 1 for the others

  Links inward() { return {memberRecvs.data(), members, &leaderSend, leaderLinks, 0}; }
  Links outward() { return {&leaderRecv, leaderLinks, memberSends.data(), members, 0}; }
};

Channel::CollNetLinks Channel::collNetLinks(bool chain, int leader) {
  CollNetLinks links;
  const auto addMember = [&](int rank) {
    links.memberRecvs[static_cast<size_t>(links.members)] = &recvs_[static_cast<size_t>(rank)];
    links.memberSends[static_cast<size_t>(links.members++)] = &sends_[static_cast<size_t>(rank)];
  };
  int previous = leader;  // the preceding rank in the chain, which begins with the leader
  int towardsLeader = leader;
  for (int rank = 0; rank < size_; ++rank) {
    if (rank == leader || hostOf_[static_cast<size_t>(rank)] != hostOf_[static_cast<size_t>(rank_)]) continue;
    if (chain ? previous == rank_ : leader == rank_) addMember(rank);
    if (rank == rank_ && chain) towardsLeader = previous;
    previous = rank;
  }
  if (rank_ == leader) return links;
  links.leaderRecv = &recvs_[static_cast<size_t>(towardsLeader)];
  links.leaderSend = &sends_[static_cast<size_t>(towardsLeader)];
  links.leaderLinks = 1;
  return links;
}

CollNetPlan Channel::collNetPlan(const Operation& operation, const Transfer& transfer,
                                 const CollNetLinks& links) const {
  using Role = CollNetPlan::Role;
  CollNetPlan plan;
  plan.role = links.leaderLinks == 0 ? Role::Leader : links.members > 0 ? Role::Relay : Role::Last;
  plan.ahead = CollNetGroup::kSlots;
  const int ranks = ranksOfChunk(operation.code.collective);
  const size_t most = collNetChunkBytes(collNetMaxBytes_, ranks, transfer.elementBytes);
  plan.chunkCount = std::min(transfer.sliceCount, most / transfer.elementBytes);
  ring::share(operation.count, index_, operation.choice.channels, plan.begin, plan.count);
  return plan;
}

template <Protocol P>
void Channel::runCollNet(const Operation& operation, const Transfer& transfer) {
  const auto host = static_cast<size_t>(hostOf_[static_cast<size_t>(rank_)]);
  const std::vector<int>& leaders = collNet_.leaders;
  CollNetLinks links = collNetLinks(operation.choice.algorithm == Algorithm::CollNetChain, leaders[host]);
  const Links inward = links.inward();
  const Links outward = links.outward();
  const CollNetPlan plan = collNetPlan(operation, transfer, links);
  const bool leads = plan.role == CollNetPlan::Role::Leader;
  uint8_t* space = nullptr;
  if (!scratch<P>(std::max(links.members, 1), transfer, space)) return;
  Transfer inTransfer = transfer;
  inTransfer.zeroCopy = false;
  inTransfer.streaming = false;  // the network reads the output next, so it should stay in the cache
  Transfer outTransfer = inTransfer;
  outTransfer.streaming = transfer.streaming;
  HostPrimitives<P> in(waiter_, inTransfer, inward, space);
  HostPrimitives<P> out(waiter_, outTransfer, outward, space);

  // The network does not check that all hosts run the same operation. So each leader sends an empty chunk, whose check
  // word the receiver compares, to the leader of the next host.
  const size_t hosts = leaders.size();
  const auto next = static_cast<size_t>(leaders[(host + 1) % hosts]);
  RecvConnection* fromLeader = &recvs_[static_cast<size_t>(leaders[(host + hosts - 1) % hosts])];
  SendConnection* toLeader = &sends_[next];
  const Links between{&fromLeader, 1, &toLeader, 1, 0};
  HostPrimitives<P> check(waiter_, inTransfer, between, space);

  if (leads) {
    const size_t bytes = std::min(plan.chunkCount, plan.count) * transfer.elementBytes *
                         static_cast<size_t>(ranksOfChunk(operation.code.collective));
    if (Status reserved = collNet_.own->reserve(bytes, bytes); !reserved) {
      waiter_.control().fail(reserved.code() == Code::NoMemory ? Code::NoMemory : Code::Transport);
      return;
    }
    check.send(0, 0);
  }
  const WaitPlace place{static_cast<int>(next), TransportKind::Plugin, WaitFor::CollNet, P, operation.sequence};
  LeaderNetwork network(collNet_.own, waiter_, operation, inTransfer, outTransfer, place);
  if (operation.code.collective == Collective::AllReduce) {
    collNetAllReduce(in, out, network, plan);
  } else {
    const ring::Part ofHost = ranksOf(static_cast<int>(host));
    const CollNetRanks ranks{static_cast<size_t>(size_), ofHost.count, static_cast<size_t>(rank_) - ofHost.begin,
                             operation.count, links.members};
    if (operation.code.collective == Collective::AllGather) {
      collNetAllGather(in, out, network, plan, ranks);
    } else {
      collNetReduceScatter(in, out, network, plan, ranks);
    }
  }
  if (leads && !waiter_.control().failed()) check.recv(0, 0);
}

template void Channel::runCollNet<Protocol::LL>(const Operation&, const Transfer&);
template void Channel::runCollNet<Protocol::LL128>(const Operation&, const Transfer&);
template void Channel::runCollNet<Protocol::Simple>(const Operation&, const Transfer&);

}  // namespace jccl
