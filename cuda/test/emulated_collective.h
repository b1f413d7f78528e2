// The collective kernels of a protocol as functions for the emulator, one for each class of elements.
#pragma once

#include "cuda/kernels/collective_kernel.h"
#include "cuda/kernels/element_of.h"

namespace jccl::test {

template <Protocol P, class E, class Faults = device::NoFaults>
void collectiveKernelOf(const device::Launch& launch) {
  using Kernel = device::CollectiveKernel<P, E, Faults>;
  JCCL_SHARED(typename Kernel::Shared, shared);
  Kernel::run(launch, shared);
}

// Calls `body` with a null pointer to the element type of a class.
template <class Body>
void withElement(device::ElementClass element, Body&& body) {
  using device::ElementClass;
  switch (element) {
    case ElementClass::Int8:
      return body(static_cast<device::Integer<uint8_t>*>(nullptr));
    case ElementClass::Int16:
      return body(static_cast<device::Integer<uint16_t>*>(nullptr));
    case ElementClass::Int32:
      return body(static_cast<device::Integer<uint32_t>*>(nullptr));
    case ElementClass::Int64:
      return body(static_cast<device::Integer<uint64_t>*>(nullptr));
    case ElementClass::Float16:
      return body(static_cast<device::Float16*>(nullptr));
    case ElementClass::Bfloat16:
      return body(static_cast<device::Bfloat16*>(nullptr));
    case ElementClass::Float32:
      return body(static_cast<device::Float32*>(nullptr));
    case ElementClass::Float64:
      return body(static_cast<device::Float64*>(nullptr));
    case ElementClass::E4m3:
      return body(static_cast<device::E4m3*>(nullptr));
    case ElementClass::E5m2:
      return body(static_cast<device::E5m2*>(nullptr));
  }
}

template <Protocol P>
void collectiveKernelWith(const device::Launch& launch) {
  withElement(device::elementClassOf(launch.code.collective, launch.code.type),
              [&]<class E>(E*) { collectiveKernelOf<P, E>(launch); });
}

extern template void collectiveKernelWith<Protocol::LL>(const device::Launch& launch);
extern template void collectiveKernelWith<Protocol::LL128>(const device::Launch& launch);
extern template void collectiveKernelWith<Protocol::Simple>(const device::Launch& launch);

}  // namespace jccl::test
