// Scans: reductions of the elements of all lower ranks, in rank order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "engine/exchange_tasks.h"
#include "engine/operation.h"
#include "primitives/reduce.h"

namespace jccl {

// One rank's part in a scan: rounds of messages, and reductions between them.
class Scan {
 public:
  // Moves messages. Returns false after a failure, which ends the scan.
  using Exchange = std::function<bool(std::vector<PointToPointTask>& tasks)>;

  // `scratch` is kept between scans, so that they do not allocate.
  Scan(const Operation& operation, ReduceCopyFn reduce, int rank, int size, std::vector<uint8_t>& scratch,
       Exchange exchange);

  // Doubles the number of ranks that a partial result covers in each round:
  //
  //     round 1   rank r has x(r-1) ∘ x(r)
  //     round 2   rank r has (x(r-3) ∘ x(r-2)) ∘ (x(r-1) ∘ x(r))
  //
  // Every rank sends all elements in each round.
  void byDoubling();

  // Passes chunks from rank to rank. Each rank combines a chunk with its own elements while the next one arrives. Every
  // rank sends each element once.
  void alongChain();

  // Chooses between the two. The result depends on facts that all ranks share.
  void run();

 private:
  struct Chunk {
    size_t offset, bytes;
  };

  void send(int peer, const uint8_t* from, size_t bytes);
  void receive(int peer, uint8_t* to, size_t bytes);
  bool exchange();
  void combine(uint8_t* to, const uint8_t* lower, const uint8_t* upper, size_t bytes) const;
  uint8_t* scratch(size_t buffers, size_t bytes);
  Chunk chunk(size_t index) const;
  void takeChunk(size_t index, uint8_t* received, uint8_t* passed) const;

  const Operation& operation_;
  const ReduceCopyFn reduce_;
  const int rank_, size_;
  const size_t element_;
  const bool inclusive_;
  std::vector<uint8_t>& scratch_;
  Exchange exchange_;
  std::vector<PointToPointTask> tasks_;
};

}  // namespace jccl
