// The body of the kernel by which all ranks meet before and after copy engines move data between their windows. Nothing
// runs on multiprocessors in between.
//
// Each rank copies the data that it receives, out of the windows of its peers. So a copy writes only to memory of its
// own rank, whatever the peers do. Before the copies each rank tells its peers the place of its input. If the places of
// all ranks are equal, each rank knows where its peers' inputs are. Otherwise the copies bring useless data into the
// output, and the kernel that follows executes the operation as if there had been no copies.
#pragma once

#include "cuda/kernels/block.h"
#include "cuda/kernels/launch.h"

namespace jccl::device {

class MeetKernel {
 public:
  struct Shared {
    WaitControl wait;
  };

  JCCL_DEVICE static void run(const MeetLaunch& launch, Shared& shared) {
    DeviceChannel& channel = launch.channels[0];
    if (beginBlock(shared.wait, channel, launch.control, true)) {
      const MeetKernel kernel(launch, shared.wait);
      if (launch.afterCopies == 0) {
        kernel.meetBefore();
      } else {
        kernel.meetAfter();
      }
    }
    endBlock(shared.wait, launch.channels, launch.control);
  }

 private:
  enum Barrier : int { kFailed = 1, kDiffers = 2 };

  JCCL_DEVICE MeetKernel(const MeetLaunch& launch, const WaitControl& wait)
      : launch_(launch),
        waiter_(wait),
        thread_(static_cast<int>(simt::threadIndex())),
        threads_(static_cast<int>(simt::blockThreads())) {}

  template <class Body>
  JCCL_DEVICE void forPeers(Body&& body) const {
    JCCL_NO_UNROLL
    for (int peer = thread_; peer < launch_.size; peer += threads_) {
      if (peer != launch_.rank) body(peer);
    }
  }

  JCCL_DEVICE static WaitPlace placeOf(int peer, uint64_t sequence) {
    return {peer, TransportKind::P2p, WaitFor::BufferExchange, Protocol::Simple, sequence};
  }

  // Meets all ranks, and counts an operation of the channel. A kernel that executes the operation after all then uses
  // the next number, so it reads no greeting of this one.
  JCCL_DEVICE void meetBefore() const {
    const uint64_t sequence = operationsOf(*launch_.channels) + 1, flag = sequence << 32;
    const uint32_t print = narrow(launch_.fingerprint + sequence * 0x9e3779b97f4a7c15u);
    const simt::Vec16 cells{flag | launch_.place, flag | print};
    forPeers([&](int peer) {
      simt::fence();  // the peer may read our window from now on
      simt::storeCells(launch_.peers[peer][launch_.rank].meeting, cells);
    });
    bool failed = false, differs = launch_.place <= Work::kOtherMemory;
    forPeers([&](int peer) {
      simt::Vec16 found{};
      const auto greeted = [&] {
        found = simt::loadCells(launch_.descriptors[peer].meeting);
        return found.low >> 32 == sequence % kFlags && found.high >> 32 == sequence % kFlags;
      };
      if (failed || !waiter_.wait(greeted, placeOf(peer, sequence))) {
        failed = true;
      } else if (static_cast<uint32_t>(found.high) != print) {
        waiter_.fail(Code::Mismatch, placeOf(peer, sequence));
        failed = true;
      } else {
        differs = differs || static_cast<uint32_t>(found.low) != launch_.place;
        simt::fence();  // what the peer wrote before its greeting is visible from now on
      }
    });
    if (simt::syncOr(kFailed, threads_, failed)) return;
    const bool other = simt::syncOr(kDiffers, threads_, differs);
    JCCL_NO_UNROLL
    for (int channel = thread_; channel < launch_.control.controls.channels; channel += threads_) {
      launch_.channels[channel].copied = other ? 0 : launch_.control.sequence;
    }
    if (thread_ == 0) countOperations(*launch_.channels, 1);
  }

  // Waits until all ranks have copied: the application may then change its input. Does nothing if the ranks use
  // different places.
  JCCL_DEVICE void meetAfter() const {
    if (launch_.channels->copied != launch_.control.sequence) return;
    const uint64_t sequence = operationsOf(*launch_.channels);
    const uint64_t reached = sequence << ExchangeDescriptor::kStepBits | ExchangeDescriptor::kLastStep;
    forPeers([&](int peer) {
      simt::fence();
      simt::storeRelaxed(&launch_.peers[peer][launch_.rank].finished, reached);
    });
    bool failed = false;
    forPeers([&](int peer) {
      const auto finished = [&] { return simt::loadAcquire(&launch_.descriptors[peer].finished) >= reached; };
      failed = failed || !waiter_.wait(finished, placeOf(peer, sequence));
    });
  }

  static constexpr uint64_t kFlags = uint64_t{1} << 32;  // number of flags of greetings

  const MeetLaunch& launch_;
  const Waiter waiter_;
  const int thread_;
  const int threads_;
};

}  // namespace jccl::device
