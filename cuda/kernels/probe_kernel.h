// The body of the kernel that probes the memory of peers: copies known content from and to them by each type of access
// that the other kernels use on memory of a peer. Nothing waits: the host separates the steps (runtime/peer_probe.h).
#pragma once

#include "cuda/device/memory.h"
#include "cuda/device/simt.h"
#include "cuda/kernels/launch.h"
#include "cuda/primitives/compiler.h"

namespace jccl::device {

class ProbeKernel {
 public:
  JCCL_DEVICE static void run(const ProbeLaunch& launch) {
    JCCL_NO_UNROLL
    for (uint32_t i = simt::blockIndex(); i < launch.copyCount; i += launch.blocks) {
      copy(launch.copies[i].from, launch.copies[i].to);
    }
  }

 private:
  static constexpr uint32_t kPart = ProbeLaunch::kPartBytes;
  static constexpr uint32_t kNarrow = kPart / 8;  // bytes that are copied by each narrow type of access

  JCCL_DEVICE static void copy(const uint8_t* from, uint8_t* to) {
    // SIMPLE, exchanges and operations in place.
    forWords<16>(
        from, to, kPart, [](const uint8_t* at) { return simt::loadPeer<16>(at); },
        [](uint8_t* at, simt::Vec16 value) { simt::storePeer<16>(at, value); });
    // LL: two cells.
    forWords<16>(
        from + kPart, to + kPart, kPart, [](const uint8_t* at) { return simt::loadCells(at); },
        [](uint8_t* at, simt::Vec16 value) { simt::storeCells(at, value); });
    // LL: one cell.
    forWords<8>(
        from + 2 * kPart, to + 2 * kPart, kPart, [](const uint8_t* at) { return simt::loadRelaxed(wide(at)); },
        [](uint8_t* at, uint64_t value) { simt::storeCell(wide(at), value); });
    copyLines(from + 3 * kPart, to + 3 * kPart);
    copyNarrow(from + 4 * kPart, to + 4 * kPart);
  }

  // LL128: the lanes of a warp load and store four lines together.
  JCCL_DEVICE static void copyLines(const uint8_t* from, uint8_t* to) {
    static_assert(kPart % (16 * simt::kWarpThreads) == 0);
    JCCL_NO_UNROLL
    for (uint32_t at = 16 * simt::threadIndex(); at < kPart; at += 16 * simt::blockThreads()) {
      simt::syncWarp(simt::kFullMask);
      const simt::Vec16 value = simt::loadLine(from + at, simt::kFullMask);
      simt::syncWarp(simt::kFullMask);
      simt::storeLine(to + at, value, simt::kFullMask);
    }
  }

  // The ends of unaligned buffers; and heads, flags and buffer-exchange descriptors.
  JCCL_DEVICE static void copyNarrow(const uint8_t* from, uint8_t* to) {
    forWords<1>(
        from, to, kNarrow, [](const uint8_t* at) { return simt::loadPeer<1>(at); },
        [](uint8_t* at, uint8_t value) { simt::storePeer<1>(at, value); });
    forWords<2>(
        from + kNarrow, to + kNarrow, kNarrow, [](const uint8_t* at) { return simt::loadPeer<2>(at); },
        [](uint8_t* at, uint16_t value) { simt::storePeer<2>(at, value); });
    forWords<4>(
        from + 2 * kNarrow, to + 2 * kNarrow, kNarrow, [](const uint8_t* at) { return simt::loadPeer<4>(at); },
        [](uint8_t* at, uint32_t value) { simt::storePeer<4>(at, value); });
    forWords<8>(
        from + 3 * kNarrow, to + 3 * kNarrow, kNarrow, [](const uint8_t* at) { return simt::loadPeer<8>(at); },
        [](uint8_t* at, uint64_t value) { simt::storePeer<8>(at, value); });
    forWords<4>(
        from + 4 * kNarrow, to + 4 * kNarrow, kNarrow, [](const uint8_t* at) { return simt::loadRelaxed(narrow(at)); },
        [](uint8_t* at, uint32_t value) { simt::storeRelaxed(narrow(at), value); });
    forWords<4>(
        from + 5 * kNarrow, to + 5 * kNarrow, kNarrow, [](const uint8_t* at) { return simt::loadAcquire(narrow(at)); },
        [](uint8_t* at, uint32_t value) { simt::storeRelease(narrow(at), value); });
    forWords<8>(
        from + 6 * kNarrow, to + 6 * kNarrow, kNarrow, [](const uint8_t* at) { return simt::loadRelaxed(wide(at)); },
        [](uint8_t* at, uint64_t value) { simt::storeRelaxed(wide(at), value); });
    forWords<8>(
        from + 7 * kNarrow, to + 7 * kNarrow, kNarrow, [](const uint8_t* at) { return simt::loadAcquire(wide(at)); },
        [](uint8_t* at, uint64_t value) { simt::storeRelease(wide(at), value); });
  }

  template <unsigned Bytes, class Load, class Store>
  JCCL_DEVICE static void forWords(const uint8_t* from, uint8_t* to, uint32_t bytes, Load&& load, Store&& store) {
    JCCL_NO_UNROLL
    for (uint32_t at = Bytes * simt::threadIndex(); at < bytes; at += Bytes * simt::blockThreads()) {
      store(to + at, load(from + at));
    }
  }

  JCCL_DEVICE static const uint64_t* wide(const uint8_t* at) { return reinterpret_cast<const uint64_t*>(at); }
  JCCL_DEVICE static uint64_t* wide(uint8_t* at) { return reinterpret_cast<uint64_t*>(at); }
  JCCL_DEVICE static const uint32_t* narrow(const uint8_t* at) { return reinterpret_cast<const uint32_t*>(at); }
  JCCL_DEVICE static uint32_t* narrow(uint8_t* at) { return reinterpret_cast<uint32_t*>(at); }
};

}  // namespace jccl::device
