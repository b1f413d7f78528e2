#include "engine/channel.h"

#include <algorithm>

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
  if (runsByHosts(operation)) return runByHosts<Primitives>(operation, transfer);
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
