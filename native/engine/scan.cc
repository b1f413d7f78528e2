#include "engine/scan.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace jccl {
namespace {

constexpr size_t kMaxDoublingBytes = 16 * 1024;
constexpr size_t kChunkBytes = 64 * 1024;

void copy(uint8_t* to, const uint8_t* from, size_t bytes) {
  if (bytes != 0 && to != from) std::memcpy(to, from, bytes);
}

}  // namespace

Scan::Scan(const Operation& operation, ReduceCopyFn reduce, int rank, int size, std::vector<uint8_t>& scratch,
           Exchange exchange)
    : operation_(operation),
      reduce_(reduce),
      rank_(rank),
      size_(size),
      element_(sizeOf(operation.code.type)),
      inclusive_(operation.code.collective == Collective::Scan),
      scratch_(scratch),
      exchange_(std::move(exchange)) {}

void Scan::run() {
  if (operation_.bytes <= kMaxDoublingBytes) {
    byDoubling();
  } else {
    alongChain();
  }
}

void Scan::byDoubling() {
  const size_t bytes = operation_.bytes;
  uint8_t* received = scratch(2, bytes);
  uint8_t* partial = inclusive_ ? operation_.recv : received + bytes;
  copy(partial, operation_.send, bytes);
  for (int distance = 1; distance < size_; distance *= 2) {
    if (rank_ + distance < size_) send(rank_ + distance, partial, bytes);
    if (rank_ >= distance) receive(rank_ - distance, received, bytes);
    if (!exchange()) return;
    if (rank_ < distance) continue;
    if (!inclusive_ && distance == 1) {
      copy(operation_.recv, received, bytes);
    } else if (!inclusive_) {
      combine(operation_.recv, received, operation_.recv, bytes);
    }
    if (inclusive_ || 2 * distance < size_) combine(partial, received, partial, bytes);
  }
}

void Scan::alongChain() {
  const size_t chunks = std::max<size_t>(1, (operation_.bytes + kChunkBytes - 1) / kChunkBytes);
  const bool first = rank_ == 0, last = rank_ + 1 == size_;
  const bool inPlace = operation_.send == operation_.recv;
  uint8_t* const memory = scratch(3, kChunkBytes);
  if (first && inclusive_) copy(operation_.recv, operation_.send, operation_.bytes);
  const auto passed = [&](size_t index) -> uint8_t* {
    if (first) return const_cast<uint8_t*>(operation_.send) + chunk(index).offset;
    return inclusive_ ? operation_.recv + chunk(index).offset : memory + (1 + index % 2) * kChunkBytes;
  };
  for (size_t step = 0; step <= chunks; ++step) {
    const bool takes = !first && step < chunks;
    uint8_t* received = inclusive_ || inPlace ? memory : operation_.recv + chunk(step).offset;
    if (takes) receive(rank_ - 1, received, chunk(step).bytes);
    if (!last && step > 0) send(rank_ + 1, passed(step - 1), chunk(step - 1).bytes);
    if (!exchange()) return;
    if (takes) takeChunk(step, received, last && !inclusive_ ? nullptr : passed(step));
  }
}

// Combines a chunk of the elements of all lower ranks with this rank's. Stores the result at `passed`, unless that is
// null, and stores the chunk itself if it is the result of this rank.
void Scan::takeChunk(size_t index, uint8_t* received, uint8_t* passed) const {
  const auto [offset, bytes] = chunk(index);
  if (passed != nullptr) combine(passed, received, operation_.send + offset, bytes);
  if (!inclusive_) copy(operation_.recv + offset, received, bytes);
}

Scan::Chunk Scan::chunk(size_t index) const {
  const size_t offset = std::min(index * kChunkBytes, operation_.bytes);
  return {offset, std::min(kChunkBytes, operation_.bytes - offset)};
}

void Scan::combine(uint8_t* to, const uint8_t* lower, const uint8_t* upper, size_t bytes) const {
  void* destination = to;
  const void* sources[] = {lower, upper};
  reduce_(&destination, 1, sources, 2, bytes / element_, PostOp{}, 0);
}

uint8_t* Scan::scratch(size_t buffers, size_t bytes) {
  if (scratch_.size() < buffers * bytes) scratch_.resize(buffers * bytes);
  return scratch_.data();
}

void Scan::send(int peer, const uint8_t* from, size_t bytes) {
  tasks_.push_back({PointToPointTask::Kind::Send, peer, const_cast<uint8_t*>(from), bytes, 0});
}

void Scan::receive(int peer, uint8_t* to, size_t bytes) {
  tasks_.push_back({PointToPointTask::Kind::Recv, peer, to, bytes, 0});
}

bool Scan::exchange() {
  const bool done = tasks_.empty() || exchange_(tasks_);
  tasks_.clear();
  return done;
}

}  // namespace jccl
