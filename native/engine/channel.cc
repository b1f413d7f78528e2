#include "engine/channel.h"

#include <algorithm>
#include <array>

#include "engine/slicing.h"

namespace jccl {
namespace {

// LL and LL128 unpack through scratch memory that should stay in the first-level cache.
constexpr uint32_t kMaxPackedSliceBytes = 16 * 1024;
// Chunks that are sent without a copy cost nothing to have in flight: about half of the slots.
constexpr size_t kReceivesAhead = 4;
// From this size of the buffer on zero-copy sends save more than waiting for the last chunk to leave costs.
constexpr size_t kMinZeroCopyBytes = 16 * 1024;

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
  switch (operation.choice.protocol) {
    case Protocol::LL:
      return runWith<Protocol::LL>(operation, transfer);
    case Protocol::LL128:
      return runWith<Protocol::LL128>(operation, transfer);
    case Protocol::Simple:
      return runWith<Protocol::Simple>(operation, transfer);
  }
}

template <Protocol P>
void Channel::runWith(const Operation& operation, Transfer& transfer) {
  const ConnectionShape& shape = sends_[size_ == 1 ? 0 : directSend_[0]->peer].memory.shape;
  const size_t element = transfer.elementBytes;
  uint32_t capacity = size_ == 1 ? kDefaultStepBytes : shape.payloadCapacity(P);
  if (P != Protocol::Simple) {
    // Behind a network the same chunks go into SIMPLE slots.
    capacity = std::min({capacity, kMaxPackedSliceBytes, shape.payloadCapacity(Protocol::Simple)});
  }
  transfer.zeroCopy = P == Protocol::Simple && sendsZeroCopy(operation);
  transfer.sliceCount = sliceCountOf(operation.choice, capacity, element);
  if (operation.choice.algorithm == Algorithm::Ring) return runRing<P>(operation, transfer);
  if (operation.choice.algorithm == Algorithm::Tree) return runTree<P>(operation, transfer);
  if (runsByHosts(operation)) return runByHosts<P>(operation, transfer);
  runDirect<P>(operation, transfer);
}

template <Protocol P>
void Channel::runRing(const Operation& operation, const Transfer& transfer) {
  const int neighbours = size_ == 1 ? 0 : 1;
  Links links{&ringRecv_, neighbours, &ringSend_, neighbours, 0};
  links.oneWay = hasRoot(operation.code.collective);
  uint8_t* space = nullptr;
  if (!scratch<P>(neighbours, transfer, space)) return;
  HostPrimitives<P> primitives(waiter_, transfer, links, space);
  const size_t chunkCount = ringChunkCountOf(operation.code.collective, transfer.sliceCount);
  RingPlan plan{ringOrder_.data(), size_, ringPosition_, chunkCount, 0, 0};
  ring::share(operation.count, index_, operation.choice.channels, plan.begin, plan.count);
  switch (operation.code.collective) {
    case Collective::AllReduce:
    case Collective::Barrier:
      ringAllReduce(primitives, plan);
      break;
    case Collective::AllGather:
      ringAllGather(primitives, plan, partsOf(operation));
      break;
    case Collective::ReduceScatter:
      ringReduceScatter(primitives, plan, partsOf(operation));
      break;
    case Collective::Broadcast:
      ringBroadcast(primitives, plan, operation.root);
      break;
    case Collective::Reduce:
      ringReduce(primitives, plan, operation.root);
      break;
    default:
      break;  // the communicator sends the others to the point-to-point executor
  }
  primitives.finish();
}

template <Protocol P>
void Channel::runTree(const Operation& operation, const Transfer& transfer) {
  const int children = static_cast<int>(treeDown_.size());
  const bool root = treeUp_ < 0;
  const Links up{downRecv_.data(), children, root ? downSend_.data() : &upSend_, root ? children : 1, 0};
  const Links down{&upRecv_, root ? 0 : 1, downSend_.data(), children, 0};
  uint8_t* space = nullptr;
  if (!scratch<P>(std::max(children, 1), transfer, space)) return;
  HostPrimitives<P> upward(waiter_, transfer, up, space);
  HostPrimitives<P> downward(waiter_, transfer, down, space);
  TreePlan plan{root, children == 0, transfer.sliceCount, 0, 0};
  ring::share(operation.count, index_, operation.choice.channels, plan.begin, plan.count);
  treeAllReduce(upward, downward, plan);
  upward.finish();
  downward.finish();
}

template <Protocol P>
void Channel::runDirect(const Operation& operation, const Transfer& transfer) {
  const int peers = size_ - 1;
  Links links{directRecv_.data(), peers, directSend_.data(), peers, rank_, true};
  links.oneWay = hasRoot(operation.code.collective);
  uint8_t* space = nullptr;
  if (!scratch<P>(peers, transfer, space)) return;
  DirectPlan plan;
  plan.rank = rank_;
  plan.size = size_;
  plan.chunkCount = transfer.sliceCount;
  ring::share(operation.count, index_, operation.choice.channels, plan.begin, plan.count);
  if (transfer.zeroCopy && allNet()) plan.ahead = kReceivesAhead;
  HostPrimitives<P> primitives(waiter_, transfer, links, space);
  switch (operation.code.collective) {
    case Collective::AllReduce:
      if ((operation.choice.flags & Choice::kTwoShot) != 0) {
        directAllReduceTwoShot(primitives, plan);
        break;
      }
      [[fallthrough]];
    case Collective::Barrier:
      directAllReduce(primitives, plan);
      break;
    case Collective::AllGather:
      directAllGather(primitives, plan, partsOf(operation));
      break;
    case Collective::ReduceScatter:
      directReduceScatter(primitives, plan, partsOf(operation));
      break;
    case Collective::Broadcast:
      directBroadcast(primitives, plan, operation.root);
      break;
    case Collective::Reduce:
      directReduce(primitives, plan, operation.root);
      break;
    default:
      break;
  }
  primitives.finish();
}

bool Channel::runsByHosts(const Operation& operation) const {
  if ((operation.choice.flags & Choice::kByHosts) == 0 || hostOf_.empty()) return false;
  switch (operation.code.collective) {
    case Collective::AllReduce:
    case Collective::Barrier:
    case Collective::Broadcast:
    case Collective::Reduce:
      return true;
    default:
      return false;
  }
}

// The root leads its host, the first rank any other. `root` -1: there is none.
int Channel::leaderOf(int host, int root) const {
  if (root >= 0 && hostOf_[root] == host) return root;
  return static_cast<int>(std::find(hostOf_.begin(), hostOf_.end(), host) - hostOf_.begin());
}

template <Protocol P>
void Channel::runByHosts(const Operation& operation, const Transfer& transfer) {
  const int root = hasRoot(operation.code.collective) ? operation.root : -1;
  const int host = hostOf_[rank_];
  const int leader = leaderOf(host, root);
  std::array<RecvConnection*, kMaxFanout> recvs{};
  std::array<SendConnection*, kMaxFanout> sends{};
  HostsPlan plan;
  plan.isLeader = leader == rank_;
  plan.chunkCount = transfer.sliceCount;
  ring::share(operation.count, index_, operation.choice.channels, plan.begin, plan.count);

  // This host's other ranks, then the other leaders.
  int members = 0;
  int before = 0;  // leaders of the hosts before this one
  int peers = 0;
  for (int peer = 0; plan.isLeader && peer < size_; ++peer) {
    if (peer == rank_ || hostOf_[peer] != host) continue;
    recvs[static_cast<size_t>(peers)] = &recvs_[peer];
    sends[static_cast<size_t>(peers++)] = &sends_[peer];
  }
  members = peers;
  plan.hasMembers = members > 0;
  const int hosts = 1 + *std::max_element(hostOf_.begin(), hostOf_.end());
  for (int other = 0; plan.isLeader && other < hosts; ++other) {
    if (other == host) continue;
    before += other < host ? 1 : 0;
    recvs[static_cast<size_t>(peers)] = &recvs_[leaderOf(other, root)];
    sends[static_cast<size_t>(peers++)] = &sends_[leaderOf(other, root)];
  }
  if (!plan.isLeader) {
    recvs[0] = &recvs_[leader];
    sends[0] = &sends_[leader];
  }
  uint8_t* space = nullptr;
  if (!scratch<P>(std::max(peers, 1), transfer, space)) return;

  if (root < 0) {
    Links inward{recvs.data(), members, sends.data() + members, peers - members, 0};
    Links outward{recvs.data() + members, peers - members, sends.data(), members, before};
    if (!plan.isLeader) {
      inward = Links{nullptr, 0, sends.data(), 1, 0};
      outward = Links{recvs.data(), 1, nullptr, 0, 0};
    }
    Transfer partial = transfer;
    partial.input = transfer.output;
    HostPrimitives<P> in(waiter_, transfer, inward, space);
    HostPrimitives<P> out(waiter_, partial, outward, space);
    hostsAllReduce(in, out, plan);
    in.finish();
    out.finish();
    return;
  }
  // Between leaders data goes to or from the root alone.
  const bool isRoot = rank_ == root;
  const bool spreads = operation.code.collective == Collective::Broadcast;
  Links links;
  links.oneWay = true;
  RecvConnection* fromRoot = isRoot ? nullptr : &recvs_[plan.isLeader ? root : leader];
  SendConnection* toRoot = isRoot ? nullptr : &sends_[plan.isLeader ? root : leader];
  const int spread = isRoot ? peers : members;
  links.recv = spreads ? &fromRoot : recvs.data();
  links.recvCount = spreads ? (isRoot ? 0 : 1) : spread;
  links.send = spreads ? sends.data() : &toRoot;
  links.sendCount = spreads ? spread : (isRoot ? 0 : 1);
  HostPrimitives<P> primitives(waiter_, transfer, links, space);
  if (spreads) {
    hostsBroadcast(primitives, plan, isRoot);
  } else {
    hostsReduce(primitives, plan, isRoot);
  }
  primitives.finish();
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

// Memory for the slices of `links` receive connections and one to send; grows only, and is made by the first operation
// that needs it.
template <Protocol P>
bool Channel::scratch(int links, const Transfer& transfer, uint8_t*& space) {
  if constexpr (P != Protocol::Simple) {
    const size_t slice = (transfer.sliceCount * transfer.elementBytes + 63) / 64 * 64;
    const size_t needed = slice * (links + 1);
    if (__builtin_expect(scratchMemory_.bytes() < needed, 0)) {
      if (!MappedMemory::mapAnonymous(needed, scratchMemory_)) {
        waiter_.control().fail(Code::NoMemory);
        return false;
      }
      scratchBytes_.store(scratchMemory_.bytes(), std::memory_order_relaxed);
    }
    space = scratchMemory_.base();
  }
  return true;
}

}  // namespace jccl
