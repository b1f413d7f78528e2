#include "engine/channel.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "engine/channel_scratch.h"
#include "engine/slicing.h"

namespace jccl {
namespace {

// LL and LL128 unpack through scratch memory that should stay in the first-level cache.
constexpr uint32_t kMaxPackedSliceBytes = 16 * 1024;
// Number of chunks by which zero-copy sends run ahead of receives: half of the slots. Chunks in flight cost nothing,
// because they are not copied.
constexpr size_t kZeroCopySendsAhead = 4;
// Smallest buffer that is sent without a copy. For smaller ones, waiting until the last chunk has left costs more than
// the copy.
constexpr size_t kMinZeroCopyBytes = 16 * 1024;

// A leader sends all its data for another leader before it receives. So this data, of `count` elements, must fit into
// half of the slots.
bool fitsHalfOfTheSlots(size_t count, size_t sliceCount) { return count <= kSlots / 2 * sliceCount; }

template <class Primitives>
constexpr bool kNarrows = std::is_same_v<Primitives, WirePrimitives>;

}  // namespace

Channel::Channel(int index, int rank, int size, WaitControl& control)
    : index_(index), rank_(rank), size_(size), sends_(size), recvs_(size), waiter_(control, record_, index == 0) {
  for (int peer = 0; peer < size; ++peer) {
    sends_[peer].peer = peer;
    recvs_[peer].peer = peer;
    if (peer == rank) continue;
    directSend_.push_back(&sends_[peer]);
    directRecv_.push_back(&recvs_[peer]);
  }
}

void Channel::setHosts(RankHosts hosts) {
  hosts_ = std::move(hosts);
  for (int peer = 0; peer < size_; ++peer) {
    sends_[peer].crossesHosts = recvs_[peer].crossesHosts = hosts_[peer] != hosts_[rank_];
  }
}

// Replaces the memory if it is too small. Returns false, and records the failure, if there is none.
bool Channel::reserve(size_t bytes, MappedMemory& memory) {
  if (memory.bytes() >= bytes || MappedMemory::mapAnonymous(bytes, memory)) return true;
  waiter_.control().fail(Code::NoMemory);
  return false;
}

bool Channel::scratch(size_t bytes, uint8_t*& space) {
  if (__builtin_expect(scratchMemory_.bytes() < bytes, 0)) {
    if (!reserve(bytes, scratchMemory_)) return false;
    scratchBytes_.store(scratchMemory_.bytes(), std::memory_order_relaxed);
  }
  space = scratchMemory_.base();
  return true;
}

template <class Primitives>
bool Channel::scratchOf(int links, const Transfer& transfer, uint8_t*& space) {
  if constexpr (kNarrows<Primitives>) {
    return scratch(Primitives::scratchBytes(links, transfer.elementBytes), space);
  } else {
    return scratch<Primitives::kProtocol>(links, transfer, space);
  }
}

void Channel::setRing(const std::vector<int>& order) {
  ringOrder_.resize(size_);
  const auto self = std::find(order.begin(), order.end(), rank_) - order.begin();
  const auto zero = std::find(order.begin(), order.end(), 0) - order.begin();
  for (int i = 0; i < size_; ++i) ringOrder_[i] = order[(self + i) % size_];
  ringPosition_ = static_cast<int>((self - zero + size_) % size_);
  ringSend_ = &sends_[ringOrder_[1 % size_]];
  ringRecv_ = &recvs_[ringOrder_[size_ - 1]];
}

void Channel::setTree(int up, const std::vector<int>& down) {
  treeSet_ = true;
  treeUp_ = up;
  treeDown_ = down;
  upSend_ = up >= 0 ? &sends_[up] : nullptr;
  upRecv_ = up >= 0 ? &recvs_[up] : nullptr;
  downSend_.clear();
  downRecv_.clear();
  for (int child : down) {
    downSend_.push_back(&sends_[child]);
    downRecv_.push_back(&recvs_[child]);
  }
}

std::vector<Channel::Need> Channel::needs() const {
  std::vector<Need> needs;
  if (size_ == 1) return needs;
  if (hasRing()) {
    needs.push_back({ringOrder_[1], true, false});
    needs.push_back({ringOrder_[size_ - 1], false, true});
  }
  if (treeUp_ >= 0) needs.push_back({treeUp_, true, true});
  for (int child : treeDown_) needs.push_back({child, true, true});
  return needs;
}

void Channel::run(const Operation& operation, Transfer& transfer) {
  if (__builtin_expect(transfer.narrowing != nullptr, 0)) return runWith<WirePrimitives>(operation, transfer);
  switch (operation.choice.protocol) {
    case Protocol::LL:
      return runWith<HostPrimitives<Protocol::LL>>(operation, transfer);
    case Protocol::LL128:
      return runWith<HostPrimitives<Protocol::LL128>>(operation, transfer);
    case Protocol::Simple:
      return runWith<HostPrimitives<Protocol::Simple>>(operation, transfer);
  }
}

// Returns the largest number of elements of a step.
size_t Channel::sliceCount(const Choice& choice, Protocol protocol, size_t elementBytes) const {
  const ConnectionShape& shape = sends_[size_ == 1 ? 0 : directSend_[0]->peer].memory.shape;
  uint32_t capacity = size_ == 1 ? kDefaultStepBytes : shape.payloadCapacity(protocol);
  if (protocol != Protocol::Simple) {
    // Over a network, chunks of every protocol travel in SIMPLE slots, so they must also fit into a SIMPLE slot.
    capacity = std::min({capacity, kMaxPackedSliceBytes, shape.payloadCapacity(Protocol::Simple)});
  }
  return sliceCountOf(choice, capacity, elementBytes);
}

template <class Primitives>
void Channel::runWith(const Operation& operation, Transfer& transfer) {
  transfer.zeroCopy = Primitives::kProtocol == Protocol::Simple && !kNarrows<Primitives> && sendsZeroCopy(operation);
  transfer.sliceCount = sliceCount(operation.choice, Primitives::kProtocol, transfer.elementBytes);
  if constexpr (kNarrows<Primitives>) {
    // Chunks of whole blocks have fewer scales.
    if (transfer.sliceCount > kWireBlock) transfer.sliceCount -= transfer.sliceCount % kWireBlock;
  }
  if (operation.choice.algorithm == Algorithm::Ring) return runRing<Primitives>(operation, transfer);
  if (operation.choice.algorithm == Algorithm::Tree) return runTree<Primitives>(operation, transfer);
  if (operation.choice.algorithm != Algorithm::Direct) return added_->run(operation, transfer);
  if (runsByHosts(operation, transfer)) return runByHosts<Primitives>(operation, transfer);
  runDirect<Primitives>(operation, transfer);
}

template <class Primitives>
void Channel::runRing(const Operation& operation, const Transfer& transfer) {
  const int neighbours = size_ == 1 ? 0 : 1;
  Links links{&ringRecv_, neighbours, &ringSend_, neighbours, 0};
  links.oneWay = hasRoot(operation.code.collective);
  uint8_t* space = nullptr;
  if (!scratchOf<Primitives>(neighbours, transfer, space)) return;
  Primitives primitives(waiter_, transfer, links, space);
  const size_t chunkCount = chunkCountOf(operation.code.collective, transfer.sliceCount);
  RingPlan plan{ringOrder_.data(), size_, ringPosition_, chunkCount, 0, 0};
  ring::share(operation.count, index_, operation.choice.channels, plan.begin, plan.count);
  ringSchedule(primitives, plan, partsOf(operation), operation.code.collective, operation.root);
  primitives.finish();
}

template <class Primitives>
void Channel::runTree(const Operation& operation, const Transfer& transfer) {
  const int children = static_cast<int>(treeDown_.size());
  const bool root = treeUp_ < 0;
  const Links up{downRecv_.data(), children, root ? downSend_.data() : &upSend_, root ? children : 1, 0};
  const Links down{&upRecv_, root ? 0 : 1, downSend_.data(), children, 0};
  uint8_t* space = nullptr;
  if (!scratchOf<Primitives>(std::max(children, 1), transfer, space)) return;
  Primitives upward(waiter_, transfer, up, space);
  Primitives downward(waiter_, transfer, down, space);
  TreePlan plan{root, children == 0, transfer.sliceCount, 0, 0};
  ring::share(operation.count, index_, operation.choice.channels, plan.begin, plan.count);
  treeAllReduce(upward, downward, plan);
  upward.finish();
  downward.finish();
}

template <class Primitives>
void Channel::runDirect(const Operation& operation, const Transfer& transfer) {
  const int peers = size_ - 1;
  Links links{directRecv_.data(), peers, directSend_.data(), peers, rank_, true};
  links.oneWay = hasRoot(operation.code.collective);
  uint8_t* space = nullptr;
  if (!scratchOf<Primitives>(peers, transfer, space)) return;
  DirectPlan plan;
  plan.rank = rank_;
  plan.size = size_;
  plan.chunkCount = chunkCountOf(operation.code.collective, transfer.sliceCount);
  ring::share(operation.count, index_, operation.choice.channels, plan.begin, plan.count);
  if (transfer.zeroCopy && allNet()) plan.ahead = kZeroCopySendsAhead;
  Primitives primitives(waiter_, transfer, links, space);
  directSchedule(primitives, plan, partsOf(operation), operation.code.collective, operation.root,
                 (operation.choice.flags & Choice::kTwoShot) != 0);
  primitives.finish();
}

bool Channel::exchangesByHosts(const Operation& operation) const {
  const Choice& choice = operation.choice;
  if (choice.algorithm != Algorithm::Direct || (choice.flags & Choice::kByHosts) == 0) return false;
  if (hosts_.count() == 1 || !hosts_.areConsecutive() || size_ - 1 > kMaxFanout) return false;
  const size_t slice = sliceCount(choice, choice.protocol, sizeOf(operation.code.type));
  return fitsHalfOfTheSlots(hosts_.largest() * hosts_.largest() * operation.count, slice);
}

// Returns true if only the leaders of hosts send to other hosts. All ranks get the same answer.
bool Channel::runsByHosts(const Operation& operation, const Transfer& transfer) const {
  if ((operation.choice.flags & Choice::kByHosts) == 0 || hosts_.count() == 1) return false;
  switch (operation.code.collective) {
    case Collective::AllReduce:
    case Collective::Barrier:
    case Collective::Broadcast:
    case Collective::Reduce:
      return true;
    case Collective::AllGather:
    case Collective::ReduceScatter: {
      if (!hosts_.areConsecutive() || operation.counts != nullptr || operation.choice.channels != 1) return false;
      return fitsHalfOfTheSlots(hosts_.largest() * operation.count, transfer.sliceCount);
    }
    case Collective::AllToAll:
      return true;  // the engine has asked exchangesByHosts
    default:
      return false;
  }
}

// Returns the leader of a host: the root if it is on this host, otherwise the host's first rank. `root` is -1 if the
// collective has no root.
int Channel::leaderOf(int host, int root) const {
  if (root >= 0 && hosts_[root] == host) return root;
  return hosts_.firstOf(host);
}

Channel::HostLinks Channel::hostLinks(int root) {
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
  const bool rooted = hasRoot(operation.code.collective);
  HostLinks hosts = hostLinks(rooted ? operation.root : -1);
  uint8_t* space = nullptr;
  if (!scratchOf<Primitives>(hosts.peers, transfer, space)) return;
  HostsPlan plan;
  plan.isLeader = hosts.leader == rank_;
  plan.hasMembers = hosts.members > 0;
  plan.chunkCount = transfer.sliceCount;
  ring::share(operation.count, index_, operation.choice.channels, plan.begin, plan.count);
  switch (operation.code.collective) {
    case Collective::AllGather:
      return gatherByHosts<Primitives>(hosts, operation, transfer, space);
    case Collective::ReduceScatter:
      return scatterByHosts<Primitives>(hosts, operation, transfer, space);
    case Collective::AllToAll:
      return exchangeByHosts<Primitives>(hosts, operation, transfer, space);
    default:
      if (rooted) return runWithRootByHosts<Primitives>(hosts, plan, operation, transfer, space);
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

// Runs a broadcast or a reduce by hosts: leaders exchange data with the root only.
template <class Primitives>
void Channel::runWithRootByHosts(HostLinks& hosts, const HostsPlan& plan, const Operation& operation,
                                 const Transfer& transfer, uint8_t* space) {
  const bool isRoot = rank_ == operation.root;
  const bool spreads = operation.code.collective == Collective::Broadcast;
  const int others = isRoot ? hosts.peers : hosts.members;
  const int next = plan.isLeader ? operation.root : hosts.leader;
  RecvConnection* fromRoot = isRoot ? nullptr : &recvs_[next];
  SendConnection* toRoot = isRoot ? nullptr : &sends_[next];
  const int one = isRoot ? 0 : 1;
  Links links =
      spreads ? Links{&fromRoot, one, hosts.send.data(), others, 0} : Links{hosts.recv.data(), others, &toRoot, one, 0};
  links.oneWay = true;
  Primitives primitives(waiter_, transfer, links, space);
  if (spreads) {
    hostsBroadcast(primitives, plan, isRoot);
  } else {
    hostsReduce(primitives, plan, isRoot);
  }
  primitives.finish();
}

// Runs an all-gather by hosts: members send their parts to their leader, leaders exchange the parts of their hosts, and
// each leader sends all parts to its members.
template <class Primitives>
void Channel::gatherByHosts(HostLinks& hosts, const Operation& operation, const Transfer& transfer, uint8_t* space) {
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
  const ring::Part own = hosts_.ranksOf(hosts_[rank_]);
  if (!in.failed()) between.copySend(own.begin * part, own.begin * part, own.count * part);
  for (int host = 0, link = 0; host < hosts_.count() && !in.failed(); ++host) {
    if (host == hosts_[rank_]) continue;
    const ring::Part ranks = hosts_.ranksOf(host);
    between.recvFrom(link++, ranks.begin * part, ranks.count * part);
  }
  // After a failure the result is incomplete, and members must not receive it.
  if (hosts.members > 0 && !in.failed() && !between.failed()) out.send(0, whole);
  in.finish();
  between.finish();
  out.finish();
}

// Runs a reduce-scatter by hosts: a leader sums the inputs of its host, sends each other leader the sums for that
// leader's ranks, adds those that it receives, and sends its members their parts.
template <class Primitives>
void Channel::scatterByHosts(HostLinks& hosts, const Operation& operation, const Transfer& transfer, uint8_t* space) {
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
  for (int host = 0, link = 0; host < hosts_.count(); ++host) {
    if (host == hosts_[rank_]) continue;
    const ring::Part ranks = hosts_.ranksOf(host);
    between.sendTo(link++, ranks.begin * part, ranks.count * part);
  }
  const ring::Part own = hosts_.ranksOf(hosts_[rank_]);
  between.recvReduceCopy(own.begin * part, own.begin * part, own.count * part, true);
  if (between.failed()) return;
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

bool Channel::sendsZeroCopy(const Operation& operation) const {
  return operation.bytes >= kMinZeroCopyBytes &&
         std::any_of(directSend_.begin(), directSend_.end(), [](const SendConnection* c) { return c->isNet(); });
}

bool Channel::allNet() const {
  return std::all_of(directSend_.begin(), directSend_.end(), [](const SendConnection* c) { return c->isNet(); });
}

PartPlan Channel::partsOf(const Operation& operation) const {
  return {operation.counts, operation.displacements, operation.count, static_cast<size_t>(index_),
          operation.choice.channels};
}

}  // namespace jccl
