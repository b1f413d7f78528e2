// Implements memory.h on a GPU of compute capability 7.0 or newer. Functions that order other accesses are compiler
// barriers, too.
#pragma once

#include <cstdint>

#include "cuda/device/simt_cuda.h"

namespace jccl::simt {

// Converts the address for instructions that access global memory.
JCCL_DEVICE uint64_t globalAddress(const void* p) { return static_cast<uint64_t>(__cvta_generic_to_global(p)); }

JCCL_DEVICE uint64_t loadRelaxed(const uint64_t* p) {
  uint64_t value;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(globalAddress(p)) : "memory");
  return value;
}
JCCL_DEVICE uint32_t loadRelaxed(const uint32_t* p) {
  uint32_t value;
  asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(globalAddress(p)) : "memory");
  return value;
}

JCCL_DEVICE uint64_t loadAcquire(const uint64_t* p) {
  uint64_t value;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(globalAddress(p)) : "memory");
  return value;
}
JCCL_DEVICE uint32_t loadAcquire(const uint32_t* p) {
  uint32_t value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(globalAddress(p)) : "memory");
  return value;
}

JCCL_DEVICE void storeRelaxed(uint64_t* p, uint64_t value) {
  asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(globalAddress(p)), "l"(value) : "memory");
}
JCCL_DEVICE void storeRelaxed(uint32_t* p, uint32_t value) {
  asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(globalAddress(p)), "r"(value) : "memory");
}

JCCL_DEVICE void storeRelease(uint64_t* p, uint64_t value) {
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(globalAddress(p)), "l"(value) : "memory");
}
JCCL_DEVICE void storeRelease(uint32_t* p, uint32_t value) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(globalAddress(p)), "r"(value) : "memory");
}

JCCL_DEVICE void storeFirst(uint32_t* p, uint32_t value) {
  asm volatile("atom.release.sys.global.cas.b32 _, [%0], 0, %1;" ::"l"(globalAddress(p)), "r"(value) : "memory");
}

JCCL_DEVICE uint32_t addOrdered(uint32_t* p, uint32_t value) {
  uint32_t before;
  asm volatile("atom.acq_rel.sys.global.add.u32 %0, [%1], %2;"
               : "=r"(before)
               : "l"(globalAddress(p)), "r"(value)
               : "memory");
  return before;
}

JCCL_DEVICE void fence() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }

// Volatile accesses, even of vectors, are relaxed accesses of system scope. The compiler keeps them in program order.
// They are no compiler barriers and order no other accesses, so the loads of several cells or lines are in flight
// together.
JCCL_DEVICE Vec16 loadCells(const void* p) {
  Vec16 value;
  asm volatile("ld.volatile.global.v2.u64 {%0, %1}, [%2];" : "=l"(value.low), "=l"(value.high) : "l"(globalAddress(p)));
  return value;
}

JCCL_DEVICE void storeCells(void* p, Vec16 value) {
  asm volatile("st.volatile.global.v2.u64 [%0], {%1, %2};" ::"l"(globalAddress(p)), "l"(value.low), "l"(value.high));
}

JCCL_DEVICE void storeCell(uint64_t* p, uint64_t value) {
  asm volatile("st.volatile.global.u64 [%0], %1;" ::"l"(globalAddress(p)), "l"(value));
}

JCCL_DEVICE Vec16 loadLine(const void* p, unsigned) { return loadCells(p); }
JCCL_DEVICE void storeLine(void* p, Vec16 value, unsigned) { storeCells(p, value); }

template <unsigned Bytes>
JCCL_DEVICE Word<Bytes> loadPeer(const void* p) {
  const uint64_t at = globalAddress(p);
  if constexpr (Bytes == 16) {
    return loadCells(p);
  } else if constexpr (Bytes == 8) {
    uint64_t value;
    asm volatile("ld.volatile.global.u64 %0, [%1];" : "=l"(value) : "l"(at));
    return value;
  } else {
    uint32_t value;  // asm operands have at least 16 bits
    if constexpr (Bytes == 4) {
      asm volatile("ld.volatile.global.u32 %0, [%1];" : "=r"(value) : "l"(at));
    } else if constexpr (Bytes == 2) {
      asm volatile("ld.volatile.global.u16 %0, [%1];" : "=r"(value) : "l"(at));
    } else {
      asm volatile("ld.volatile.global.u8 %0, [%1];" : "=r"(value) : "l"(at));
    }
    return static_cast<Word<Bytes>>(value);
  }
}

// Ordinary store instructions suffice: the release that publishes the data orders them, and L1 writes through.
template <unsigned Bytes>
JCCL_DEVICE void storePeer(void* p, Word<Bytes> value) {
  const uint64_t at = globalAddress(p);
  if constexpr (Bytes == 16) {
    asm volatile("st.global.v2.u64 [%0], {%1, %2};" ::"l"(at), "l"(value.low), "l"(value.high));
  } else if constexpr (Bytes == 8) {
    asm volatile("st.global.u64 [%0], %1;" ::"l"(at), "l"(value));
  } else if constexpr (Bytes == 4) {
    asm volatile("st.global.u32 [%0], %1;" ::"l"(at), "r"(value));
  } else if constexpr (Bytes == 2) {
    asm volatile("st.global.u16 [%0], %1;" ::"l"(at), "h"(value));
  } else {
    asm volatile("st.global.u8 [%0], %1;" ::"l"(at), "r"(static_cast<uint32_t>(value)));
  }
}

template <unsigned Bytes>
JCCL_DEVICE Word<Bytes> loadUser(const void* p) {
  const uint64_t at = globalAddress(p);
  if constexpr (Bytes == 16) {
    Vec16 value;
    asm volatile("ld.global.v2.u64 {%0, %1}, [%2];" : "=l"(value.low), "=l"(value.high) : "l"(at));
    return value;
  } else if constexpr (Bytes == 8) {
    uint64_t value;
    asm volatile("ld.global.u64 %0, [%1];" : "=l"(value) : "l"(at));
    return value;
  } else {
    uint32_t value;
    if constexpr (Bytes == 4) {
      asm volatile("ld.global.u32 %0, [%1];" : "=r"(value) : "l"(at));
    } else if constexpr (Bytes == 2) {
      asm volatile("ld.global.u16 %0, [%1];" : "=r"(value) : "l"(at));
    } else {
      asm volatile("ld.global.u8 %0, [%1];" : "=r"(value) : "l"(at));
    }
    return static_cast<Word<Bytes>>(value);
  }
}

template <unsigned Bytes>
JCCL_DEVICE void storeUser(void* p, Word<Bytes> value) {
  storePeer<Bytes>(p, value);
}

}  // namespace jccl::simt
