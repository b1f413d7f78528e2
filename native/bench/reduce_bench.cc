// Compares the speed of the reduction kernels with memcpy and a plain loop:  reduce_bench [bytes...]
//
// GB/s count every byte that is read or written: 2 sources and 1 destination are 3 bytes per byte of payload. The rows
// of one size are measured one after the other, several times, and the best result of each row is printed.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "primitives/reduce.h"

namespace jccl {
namespace {

constexpr int kRounds = 7;
constexpr double kSecondsPerMeasurement = 0.02;

__attribute__((noinline, noclone)) void plainSum(float* to, const float* a, const float* b, size_t count) {
  for (size_t i = 0; i < count; ++i) to[i] = a[i] + b[i];
}

double secondsPerCall(const std::function<void(int)>& repeat) {
  using Clock = std::chrono::steady_clock;
  int calls = 1;
  for (;;) {
    const auto start = Clock::now();
    repeat(calls);
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (seconds > kSecondsPerMeasurement) return seconds / calls;
    calls = seconds < kSecondsPerMeasurement / 100
                ? calls * 10
                : static_cast<int>(calls * 1.5 * kSecondsPerMeasurement / seconds) + 1;
  }
}

struct Row {
  std::string name;
  int streams;  // bytes moved per byte of payload
  std::function<void(int)> repeat;
};

class Arena {
 public:
  explicit Arena(size_t bytes) : stride_((bytes + 8191) / 4096 * 4096), memory_(stride_ * 7 + 4096) {
    for (size_t i = 0; i < memory_.size() / 4; ++i) {
      const float value = static_cast<float>(i % 1000) + 1;
      std::memcpy(memory_.data() + i * 4, &value, 4);
    }
  }
  // Returns buffer i, which starts `skew` bytes into a page.
  char* at(int i, size_t skew = 0) {
    const auto start = reinterpret_cast<uintptr_t>(memory_.data());
    return memory_.data() + (4096 - start % 4096) % 4096 + stride_ * i + skew;
  }

 private:
  size_t stride_;
  std::vector<char> memory_;
};

Row kernelRow(std::string name, Isa isa, DataType type, ReduceOp op, size_t bytes, std::vector<void*> dsts,
              std::vector<const void*> srcs, unsigned mask = 0, uint32_t divisor = 1) {
  const ReduceCopyFn kernel = reduceCopyKernel(type, op, isa);
  const size_t count = bytes / sizeOf(type);
  const int streams = static_cast<int>(dsts.size() + srcs.size());
  return {std::string(nameOf(isa)) + " " + std::move(name), streams, [=](int calls) {
            const PostOp post{divisor};
            for (int i = 0; i < calls; ++i) {
              kernel(dsts.data(), static_cast<int>(dsts.size()), srcs.data(), static_cast<int>(srcs.size()), count,
                     post, mask);
            }
          }};
}

std::vector<Row> rowsFor(size_t bytes, Arena& arena, bool everyType) {
  char* a = arena.at(0);
  char* b = arena.at(1);
  char* c = arena.at(2);
  char* d = arena.at(3);
  std::vector<Row> rows;
  rows.push_back({"memcpy", 2, [=](int calls) {
                    for (int i = 0; i < calls; ++i) {
                      std::memcpy(c, a, bytes);
                      __asm__ volatile("" ::: "memory");
                    }
                  }});
  rows.push_back({"plain loop f32 a+b", 3, [=](int calls) {
                    for (int i = 0; i < calls; ++i) {
                      plainSum(reinterpret_cast<float*>(c), reinterpret_cast<float*>(a), reinterpret_cast<float*>(b),
                               bytes / 4);
                    }
                  }});
  for (const Isa isa : {Isa::Portable, Isa::Avx2, Isa::Avx512}) {
    if (!isaSupported(isa)) continue;
    constexpr DataType f32 = DataType::Float32;
    rows.push_back(kernelRow("copy 1->1", isa, f32, ReduceOp::Sum, bytes, {c}, {a}));
    rows.push_back(kernelRow("copy 1->1 streamed", isa, f32, ReduceOp::Sum, bytes, {c}, {a}, 1));
    rows.push_back(kernelRow("copy 1->2", isa, f32, ReduceOp::Sum, bytes, {c, d}, {a}));
    rows.push_back(kernelRow("copy 1->2 streamed", isa, f32, ReduceOp::Sum, bytes, {c, d}, {a}, 1));
    rows.push_back(kernelRow("f32 sum 2->1", isa, f32, ReduceOp::Sum, bytes, {c}, {a, b}));
    rows.push_back(kernelRow("f32 sum 2->1 streamed", isa, f32, ReduceOp::Sum, bytes, {c}, {a, b}, 1));
    rows.push_back(kernelRow("f32 sum 2->1 in place", isa, f32, ReduceOp::Sum, bytes, {a}, {a, b}));
    rows.push_back(kernelRow("f32 sum 2->1 skewed", isa, f32, ReduceOp::Sum, bytes, {arena.at(2, 4)},
                             {arena.at(0, 12), arena.at(1, 28)}));
    rows.push_back(kernelRow("f32 sum 2->1 4K alias", isa, f32, ReduceOp::Sum, bytes, {arena.at(2, 192)}, {a, b}));
    rows.push_back(kernelRow("f32 sum 2->2", isa, f32, ReduceOp::Sum, bytes, {c, d}, {a, b}));
    rows.push_back(kernelRow("f32 sum 2->2 streamed", isa, f32, ReduceOp::Sum, bytes, {c, d}, {a, b}, 1));
    rows.push_back(kernelRow("f32 sum 4->1", isa, f32, ReduceOp::Sum, bytes, {c}, {a, b, d, arena.at(4)}));
    rows.push_back(kernelRow("f32 sum 4->2", isa, f32, ReduceOp::Sum, bytes, {c, arena.at(5)}, {a, b, d, arena.at(4)}));
    if (!everyType) continue;
    for (int t = 0; t < kDataTypeCount; ++t) {
      for (const ReduceOp op : {ReduceOp::Sum, ReduceOp::Max, ReduceOp::Avg}) {
        const auto type = static_cast<DataType>(t);
        rows.push_back(
            kernelRow(std::string(nameOf(type)) + " " + nameOf(op), isa, type, op, bytes, {c}, {a, b}, 0, 3));
      }
    }
  }
  return rows;
}

void measure(size_t bytes, bool everyType) {
  Arena arena(bytes);
  const std::vector<Row> rows = rowsFor(bytes, arena, everyType);
  std::vector<double> best(rows.size(), 1e9);
  for (int round = 0; round < kRounds; ++round) {
    for (size_t r = 0; r < rows.size(); ++r) {
      best[r] = std::min(best[r], secondsPerCall(rows[r].repeat));
    }
  }
  std::printf("\n%zu bytes\n%-36s %12s %9s\n", bytes, "", "us", "GB/s");
  for (size_t r = 0; r < rows.size(); ++r) {
    std::printf("%-36s %12.4f %9.2f\n", rows[r].name.c_str(), best[r] * 1e6,
                static_cast<double>(bytes) * rows[r].streams / best[r] * 1e-9);
  }
}

}  // namespace
}  // namespace jccl

int main(int argc, char** argv) {
  if (argc > 1) {
    for (int i = 1; i < argc; ++i) jccl::measure(std::strtoull(argv[i], nullptr, 0), true);
    return 0;
  }
  for (const size_t bytes : {8, 64, 1024, 16384, 131072, 1 << 20, 64 << 20}) jccl::measure(bytes, bytes == 16384);
}
