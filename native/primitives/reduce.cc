#include "primitives/reduce.h"

#include <iterator>

#include "primitives/reduce_tables.h"

namespace jccl {

const char* nameOf(Isa isa) noexcept {
  switch (isa) {
    case Isa::Portable:
      return "portable";
    case Isa::Avx2:
      return "avx2";
    case Isa::Avx512:
      return "avx512";
  }
  return "unknown";
}

#if defined(__x86_64__)

// The builtin reads CPUID and XCR0: registers that the kernel does not save count as unsupported.
bool isaSupported(Isa isa) noexcept {
  switch (isa) {
    case Isa::Portable:
      return true;
    case Isa::Avx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c") && __builtin_cpu_supports("fma");
    case Isa::Avx512:
      return isaSupported(Isa::Avx2) && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  }
  return false;
}

#else

bool isaSupported(Isa isa) noexcept { return isa == Isa::Portable; }

#endif

Isa bestIsa() noexcept {
  static const Isa best = isaSupported(Isa::Avx512) ? Isa::Avx512 : isaSupported(Isa::Avx2) ? Isa::Avx2 : Isa::Portable;
  return best;
}

ReduceCopyFn reduceCopyKernel(DataType type, ReduceOp op) noexcept { return reduceCopyKernel(type, op, bestIsa()); }

ReduceCopyFn reduceCopyKernel(DataType type, ReduceOp op, Isa isa) noexcept {
#if defined(__x86_64__)
  constexpr const ReduceTable* tables[] = {&kReducePortable, &kReduceAvx2, &kReduceAvx512};
#else
  constexpr const ReduceTable* tables[] = {&kReducePortable};
#endif
  const auto typeIndex = static_cast<unsigned>(type);
  const auto opIndex = static_cast<unsigned>(op);
  const auto isaIndex = static_cast<unsigned>(isa);
  if (typeIndex >= kDataTypeCount || opIndex >= kReduceOpCount || isaIndex >= std::size(tables)) {
    return nullptr;
  }
  return tables[isaIndex]->kernels[opIndex][typeIndex];
}

}  // namespace jccl
