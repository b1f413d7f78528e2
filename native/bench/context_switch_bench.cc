// Measures the limit of staging: two processes only copy, into slots of shared memory and out of them, in both
// directions at once. No all-reduce through slots can be faster, because it copies at least as much: `bytes` into slots
// and out of them, in each direction.
//
//     context_switch_bench [bytes=1048576] [runs=15]
//
// Prints a line for each size and number of slots and each kind of store (to slots and output, cached or past the
// cache). Two more lines show the limit of buffers in place: each process copies `bytes` from one buffer to another,
// cached or past the cache. The last line repeats the fastest variant through slots. Times are in microseconds: minimum
// and median over the runs. Each process is bound to its own core.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <string>
#include <vector>

#include "base/clock.h"
#include "bench/bench_process.h"
#include "primitives/reduce.h"

namespace {

using namespace jccl;

constexpr size_t kMaxSlotMemory = 4u << 20;  // size of all slots of one direction
constexpr size_t kBytesOfARun = 100u << 20;

struct alignas(128) Counter {
  std::atomic<uint64_t> value{0};
};

// Memory that the two processes share. Each array is indexed by the process that writes the counter.
struct Shared {
  Counter tail[2], head[2], arrived[2];
};

struct Variant {
  size_t slotBytes;  // 0: no slots; each process copies from one buffer to another
  uint64_t slots;
  bool pastCacheSlots, pastCacheOutput;
};

void copy(uint8_t* to, const uint8_t* from, size_t bytes, bool pastCache) {
  static const ReduceCopyFn kernel = reduceCopyKernel(DataType::Uint8, ReduceOp::Sum);
  void* destination = to;
  const void* source = from;
  kernel(&destination, 1, &source, 1, bytes, PostOp{}, pastCache ? 1 : 0);
}

class Process {
 public:
  Process(int rank, size_t bytes, Shared& shared, uint8_t* slots)
      : rank_(rank), shared_(shared), mine_(slots + rank * kMaxSlotMemory), theirs_(slots + !rank * kMaxSlotMemory) {
    input_.assign(bytes, static_cast<uint8_t>(rank + 1));
    output_.assign(bytes, 0);
  }

  void meet() {
    const uint64_t round = shared_.arrived[rank_].value.fetch_add(1, std::memory_order_acq_rel) + 1;
    while (shared_.arrived[!rank_].value.load(std::memory_order_acquire) < round) {
    }
  }

  void run(const Variant& variant) {
    if (variant.slotBytes == 0) {
      copy(output_.data(), input_.data(), input_.size(), variant.pastCacheOutput);
      meet();
      return;
    }
    size_t sent = 0, received = 0;
    while (sent < input_.size() || received < output_.size()) {
      if (sent < input_.size() &&
          sentSlots_ - shared_.head[!rank_].value.load(std::memory_order_acquire) < variant.slots) {
        const size_t bytes = std::min(variant.slotBytes, input_.size() - sent);
        copy(mine_ + sentSlots_ % variant.slots * variant.slotBytes, input_.data() + sent, bytes,
             variant.pastCacheSlots);
        sent += bytes;
        shared_.tail[rank_].value.store(++sentSlots_, std::memory_order_release);
      }
      if (received < output_.size() && shared_.tail[!rank_].value.load(std::memory_order_acquire) > receivedSlots_) {
        const size_t bytes = std::min(variant.slotBytes, output_.size() - received);
        copy(output_.data() + received, theirs_ + receivedSlots_ % variant.slots * variant.slotBytes, bytes,
             variant.pastCacheOutput);
        received += bytes;
        shared_.head[rank_].value.store(++receivedSlots_, std::memory_order_release);
      }
    }
  }

 private:
  int rank_;
  Shared& shared_;
  uint8_t *mine_, *theirs_;
  std::vector<uint8_t> input_, output_;
  uint64_t sentSlots_ = 0, receivedSlots_ = 0;
};

std::vector<Variant> variantsFor(size_t bytes) {
  std::vector<Variant> variants;
  for (size_t slot = 16384; slot <= std::min<size_t>(bytes, 1u << 20); slot *= 4) {
    for (uint64_t slots = 2; slots <= 8 && slot * slots <= kMaxSlotMemory; slots *= 2) {
      for (int stores = 0; stores < 4; ++stores) {
        variants.push_back({slot, slots, (stores & 1) != 0, (stores & 2) != 0});
      }
    }
  }
  variants.push_back({0, 0, false, false});
  variants.push_back({0, 0, false, true});
  return variants;
}

struct Times {
  double min, median;
};

Times timesOf(Process& process, const Variant& variant, size_t bytes, int runs) {
  const int iterations = static_cast<int>(std::clamp<size_t>(kBytesOfARun / bytes, 3, 2000));
  std::vector<double> micros;
  for (int run = 0; run <= runs; ++run) {
    process.meet();
    const int64_t start = monotonicNanos();
    for (int i = 0; i < iterations; ++i) process.run(variant);
    process.meet();
    if (run > 0) micros.push_back(static_cast<double>(monotonicNanos() - start) / iterations / 1000.0);
  }
  std::sort(micros.begin(), micros.end());
  return {micros.front(), micros[micros.size() / 2]};
}

void print(const Variant& variant, const Times& times) {
  const std::string what = variant.slotBytes == 0
                               ? "no slots: a copy"
                               : std::to_string(variant.slots) + " slots of " + std::to_string(variant.slotBytes);
  std::printf("%-22s slots %-8s output %-8s min=%10.3f us  median=%10.3f us\n", what.c_str(),
              variant.slotBytes == 0   ? "-"
              : variant.pastCacheSlots ? "past"
                                       : "cached",
              variant.pastCacheOutput ? "past" : "cached", times.min, times.median);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const size_t bytes = argc > 1 ? std::stoull(argv[1]) : 1048576;
  const int runs = argc > 2 ? std::stoi(argv[2]) : 15;
  if (bytes < 65536 || runs < 1) {
    std::fprintf(stderr, "context_switch_bench [bytes, at least 65536] [runs, at least 1]\n");
    return 2;
  }
  auto* shared = new (sharedMemory(sizeof(Shared))) Shared;
  uint8_t* slots = sharedMemory(2 * kMaxSlotMemory);
  const bool child = fork() == 0;
  bindToOwnCore(child, 2);
  Process process(child, bytes, *shared, slots);
  const Variant* fastest = nullptr;
  Times best{};
  const std::vector<Variant> variants = variantsFor(bytes);
  for (const Variant& variant : variants) {
    const Times times = timesOf(process, variant, bytes, runs);
    if (child) continue;
    print(variant, times);
    if (variant.slotBytes != 0 && (fastest == nullptr || times.median < best.median)) {
      fastest = &variant;
      best = times;
    }
  }
  if (child) std::_Exit(0);
  wait(nullptr);
  std::printf("fastest through slots:\n");
  if (fastest != nullptr) print(*fastest, best);
  return 0;
}
