// The kernels of the benchmark for emulated GPUs, with the table of stamps in host memory.
#include "cuda/test/emulated_kernels.h"

#include <atomic>

#include "cuda/bench/bench.h"
#include "cuda/bench/bench_kernels.h"
#include "cuda/bench/stamps.h"
#include "cuda/kernels/in_place_kernel.h"
#include "cuda/test/emulated_collective.h"

namespace jccl::bench {
namespace {

std::atomic<bool> stamped{false};

bool hasStamps(const OperationCode& code) {
  return stamped && device::elementClassOf(code.collective, code.type) == device::ElementClass::Float32;
}

template <class Given>
std::function<void()> writing(const void* descriptor) {
  const Given given = *static_cast<const Given*>(descriptor);
  return [given] {
    if (given.word != nullptr && simt::threadIndex() == 0) {
      __atomic_store_n(given.word, given.value, __ATOMIC_RELEASE);
    }
  };
}

const test::EmulatedFamily kBench("bench", [](const device::KernelEntry& entry, const void* descriptor) {
  return entry.element == device::ElementClass::Int8    ? writing<Small>(descriptor)
         : entry.element == device::ElementClass::Int16 ? writing<Middle>(descriptor)
                                                        : writing<Large>(descriptor);
});

}  // namespace

Stamps& stamps() {
  static Stamps table;
  return table;
}

void useStampedKernels() { stamped = true; }

Status stampTable(Stamps& table) {
  table = stamps();
  return Status::ok();
}

}  // namespace jccl::bench

namespace jccl::test {

void collectiveKernel(const device::Launch& launch) {
  switch (launch.choice.protocol) {
    case Protocol::LL:
      if (bench::hasStamps(launch.code)) {
        return collectiveKernelOf<Protocol::LL, device::Float32, bench::Stamped>(launch);
      }
      return collectiveKernelWith<Protocol::LL>(launch);
    case Protocol::LL128:
      return collectiveKernelWith<Protocol::LL128>(launch);
    case Protocol::Simple:
      return collectiveKernelWith<Protocol::Simple>(launch);
  }
}

void inPlaceKernel(const device::InPlaceLaunch& launch) {
  const auto run = [&]<class Kernel>(Kernel*) {
    JCCL_SHARED(typename Kernel::Shared, shared);
    Kernel::run(launch, shared);
  };
  if (bench::hasStamps(launch.code)) {
    return run(static_cast<device::InPlaceKernel<device::Float32, bench::Stamped>*>(nullptr));
  }
  withElement(device::elementClassOf(launch.code.collective, launch.code.type),
              [&]<class E>(E*) { run(static_cast<device::InPlaceKernel<E>*>(nullptr)); });
}

}  // namespace jccl::test
