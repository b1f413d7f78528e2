// Tests of the meetings around copies at the level of kernels, under weak memory and many schedules.
#include <gtest/gtest.h>

#include "cuda/kernels/meet_kernel.h"
#include "cuda/test/compared_cases.h"
#include "cuda/test/emulated_kernels.h"

namespace jccl::test::meetings_test {
namespace {

constexpr uint32_t kPlace = 77;

// Ranks with the launches of their meetings.
struct Meetings {
  explicit Meetings(int size) : ranks(size), descriptors(size) {
    for (auto& own : descriptors) own.resize(size);
    for (int rank = 0; rank < size; ++rank) {
      const Launch plain = ranks.launchOf(rank);
      device::MeetLaunch launch{};
      launch.rank = rank;
      launch.size = size;
      launch.channels = plain.channels;
      launch.control = plain.control;
      launch.control.last = 0;
      launch.descriptors = descriptors[rank].data();
      for (int peer = 0; peer < size; ++peer) launch.peers[peer] = descriptors[peer].data();
      launch.fingerprint = 42;
      launch.place = kPlace;
      launches.push_back(launch);
    }
  }
  // Runs one meeting of a rank on the calling thread of a kernel.
  void meet(int rank, bool afterCopies) const {
    device::MeetLaunch launch = launches[rank];
    launch.afterCopies = afterCopies ? 1 : 0;
    meetKernel(launch);
  }
  bool copied(int rank) { return ranks.channel(rank, 0).copied != 0; }

  DeviceRanks ranks;
  std::vector<std::vector<device::ExchangeDescriptor>> descriptors;
  std::vector<device::MeetLaunch> launches;
};

emulator::Options weak(uint64_t seed) {
  emulator::Options options;
  options.memory = emulator::Memory::Weak;
  options.schedule = emulator::Schedule::BySeed;
  options.seed = seed;
  return options;
}

// A rank writes its input before the first meeting, and again after the second. Its peers read the input between the
// two, so they must see the first content only.
TEST(DeviceMeetings, SeparateReadsOfAnInputFromItsWriters) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    for (const int size : {2, 3, 5}) {
      Meetings meetings(size);
      std::vector<uint64_t> inputs(size, 0);
      std::vector<std::vector<uint64_t>> seen(size, std::vector<uint64_t>(size));
      runKernels(weak(seed), size, 1, [&](int rank) {
        for (uint64_t round = 1; round <= 3; ++round) {
          if (simt::threadIndex() == 0) simt::storePeer<8>(&inputs[rank], round);
          simt::syncBlock();
          meetings.meet(rank, false);
          simt::syncBlock();
          if (simt::threadIndex() == 0) {
            for (int peer = 0; peer < size; ++peer) {
              seen[rank][peer] += simt::loadPeer<8>(&inputs[peer]) == round ? 1 : 0;
            }
          }
          simt::syncBlock();
          meetings.meet(rank, true);
          simt::syncBlock();
        }
      });
      for (int rank = 0; rank < size; ++rank) {
        EXPECT_EQ(meetings.ranks.result(rank), Code::Ok);
        EXPECT_TRUE(meetings.copied(rank));
        for (int peer = 0; peer < size; ++peer) EXPECT_EQ(seen[rank][peer], 3u) << "seed=" << seed;
      }
      if (HasFailure()) return;
    }
  }
}

// All ranks find out that one of them uses another place. The second meeting then waits for nobody.
TEST(DeviceMeetings, FindThatOneRankUsesAnotherPlace) {
  for (const uint32_t place : {kPlace + 1, device::Work::kOtherMemory}) {
    Meetings meetings(3);
    meetings.launches[2].place = place;
    runKernels({}, 3, 1, [&](int rank) {
      meetings.meet(rank, false);
      if (rank == 0) meetings.meet(rank, true);
    });
    for (int rank = 0; rank < 3; ++rank) {
      EXPECT_EQ(meetings.ranks.result(rank), Code::Ok);
      EXPECT_FALSE(meetings.copied(rank));
    }
  }
}

// A rank comes to the first meeting, and fails before the second.
TEST(DeviceMeetings, EndIfAPeerIsMissingAtTheSecondOne) {
  for (const bool aborts : {false, true}) {
    Meetings meetings(2);
    for (device::MeetLaunch& launch : meetings.launches) launch.control.timeoutNanos = aborts ? 0 : 3'000'000;
    runKernels({}, 2, 1, [&](int rank) {
      meetings.meet(rank, false);
      if (rank == 0) meetings.meet(rank, true);
      if (rank == 1 && aborts && simt::threadIndex() == 0) {
        while (simt::loadAcquire(&meetings.descriptors[1][0].finished) == 0) simt::pause();
        const ChannelControls controls = meetings.ranks.controls(0);
        simt::storeRelaxed(&controls.words[0].abort, static_cast<uint32_t>(Code::Aborted));
      }
    });
    EXPECT_EQ(meetings.ranks.result(0), aborts ? Code::Aborted : Code::Timeout);
    EXPECT_EQ(device::ProgressRecord::decode(meetings.ranks.record(0, 0).place).peer, 1);
  }
}

// A kernel behind copies leaves the slots and the output as they are if the copies have moved the data.
TEST(DeviceMeetings, AKernelBehindCopiesDoesNothingIfTheyMovedTheData) {
  for (const bool copied : {false, true}) {
    DeviceRanks ranks(2);
    std::vector<std::vector<int32_t>> buffers(2, std::vector<int32_t>(100, 1));
    for (int rank = 0; rank < 2; ++rank) ranks.channel(rank, 0).copied = copied ? 1 : 7;  // the launch has the number 1
    runKernels({}, 2, 1, [&](int rank) {
      Launch launch = ranks.launchOf(rank);
      launch.code = {Collective::AllReduce, DataType::Int32, ReduceOp::Sum};
      launch.choice = choiceOf(Algorithm::Ring, Protocol::Simple, 1);
      launch.send = launch.recv = reinterpret_cast<uint8_t*>(buffers[rank].data());
      launch.count = buffers[rank].size();
      collectiveKernel(launch);
    });
    for (int rank = 0; rank < 2; ++rank) {
      EXPECT_EQ(ranks.result(rank), Code::Ok);
      EXPECT_EQ(ranks.report(rank).ended, 1u);
      EXPECT_EQ(buffers[rank].back(), copied ? 1 : 2);
    }
  }
}

}  // namespace
}  // namespace jccl::test::meetings_test
