#include "collnet/coll_net_channel.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/channel_scratch.h"

namespace jccl {
namespace {

// The network, in the form that a leader's schedule needs (collnet/schedules.h). The network takes chunks from the
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

Status CollNetChannel::make(Channel& channel, const Group& group, const CollNetOffer& common,
                            std::unique_ptr<AddedSchedule>* made) {
  const RankHosts& hosts = channel.hosts();
  bool fits = hosts.count() > 1 && group.leaders.size() == static_cast<size_t>(hosts.count());
  for (size_t host = 0; fits && host < group.leaders.size(); ++host) {
    const int leader = group.leaders[host];
    fits = leader >= 0 && leader < channel.size() && hosts[leader] == static_cast<int>(host);
  }
  const bool leads = fits && group.leaders[static_cast<size_t>(hosts[channel.rank()])] == channel.rank();
  if (fits && leads == (group.own != nullptr) && (!leads || group.own->members() == hosts.count())) {
    made->reset(new CollNetChannel(channel, group, common));
    return Status::ok();
  }
  return Status::invalid("channel=" + std::to_string(channel.index()) +
                         " leaders=" + std::to_string(group.leaders.size()) +
                         ", expected one leader for each of hosts=" + std::to_string(hosts.count()) +
                         ", at least 2 hosts, and a connected group only if this rank leads its host");
}

CollNetChannel::CollNetChannel(Channel& channel, Group group, const CollNetOffer& common)
    : channel_(channel), hosts_(channel.hosts()), group_(std::move(group)), common_(common) {
  evenHosts_ = hosts_.areConsecutive();
  for (int host = 0; host < hosts_.count(); ++host) {
    const size_t ranks = hosts_.sizeOf(host);
    evenHosts_ = evenHosts_ && (host == 0 || ranks == largestHost_);
    largestHost_ = std::max(largestHost_, ranks);
  }
}

// Returns the number of ranks for which one chunk contains data: all ranks in an all-gather or a reduce-scatter.
int CollNetChannel::ranksOfChunk(Collective collective) const {
  return collective == Collective::AllReduce ? 1 : channel_.size();
}

bool CollNetChannel::runs(Algorithm algorithm, OperationCode code) const {
  const bool direct = algorithm == Algorithm::CollNetDirect;
  if (!direct && algorithm != Algorithm::CollNetChain) return false;
  if (reduces(code.collective) && !common_.reduces(code.type, code.op)) return false;
  if (code.collective != Collective::AllReduce && !common_.gathers) return false;
  if (direct && largestHost_ > kMaxFanout) return false;
  if (collNetChunkBytes(common_.maxBytes, ranksOfChunk(code.collective), sizeOf(code.type)) == 0) return false;
  switch (code.collective) {
    case Collective::AllReduce:
      return true;
    case Collective::AllGather:
    case Collective::ReduceScatter:
      return direct && evenHosts_;
    default:
      return false;
  }
}

void CollNetChannel::run(const Operation& operation, const Transfer& transfer) {
  switch (operation.choice.protocol) {
    case Protocol::LL:
      return runWith<Protocol::LL>(operation, transfer);
    case Protocol::LL128:
      return runWith<Protocol::LL128>(operation, transfer);
    case Protocol::Simple:
      return runWith<Protocol::Simple>(operation, transfer);
  }
}

// A rank's connections within its host. `members`: the ranks that reach the leader through this rank. Unless this rank
// is the leader, it has one more pair of connections: to the leader, or to the next rank towards the leader.
struct CollNetChannel::HostLinks {
  std::array<RecvConnection*, kMaxFanout> memberRecvs{};
  std::array<SendConnection*, kMaxFanout> memberSends{};
  int members = 0;
  RecvConnection* leaderRecv = nullptr;
  SendConnection* leaderSend = nullptr;
  int leaderLinks = 0;  // 0 for the leader, 1 for the others

  Links inward() { return {memberRecvs.data(), members, &leaderSend, leaderLinks, 0}; }
  Links outward() { return {&leaderRecv, leaderLinks, memberSends.data(), members, 0}; }
};

CollNetChannel::HostLinks CollNetChannel::linksOf(bool chain, int leader) {
  HostLinks links;
  const auto addMember = [&](int rank) {
    links.memberRecvs[static_cast<size_t>(links.members)] = &channel_.recvFrom(rank);
    links.memberSends[static_cast<size_t>(links.members++)] = &channel_.sendTo(rank);
  };
  const int own = channel_.rank();
  int previous = leader;  // the preceding rank in the chain, which begins with the leader
  int towardsLeader = leader;
  for (int rank = 0; rank < channel_.size(); ++rank) {
    if (rank == leader || hosts_[rank] != hosts_[own]) continue;
    if (chain ? previous == own : leader == own) addMember(rank);
    if (rank == own && chain) towardsLeader = previous;
    previous = rank;
  }
  if (own == leader) return links;
  links.leaderRecv = &channel_.recvFrom(towardsLeader);
  links.leaderSend = &channel_.sendTo(towardsLeader);
  links.leaderLinks = 1;
  return links;
}

CollNetPlan CollNetChannel::planOf(const Operation& operation, const Transfer& transfer, const HostLinks& links) const {
  using Role = CollNetPlan::Role;
  CollNetPlan plan;
  plan.role = links.leaderLinks == 0 ? Role::Leader : links.members > 0 ? Role::Relay : Role::Last;
  plan.ahead = CollNetGroup::kSlots;
  const int ranks = ranksOfChunk(operation.code.collective);
  const size_t most = collNetChunkBytes(common_.maxBytes, ranks, transfer.elementBytes);
  plan.chunkCount = std::min(transfer.sliceCount, most / transfer.elementBytes);
  ring::share(operation.count, channel_.index(), operation.choice.channels, plan.begin, plan.count);
  return plan;
}

template <Protocol P>
void CollNetChannel::runWith(const Operation& operation, const Transfer& transfer) {
  Waiter& waiter = channel_.waiter();
  const auto host = static_cast<size_t>(hosts_[channel_.rank()]);
  const std::vector<int>& leaders = group_.leaders;
  HostLinks links = linksOf(operation.choice.algorithm == Algorithm::CollNetChain, leaders[host]);
  const Links inward = links.inward();
  const Links outward = links.outward();
  const CollNetPlan plan = planOf(operation, transfer, links);
  const bool leads = plan.role == CollNetPlan::Role::Leader;
  uint8_t* space = nullptr;
  if (!channel_.scratch<P>(std::max(links.members, 1), transfer, space)) return;
  Transfer inTransfer = transfer;
  inTransfer.zeroCopy = false;
  inTransfer.streaming = false;  // the network reads the output next, so it should stay in the cache
  Transfer outTransfer = inTransfer;
  outTransfer.streaming = transfer.streaming;
  HostPrimitives<P> in(waiter, inTransfer, inward, space);
  HostPrimitives<P> out(waiter, outTransfer, outward, space);

  // The network does not check that all hosts run the same operation. So each leader sends an empty chunk, whose check
  // word the receiver compares, to the leader of the next host.
  const size_t hosts = leaders.size();
  const int next = leaders[(host + 1) % hosts];
  RecvConnection* fromLeader = &channel_.recvFrom(leaders[(host + hosts - 1) % hosts]);
  SendConnection* toLeader = &channel_.sendTo(next);
  const Links between{&fromLeader, 1, &toLeader, 1, 0};
  HostPrimitives<P> check(waiter, inTransfer, between, space);

  if (leads) {
    const size_t bytes = std::min(plan.chunkCount, plan.count) * transfer.elementBytes *
                         static_cast<size_t>(ranksOfChunk(operation.code.collective));
    if (Status reserved = group_.own->reserve(bytes, bytes); !reserved) {
      waiter.control().fail(reserved.code() == Code::NoMemory ? Code::NoMemory : Code::Transport);
      return;
    }
    check.send(0, 0);
  }
  const WaitPlace place{next, TransportKind::Plugin, WaitFor::CollNet, P, operation.sequence, true};
  LeaderNetwork network(group_.own, waiter, operation, inTransfer, outTransfer, place);
  if (operation.code.collective == Collective::AllReduce) {
    collNetAllReduce(in, out, network, plan);
  } else {
    const ring::Part ofHost = hosts_.ranksOf(static_cast<int>(host));
    const CollNetRanks ranks{static_cast<size_t>(channel_.size()), ofHost.count,
                             static_cast<size_t>(channel_.rank()) - ofHost.begin, operation.count, links.members};
    if (operation.code.collective == Collective::AllGather) {
      collNetAllGather(in, out, network, plan, ranks);
    } else {
      collNetReduceScatter(in, out, network, plan, ranks);
    }
  }
  if (leads && !waiter.control().failed()) check.recv(0, 0);
}

}  // namespace jccl
