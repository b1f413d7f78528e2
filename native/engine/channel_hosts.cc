// The schedules of a channel in which ranks of a host act together towards other hosts.
#include <algorithm>
#include <array>
#include <cstring>

#include "engine/channel.h"
#include "engine/channel_scratch.h"

namespace jccl {
namespace {

// A leader sends all its data for another leader before it receives. So this data, of `count` elements, must fit into
// half of the slots.
bool fitsHalfOfTheSlots(size_t count, size_t sliceCount) { return count <= kSlots / 2 * sliceCount; }

}  // namespace

void Channel::setHosts(RankHosts hosts) {
  hosts_ = std::move(hosts);
  for (int peer = 0; peer < size_; ++peer) {
    sends_[peer].crossesHosts = recvs_[peer].crossesHosts = hosts_[peer] != hosts_[rank_];
  }
  shares_ = {};
  shareLinks_ = {};
  if (hosts_.count() == 1 || size_ - 1 > kMaxFanout) return;
  shares_ = HostShares(rank_, size_, hosts_);
  shareLinks_ = ShareLinks(shares_, sends_, recvs_);
}

bool Channel::exchangesByHosts(const Operation& operation) const {
  const Choice& choice = operation.choice;
  if (choice.algorithm != Algorithm::Direct || (choice.flags & Choice::kByHosts) == 0) return false;
  if (hosts_.count() == 1 || !hosts_.areConsecutive() || size_ - 1 > kMaxFanout) return false;
  const size_t slice = sliceCount(choice, choice.protocol, sizeOf(operation.code.type));
  if ((choice.flags & Choice::kTwoShot) != 0) return hosts_.largest() * operation.count <= slice;
  return fitsHalfOfTheSlots(hosts_.largest() * hosts_.largest() * operation.count, slice);
}

// Returns true if ranks of a host act together towards other hosts. All ranks get the same answer.
bool Channel::runsByHosts(const Operation& operation) const {
  if ((operation.choice.flags & Choice::kByHosts) == 0 || hosts_.count() == 1) return false;
  switch (operation.code.collective) {
    case Collective::AllReduce:
    case Collective::Barrier:
    case Collective::Broadcast:
    case Collective::Reduce:
    case Collective::AllGather:
    case Collective::ReduceScatter:
    case Collective::AllToAll:  // the engine has asked exchangesByHosts
      return true;
    default:
      return false;
  }
}

// Returns true if an operation by hosts gives every rank a share, and not all data to a leader. All ranks get the same
// answer.
bool Channel::runsByShares(const Operation& operation, const Transfer& transfer) const {
  const bool asked = (operation.choice.flags & Choice::kTwoShot) != 0;
  switch (operation.code.collective) {
    case Collective::AllReduce:
    case Collective::AllToAll:
      return asked;
    case Collective::AllGather:
    case Collective::ReduceScatter:
      // Leaders need equal parts and consecutive ranks.
      return asked || !hosts_.areConsecutive() || operation.counts != nullptr || operation.choice.channels != 1 ||
             !fitsHalfOfTheSlots(hosts_.largest() * operation.count, transfer.sliceCount);
    default:
      return false;
  }
}

// Returns true if leaders exchange data in rounds, or with a root along a tree. All ranks get the same answer.
bool Channel::runsInRounds(const Operation& operation, const Transfer& transfer) const {
  if ((operation.choice.flags & Choice::kInRounds) == 0) return false;
  switch (operation.code.collective) {
    case Collective::AllGather:
    case Collective::ReduceScatter:
      return fitsHalfOfTheSlots(static_cast<size_t>(size_) * operation.count, transfer.sliceCount);
    case Collective::AllToAll:
      return false;
    default:
      return true;
  }
}

// Returns the leader of a host: the root if it is on this host, otherwise the host's first rank. `root` is -1 if the
// collective has no root.
int Channel::leaderOf(int host, int root) const {
  if (root >= 0 && hosts_[root] == host) return root;
  return hosts_.firstOf(host);
}

Channel::HostLinks Channel::hostLinks(int root, bool alongTree) {
  const int host = hosts_[rank_], leader = leaderOf(host, root);
  const bool leads = leader == rank_;
  HostLinks links = leads ? linksInside() : HostLinks();
  links.leader = leader;
  if (!leads) {
    add(leader, links);
    return links;
  }
  links.members = links.peers;
  links.hostsBefore = host;
  if (alongTree) {
    const HostTree tree{hosts_[root], hosts_.count()};
    tree.forChildrenOf(host, [&](int child) { add(leaderOf(child, root), links); });
    return links;
  }
  for (int other = 0; other < hosts_.count(); ++other) {
    if (other != host) add(leaderOf(other, root), links);
  }
  return links;
}

void Channel::add(int peer, HostLinks& links) {
  links.recv[static_cast<size_t>(links.peers)] = &recvs_[peer];
  links.send[static_cast<size_t>(links.peers++)] = &sends_[peer];
}

Channel::HostLinks Channel::linksInside() {
  HostLinks links;
  for (int peer = 0; peer < size_; ++peer) {
    if (peer != rank_ && hosts_[peer] == hosts_[rank_]) add(peer, links);
  }
  return links;
}

template <class Primitives>
void Channel::runByHosts(const Operation& operation, const Transfer& transfer) {
  if (!runsByShares(operation, transfer)) return runByLeaders<Primitives>(operation, transfer);
  uint8_t* space = nullptr;
  if (!scratchOf<Primitives>(size_ - 1, transfer, space)) return;
  if (operation.code.collective == Collective::AllToAll)
    return exchangeByShares<Primitives>(operation, transfer, space);
  const auto schedule = [&](const auto& parts) {
    return ShareSchedule<Primitives, std::decay_t<decltype(parts)>>(waiter_, rank_, shares_, shareLinks_, transfer,
                                                                    parts, space);
  };
  if (operation.code.collective == Collective::AllReduce) {
    ring::Part whole{};
    ring::share(operation.count, index_, operation.choice.channels, whole.begin, whole.count);
    return schedule(RankShards(whole, size_, transfer.sliceCount)).allReduce();
  }
  const RankParts parts(partsOf(operation), size_, transfer.sliceCount);
  if (operation.code.collective == Collective::AllGather) return schedule(parts).allGather();
  schedule(parts).reduceScatter();
}

template <class Primitives>
void Channel::runByLeaders(const Operation& operation, const Transfer& transfer) {
  const bool rooted = hasRoot(operation.code.collective);
  // Every round would narrow the data once more.
  const bool inRounds = !kNarrows<Primitives> && runsInRounds(operation, transfer);
  HostLinks hosts = hostLinks(rooted ? operation.root : -1, rooted && inRounds);
  uint8_t* space = nullptr;
  if (!scratchOf<Primitives>(hosts.peers, transfer, space)) return;
  HostsPlan plan;
  plan.isLeader = hosts.leader == rank_;
  plan.chunkCount = transfer.sliceCount;
  ring::share(operation.count, index_, operation.choice.channels, plan.begin, plan.count);
  switch (operation.code.collective) {
    case Collective::AllGather:
      return gatherByHosts<Primitives>(hosts, operation, transfer, inRounds, space);
    case Collective::ReduceScatter:
      return scatterByHosts<Primitives>(hosts, operation, transfer, inRounds, space);
    case Collective::AllToAll:
      return exchangeByHosts<Primitives>(hosts, operation, transfer, space);
    default:
      if (rooted) return runWithRootByHosts<Primitives>(hosts, plan, operation, transfer, inRounds, space);
      if (inRounds) return reduceToAllInRounds<Primitives>(hosts, plan, transfer, space);
      return reduceToAllByHosts<Primitives>(hosts, plan, transfer, space);
  }
}

template <class Primitives>
void Channel::reduceToAllByHosts(HostLinks& hosts, const HostsPlan& plan, const Transfer& transfer, uint8_t* space) {
  Links inward = hosts.fromMembers();
  Links outward = hosts.toMembers();
  const Links leaders = hosts.betweenLeaders();
  if (plan.isLeader) {
    inward.send = leaders.send;
    inward.sendCount = leaders.sendCount;
    outward.recv = leaders.recv;
    outward.recvCount = leaders.recvCount;
    outward.ownPosition = leaders.ownPosition;
  } else {
    inward = {nullptr, 0, hosts.send.data(), 1, 0};
    outward = {hosts.recv.data(), 1, nullptr, 0, 0};
  }
  Transfer inTransfer = transfer;
  // `out` overwrites the output while a zero-copy send of `in` might still read it
  inTransfer.zeroCopy = false;
  Transfer outTransfer = inTransfer;
  outTransfer.input = transfer.output;
  // The sum of all hosts' rounded sums is the same on all leaders, and its way to the members stays exact.
  outTransfer.roundsStored = false;
  Primitives in(waiter_, inTransfer, inward, space);
  Primitives out(waiter_, outTransfer, outward, space);
  hostsAllReduce(in, out, plan);
}

// Runs an all-reduce or a barrier by hosts, in which leaders exchange sums in rounds.
template <class Primitives>
void Channel::reduceToAllInRounds(HostLinks& hosts, const HostsPlan& plan, const Transfer& transfer, uint8_t* space) {
  if (!plan.isLeader) return reduceToAllByHosts<Primitives>(hosts, plan, transfer, space);
  Transfer sum = transfer;
  sum.zeroCopy = false;  // later rounds overwrite the output
  Transfer hostSum = sum;
  if (hosts.members > 0) hostSum.input = sum.output;
  const Links fromMembers = hosts.fromMembers(), toMembers = hosts.toMembers();
  Primitives in(waiter_, sum, fromMembers, space);
  Primitives out(waiter_, sum, toMembers, space);
  const RoundSchedule<Primitives> rounds = roundsOf<Primitives>(hosts, space);
  size_t done = 0;
  do {
    const size_t at = plan.begin + done, size = ring::clampTo(plan.count, done, plan.chunkCount);
    if (hosts.members > 0) in.recvReduceCopy(at, at, size, false);
    if (in.failed() || !rounds.allReduce(hostSum, at, size)) return;
    if (hosts.members > 0) out.sendFromOutput(at, size);
    done += size;
  } while (done < plan.count);
}

template <class Primitives>
RoundSchedule<Primitives> Channel::roundsOf(const HostLinks& hosts, uint8_t* space) {
  return {waiter_, HostRounds(hosts_[rank_], hosts_.count()), hosts.recv.data() + hosts.members,
          hosts.send.data() + hosts.members, space};
}

// Runs a broadcast or a reduce by hosts: leaders exchange data with the root only, or along a tree.
template <class Primitives>
void Channel::runWithRootByHosts(HostLinks& hosts, const HostsPlan& plan, const Operation& operation,
                                 const Transfer& transfer, bool alongTree, uint8_t* space) {
  const bool isRoot = rank_ == operation.root;
  const bool spreads = operation.code.collective == Collective::Broadcast;
  const bool hasLeaders = isRoot || (alongTree && plan.isLeader);
  const int others = hasLeaders ? hosts.peers : hosts.members;
  int next = plan.isLeader ? operation.root : hosts.leader;
  if (alongTree && plan.isLeader && !isRoot) {
    const HostTree tree{hosts_[operation.root], hosts_.count()};
    next = leaderOf(tree.parentOf(hosts_[rank_]), operation.root);
  }
  RecvConnection* fromRoot = isRoot ? nullptr : &recvs_[next];
  SendConnection* toRoot = isRoot ? nullptr : &sends_[next];
  const int one = isRoot ? 0 : 1;
  Links links =
      spreads ? Links{&fromRoot, one, hosts.send.data(), others, 0} : Links{hosts.recv.data(), others, &toRoot, one, 0};
  links.oneWay = true;
  Primitives primitives(waiter_, transfer, links, space);
  if (spreads) {
    hostsBroadcast(primitives, plan, isRoot, others > 0);
  } else {
    hostsReduce(primitives, plan, isRoot, others > 0);
  }
  primitives.finish();
}

// Runs an all-gather by hosts: members send their parts to their leader, leaders exchange the parts of their hosts, and
// each leader sends all parts to its members.
template <class Primitives>
void Channel::gatherByHosts(HostLinks& hosts, const Operation& operation, const Transfer& transfer, bool inRounds,
                            uint8_t* space) {
  const size_t part = operation.count;
  const size_t whole = part * static_cast<size_t>(size_);
  if (hosts.leader != rank_) {
    const Links links{hosts.recv.data(), 1, hosts.send.data(), 1, 0};
    Primitives member(waiter_, transfer, links, space);
    member.sendTo(0, 0, part);
    member.recvFrom(0, 0, whole);
    member.finish();
    return;
  }
  Transfer gathered = transfer;
  gathered.input = transfer.output;
  const Links fromMembers = hosts.fromMembers(), leaders = hosts.betweenLeaders(), toMembers = hosts.toMembers();
  Primitives in(waiter_, transfer, fromMembers, space);
  Primitives between(waiter_, gathered, leaders, space);
  Primitives out(waiter_, gathered, toMembers, space);
  in.copy(0, static_cast<size_t>(rank_) * part, part);
  for (int i = 0; i < hosts.members; ++i) in.recvFrom(i, static_cast<size_t>(rank_ + 1 + i) * part, part);
  if (inRounds) {
    gathered.zeroCopy = false;
    const auto begin = [&](int host) { return host == hosts_.count() ? whole : hosts_.ranksOf(host).begin * part; };
    const bool isWhole = !in.failed() && roundsOf<Primitives>(hosts, space).allGather(gathered, begin);
    if (hosts.members > 0 && isWhole) out.send(0, whole);
  } else {
    const ring::Part own = hosts_.ranksOf(hosts_[rank_]);
    if (!in.failed()) between.copySend(own.begin * part, own.begin * part, own.count * part);
    for (int host = 0, link = 0; host < hosts_.count() && !in.failed(); ++host) {
      if (host == hosts_[rank_]) continue;
      const ring::Part ranks = hosts_.ranksOf(host);
      between.recvFrom(link++, ranks.begin * part, ranks.count * part);
    }
    // After a failure the result is incomplete, and members must not receive it.
    if (hosts.members > 0 && !in.failed() && !between.failed()) out.send(0, whole);
  }
  in.finish();
  between.finish();
  out.finish();
}

// Runs a reduce-scatter by hosts: a leader sums the inputs of its host, sends each other leader the sums for that
// leader's ranks, adds those that it receives, and sends its members their parts.
template <class Primitives>
void Channel::scatterByHosts(HostLinks& hosts, const Operation& operation, const Transfer& transfer, bool inRounds,
                             uint8_t* space) {
  const size_t part = operation.count;
  const size_t whole = part * static_cast<size_t>(size_);
  if (hosts.leader != rank_) {
    const Links links{hosts.recv.data(), 1, hosts.send.data(), 1, 0};
    Primitives member(waiter_, transfer, links, space);
    member.sendTo(0, 0, whole);
    member.recvFrom(0, 0, part);
    member.finish();
    return;
  }
  if (!reserve(whole * transfer.elementBytes, hostMemory_)) return;
  Transfer sum = transfer;
  sum.output = hostMemory_.base();
  sum.zeroCopy = false;
  Transfer exchanged = sum;
  exchanged.input = sum.output;
  Transfer finished = exchanged;
  finished.output = transfer.output;
  const Links fromMembers = hosts.fromMembers(), leaders = hosts.betweenLeaders(), toMembers = hosts.toMembers();
  Primitives in(waiter_, sum, fromMembers, space);
  Primitives between(waiter_, exchanged, leaders, space);
  Primitives out(waiter_, finished, toMembers, space);
  in.recvReduceCopy(0, 0, whole, false);
  if (in.failed()) return;  // an incomplete sum must not be sent
  if (inRounds) {
    const auto begin = [&](int host) { return host == hosts_.count() ? whole : hosts_.ranksOf(host).begin * part; };
    if (!roundsOf<Primitives>(hosts, space).reduceScatter(exchanged, begin)) return;
  } else {
    for (int host = 0, link = 0; host < hosts_.count(); ++host) {
      if (host == hosts_[rank_]) continue;
      const ring::Part ranks = hosts_.ranksOf(host);
      between.sendTo(link++, ranks.begin * part, ranks.count * part);
    }
    const ring::Part own = hosts_.ranksOf(hosts_[rank_]);
    between.recvReduceCopy(own.begin * part, own.begin * part, own.count * part, true);
    if (between.failed()) return;
  }
  out.copy(static_cast<size_t>(rank_) * part, 0, part);
  for (int i = 0; i < hosts.members; ++i) out.sendTo(i, static_cast<size_t>(rank_ + 1 + i) * part, part);
}

// Runs an all-to-all by hosts: members send their leader what is for other hosts, each leader sends every other leader
// one message, and passes the blocks that arrive on to its members. The ranks of a host exchange their blocks meanwhile.
template <class Primitives>
void Channel::exchangeByHosts(HostLinks& hosts, const Operation& operation, const Transfer& whole, uint8_t* space) {
  Transfer transfer = whole;
  transfer.zeroCopy = false;  // the blocks of other hosts do not stay in memory of the user
  const size_t block = operation.count;
  const ring::Part own = hosts_.ranksOf(hosts_[rank_]);
  // A row has the blocks that a rank sends to all other hosts, or receives from them, in rank order. Calls body(place in
  // the user's buffer, place in a row, elements) for those of ranks before and after this host, as far as there are any.
  const size_t end = own.begin + own.count, all = static_cast<size_t>(size_);
  const auto forOutside = [&](const auto& body) {
    if (own.begin > 0) body(size_t{0}, size_t{0}, own.begin * block);
    if (end < all) body(end * block, own.begin * block, (all - end) * block);
  };
  HostLinks inside = linksInside();
  const Links insideLinks = inside.all();
  Primitives local(waiter_, transfer, insideLinks, space);
  const auto exchangeInside = [&] {
    const auto peerOf = [&](int link) {
      const size_t peer = own.begin + static_cast<size_t>(link);
      return peer < static_cast<size_t>(rank_) ? peer : peer + 1;
    };
    for (int link = 0; link < inside.peers; ++link) local.sendTo(link, peerOf(link) * block, block);
    local.copy(static_cast<size_t>(rank_) * block, static_cast<size_t>(rank_) * block, block);
    for (int link = 0; link < inside.peers; ++link) local.recvFrom(link, peerOf(link) * block, block);
  };
  if (hosts.leader != rank_) {
    constexpr int kLeader = 0;  // the leader is the first rank of its host
    forOutside([&](size_t at, size_t, size_t count) { local.sendTo(kLeader, at, count); });
    exchangeInside();
    forOutside([&](size_t at, size_t, size_t count) { local.recvFrom(kLeader, at, count); });
    return;
  }
  const size_t element = transfer.elementBytes;
  const size_t rowCount = (all - own.count) * block;
  const size_t outside = own.count * rowCount;  // elements that this host sends to other hosts, or receives from them
  if (!reserve(3 * outside * element, hostMemory_)) return;
  uint8_t* rows = hostMemory_.base();  // a row for each rank of this host: first those to send, then those that arrived
  uint8_t* sent = rows + outside * element;
  uint8_t* arrived = sent + outside * element;
  const auto move = [element](uint8_t* to, size_t toAt, const uint8_t* from, size_t fromAt, size_t count) {
    if (count != 0) std::memcpy(to + toAt * element, from + fromAt * element, count * element);
  };
  // Calls body(link, ranks of the host, place of the host's blocks in a row, place of the host in `sent` and `arrived`).
  const auto forOtherHosts = [&](const auto& body) {
    size_t place = 0;
    for (int host = 0, link = 0; host < hosts_.count(); ++host) {
      if (host == hosts_[rank_]) continue;
      const ring::Part ranks = hosts_.ranksOf(host);
      body(link++, ranks, place / own.count, place);
      place += own.count * ranks.count * block;
    }
  };
  Transfer collected = transfer;
  collected.input = collected.output = rows;
  Transfer exchanged = transfer;
  exchanged.input = sent;
  exchanged.output = arrived;
  const Links fromMembers = hosts.fromMembers(), leaders = hosts.betweenLeaders(), toMembers = hosts.toMembers();
  Primitives in(waiter_, collected, fromMembers, space);
  Primitives between(waiter_, exchanged, leaders, space);
  Primitives out(waiter_, collected, toMembers, space);
  // The leader's own row is the first one.
  const auto rowOf = [&](int member) { return static_cast<size_t>(member + 1) * rowCount; };
  forOutside([&](size_t at, size_t inRow, size_t count) { move(rows, inRow, transfer.input, at, count); });
  for (int i = 0; i < hosts.members; ++i) {
    forOutside([&](size_t, size_t inRow, size_t count) { in.recvFrom(i, rowOf(i) + inRow, count); });
  }
  if (in.failed()) return;
  forOtherHosts([&](int link, ring::Part ranks, size_t inRow, size_t place) {
    const size_t blocks = ranks.count * block;
    for (size_t i = 0; i < own.count; ++i) move(sent, place + i * blocks, rows, i * rowCount + inRow, blocks);
    between.sendTo(link, place, own.count * blocks);
  });
  exchangeInside();
  forOtherHosts([&](int link, ring::Part ranks, size_t inRow, size_t place) {
    between.recvFrom(link, place, own.count * ranks.count * block);
    if (between.failed()) return;
    for (size_t from = 0; from < ranks.count; ++from) {
      for (size_t to = 0; to < own.count; ++to) {
        move(rows, to * rowCount + inRow + from * block, arrived, place + (from * own.count + to) * block, block);
      }
    }
  });
  if (between.failed() || local.failed()) return;
  forOutside([&](size_t at, size_t inRow, size_t count) { move(transfer.output, at, rows, inRow, count); });
  for (int i = 0; i < hosts.members; ++i) {
    forOutside([&](size_t, size_t inRow, size_t count) { out.sendTo(i, rowOf(i) + inRow, count); });
  }
}

// Runs an all-to-all by shares: each rank collects the blocks that its host has for a rank that it serves, and sends
// them as one message, which arrives in the output of that rank.
template <class Primitives>
void Channel::exchangeByShares(const Operation& operation, const Transfer& transfer, uint8_t* space) {
  const size_t block = operation.count, blockBytes = block * transfer.elementBytes;
  const ring::Part own = hosts_.ranksOf(hosts_[rank_]);
  const size_t message = own.count * block;
  if (!reserve(shares_.served.size() * own.count * blockBytes, hostMemory_)) return;
  const auto blockOf = [block](int rank) { return static_cast<size_t>(rank) * block; };
  Transfer collected = transfer;
  collected.input = collected.output = hostMemory_.base();
  std::array<RecvConnection*, kMaxFanout> partners{};
  for (size_t i = 0; i < shares_.partners.size(); ++i) partners[i] = &recvs_[static_cast<size_t>(shares_.partners[i])];
  const auto locals = static_cast<int>(shares_.locals.size()), hosts = static_cast<int>(shares_.partners.size());
  const Links inside{shareLinks_.fromLocals.data(), locals, shareLinks_.toLocals.data(), locals, 0};
  const Links outward{nullptr, 0, shareLinks_.toServed.data(), static_cast<int>(shares_.served.size()), 0};
  const Links inward{partners.data(), hosts, nullptr, 0, 0};
  Primitives local(waiter_, transfer, inside, space);
  Primitives collect(waiter_, collected, inside, space);
  Primitives send(waiter_, collected, outward, space);
  Primitives receive(waiter_, transfer, inward, space);
  // The blocks of the ranks of a partner's host, which one message brings.
  const auto blocksOf = [&](int host) {
    const ring::Part ranks = hosts_.ranksOf(hosts_[shares_.partners[static_cast<size_t>(host)]]);
    return ring::Part{ranks.begin * block, ranks.count * block};
  };
  for (int host = 0; host < hosts; ++host) {
    const Links one{inward.recv + host, 1, nullptr, 0, 0};
    Primitives posting(waiter_, transfer, one, space);
    const ring::Part blocks = blocksOf(host);
    if (posting.postsReceives()) posting.postReceive(blocks.begin, blocks.count, 0);
  }
  for (size_t turn = 0; turn < shares_.mostServed && !collect.failed(); ++turn) {
    for (int i = 0; i < locals; ++i) {
      const std::vector<int>& theirs = shares_.servedByLocals[static_cast<size_t>(i)];
      if (turn < theirs.size()) local.sendTo(i, blockOf(theirs[turn]), block);
    }
    if (turn >= shares_.served.size()) continue;
    const size_t row = turn * message;
    uint8_t* const place = hostMemory_.base() + (turn * own.count + shares_.place) * blockBytes;
    const uint8_t* const input = transfer.input + static_cast<size_t>(shares_.served[turn]) * blockBytes;
    if (block != 0) std::memcpy(place, input, blockBytes);
    for (int i = 0; i < locals; ++i) {
      const size_t other = static_cast<size_t>(shares_.locals[static_cast<size_t>(i)]) - own.begin;
      collect.recvFrom(i, row + other * block, block);
    }
    // An incomplete message must not be sent.
    if (!collect.failed()) send.sendTo(static_cast<int>(turn), row, message);
  }
  for (int i = 0; i < locals; ++i) local.sendTo(i, blockOf(shares_.locals[static_cast<size_t>(i)]), block);
  local.copy(blockOf(rank_), blockOf(rank_), block);
  for (int i = 0; i < locals; ++i) local.recvFrom(i, blockOf(shares_.locals[static_cast<size_t>(i)]), block);
  for (int host = 0; host < hosts; ++host) receive.recvFrom(host, blocksOf(host).begin, blocksOf(host).count);
  for (Primitives* each : {&local, &collect, &receive, &send}) each->finish();
}

template void Channel::runByHosts<HostPrimitives<Protocol::LL>>(const Operation&, const Transfer&);
template void Channel::runByHosts<HostPrimitives<Protocol::LL128>>(const Operation&, const Transfer&);
template void Channel::runByHosts<HostPrimitives<Protocol::Simple>>(const Operation&, const Transfer&);
template void Channel::runByHosts<WirePrimitives>(const Operation&, const Transfer&);

}  // namespace jccl
