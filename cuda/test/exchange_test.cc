// Tests of the exchange kernel (sends and receives between pairs of ranks) and of the in-place kernel (operations that
// use each other's buffers).
#include <random>

#include "cuda/test/compared_cases.h"
#include "cuda/test/exchange_group.h"
#include "cuda/test/in_place_descriptors.h"

namespace jccl::test::exchange_test {
namespace {

// Every pair of ranks exchanges `messages` messages of different sizes, in both directions at once. Receivers read every
// message whose number is divisible by `readEvery` out of the sender's buffer; 0: none. If `mismatched`, rank 0 uses
// wrong fingerprints, which a rank must report.
void exchangeAll(int size, int channels, int messages, const emulator::Options& options, bool mismatched = false,
                 int readEvery = 0) {
  DeviceRanks ranks(size, channels);
  std::vector<ExchangeGroup> groups(size);
  std::vector<std::vector<Guarded>> sends(size), recvs(size);
  const auto bytesOf = [&](int m) { return static_cast<size_t>(m) * 1777 % 9001; };
  const auto valueOf = [](int from, int to, int m) { return static_cast<uint8_t>(from * 53 + to * 17 + m); };
  for (int rank = 0; rank < size; ++rank) {
    sends[rank].reserve(size * messages);
    recvs[rank].reserve(size * messages);
    for (int peer = 0; peer < size; ++peer) {
      std::vector<ExchangeTask> out, in;
      for (int m = 0; m < messages; ++m) {
        const size_t bytes = bytesOf(m);
        const uint32_t print = messageFingerprint(DataType::Int8, bytes) + (mismatched && rank == 0 ? 1 : 0);
        Guarded& send = sends[rank].emplace_back(bytes, m % 3, valueOf(rank, peer, m));
        Guarded& recv = recvs[rank].emplace_back(bytes, m % 5, uint8_t{0xEE});
        if (peer == rank) {
          groups[rank].copies.push_back({ExchangeTask::Kind::Copy, rank, send.data(), recv.data(), bytes, 0});
        } else {
          uint8_t* const read = readEvery != 0 && m % readEvery == 0 ? send.data() : nullptr;
          out.push_back({ExchangeTask::Kind::Send, peer, send.data(), read, bytes, print});
          in.push_back({ExchangeTask::Kind::Recv, peer, recv.data(), nullptr, bytes, print});
        }
      }
      groups[rank].add(out);
      groups[rank].add(in);
    }
  }
  std::vector<ExchangeLaunch> launches;
  for (int rank = 0; rank < size; ++rank) {
    launches.push_back(groups[rank].launchOf(ranks, rank, channels, !mismatched));
  }
  runKernels(options, size, channels, [&](int rank) { exchangeKernel(launches[rank]); });
  if (::testing::Test::HasFatalFailure()) return;
  for (int rank = 0; rank < size; ++rank) {
    if (mismatched) {
      ASSERT_NE(ranks.result(rank), Code::Ok);
      continue;
    }
    ASSERT_EQ(ranks.result(rank), Code::Ok);
    for (int peer = 0; peer < size; ++peer) {
      for (int m = 0; m < messages; ++m) {
        Guarded& recv = recvs[rank][peer * messages + m];
        ASSERT_TRUE(recv.intact());
        for (size_t i = 0; i < bytesOf(m); ++i) {
          ASSERT_EQ(recv.get<uint8_t>(i), valueOf(peer, rank, m))
              << rank << " from " << peer << " m=" << m << " i=" << i;
        }
      }
    }
    for (int c = 0; c < channels; ++c) ASSERT_EQ(ranks.channel(rank, c).operations, 1u);
  }
  if (mismatched) {
    bool found = false;
    for (int rank = 0; rank < size; ++rank) found = found || ranks.result(rank) == Code::Mismatch;
    EXPECT_TRUE(found) << static_cast<int>(ranks.result(0)) << " " << static_cast<int>(ranks.result(1));
  }
}

TEST(DeviceExchange, EveryPairExchangesInBothDirectionsAtOnce) {
  for (const int size : {1, 2, 3, 5}) {
    for (const int channels : {1, 3}) {
      for (const int readEvery : {0, 1, 2, 3}) exchangeAll(size, channels, 9, {}, false, readEvery);
    }
    if (HasFatalFailure()) return;
  }
}

TEST(DeviceExchange, IsRightUnderWeakMemory) {
  for (uint64_t seed = 1; seed <= 180; ++seed) {
    emulator::Options options = bySeed(seed);
    options.memory = emulator::Memory::Weak;
    exchangeAll(2 + static_cast<int>(seed % 2), 1, 3, options, false, static_cast<int>(seed / 2 % 3));
    if (HasFatalFailure()) return;
  }
}

// Rank 0 receives from rank 2 while rank 1 has not begun. While rank 0 receives, the absent rank 1 must not delay the
// chunks of rank 2.
TEST(DeviceExchange, ALatePeerDelaysNoOtherPeer) {
  constexpr size_t kBytes = 100 * 4096;  // a hundred slots
  DeviceRanks ranks(3);
  std::vector<ExchangeGroup> groups(3);
  std::vector<Guarded> sends, recvs;
  sends.reserve(3);
  recvs.reserve(3);
  const uint32_t print = messageFingerprint(DataType::Int8, kBytes);
  for (int rank = 0; rank < 3; ++rank) {
    Guarded& send = sends.emplace_back(kBytes, 0, static_cast<uint8_t>(rank));
    Guarded& recv = recvs.emplace_back(kBytes, 0, uint8_t{0xEE});
    if (rank == 0) continue;
    groups[0].add({{ExchangeTask::Kind::Recv, rank, recv.data(), nullptr, kBytes, print}});
    groups[rank].add({{ExchangeTask::Kind::Send, 0, send.data(), nullptr, kBytes, print}});
  }
  std::vector<ExchangeLaunch> launches;
  for (int rank = 0; rank < 3; ++rank) launches.push_back(groups[rank].launchOf(ranks, rank, 1, false));
  emulator::MemoryPlaces places;
  ranks.addTo(places);
  emulator::Options options;
  options.places = &places;
  emulator::Machine machine(options);
  uint64_t done = 0;
  for (int rank = 0; rank < 3; ++rank) {
    machine.launch(1, 64, [&, rank] {
      while (rank == 1 && simt::loadAcquire(&done) == 0) simt::pause();
      exchangeKernel(launches[rank]);
      if (rank == 2) simt::storeRelease(&done, uint64_t{1});
    });
  }
  const emulator::Report report = machine.run();
  ASSERT_TRUE(report.finished()) << report.text;
  for (int rank = 1; rank < 3; ++rank) {
    EXPECT_EQ(ranks.result(0), Code::Ok);
    EXPECT_EQ(recvs[rank].get<uint8_t>(kBytes - 1), rank);
  }
  EXPECT_LE(report.transactions[0].polls, 200u);
}

TEST(DeviceExchange, AnUnexpectedMessageIsAMismatch) {
  for (const int readEvery : {0, 1, 2}) exchangeAll(2, 1, 3, {}, true, readEvery);
}

// A sender writes its buffer in the kernel, and again when its exchange has ended. Receivers must see the first content
// only.
TEST(DeviceExchange, ReadsSeparateTheContentsOfTheSendersBuffer) {
  constexpr size_t kBytes = 400;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const int size = 2 + static_cast<int>(seed % 2);
    DeviceRanks ranks(size);
    std::vector<std::vector<uint64_t>> sends(size, std::vector<uint64_t>(kBytes / 8)), recvs(size);
    std::vector<ExchangeGroup> groups(size);
    const uint32_t print = messageFingerprint(DataType::Int8, kBytes);
    for (int rank = 0; rank < size; ++rank) recvs[rank].resize(size * kBytes / 8);
    for (int rank = 0; rank < size; ++rank) {
      auto* const data = reinterpret_cast<uint8_t*>(sends[rank].data());
      for (int peer = 0; peer < size; ++peer) {
        if (peer == rank) continue;
        groups[rank].add({{ExchangeTask::Kind::Send, peer, data, data, kBytes, print}});
        auto* const to = reinterpret_cast<uint8_t*>(recvs[rank].data()) + peer * kBytes;
        groups[rank].add({{ExchangeTask::Kind::Recv, peer, to, nullptr, kBytes, print}});
      }
    }
    std::vector<ExchangeLaunch> launches;
    for (int rank = 0; rank < size; ++rank) launches.push_back(groups[rank].launchOf(ranks, rank, 1, false));
    emulator::Options options = bySeed(seed);
    options.memory = emulator::Memory::Weak;
    runKernels(options, size, 1, [&](int rank) {
      const auto write = [&](uint64_t value) {
        simt::syncBlock();
        for (size_t i = simt::threadIndex(); i < kBytes / 8; i += simt::blockThreads()) {
          simt::storePeer<8>(&sends[rank][i], value);
        }
        simt::syncBlock();
      };
      write(rank + 1);
      exchangeKernel(launches[rank]);
      write(99);
    });
    for (int rank = 0; rank < size; ++rank) {
      ASSERT_EQ(ranks.result(rank), Code::Ok);
      for (size_t i = 0; i < recvs[rank].size(); ++i) {
        const int peer = static_cast<int>(i / (kBytes / 8));
        ASSERT_EQ(recvs[rank][i], peer == rank ? 0u : peer + 1u) << "seed=" << seed << " rank=" << rank << " i=" << i;
      }
    }
  }
}

// How ranks learn the addresses of each other's buffers. In all cases but Exchanged and Unreachable, ranks use symmetric
// windows.
enum class Addresses : uint8_t {
  Exchanged,
  Unreachable,     // the last rank reports a buffer that its peers cannot reach, so that data is bounced
  Known,           // all ranks use the same places
  OtherPlaces,     // the last rank uses another place
  OneExchanged,    // the last rank uses other memory
  OneUnreachable,  // the last rank uses other memory, which its peers cannot reach
};
constexpr int kAddresses = 6;

// Runs an operation on the ranks' own buffers by the in-place kernel and on the host, and compares the results.
void inPlace(int size, DataType type, ReduceOp op, Collective collective, size_t count, bool overwrites,
             const emulator::Options& options, Addresses addresses = Addresses::Exchanged) {
  const int channels = 2;
  DeviceRanks ranks(size, channels);
  const size_t part = count * sizeOf(type);
  const size_t sendBytes = part * (collective == Collective::ReduceScatter ? size : 1);
  const size_t recvBytes = part * (collective == Collective::AllGather ? size : 1);
  std::vector<Guarded> sends, recvs, hostSends, hostRecvs;
  for (int rank = 0; rank < size; ++rank) {
    std::mt19937 random(static_cast<unsigned>(rank * 31 + count));
    Guarded& send = sends.emplace_back(sendBytes, rank % 2 == 0 ? 0 : 8);
    Guarded& hostSend = hostSends.emplace_back(sendBytes, 0);
    for (size_t i = 0; i < sendBytes; ++i) send.data()[i] = hostSend.data()[i] = static_cast<uint8_t>(random());
    recvs.emplace_back(recvBytes, 0, uint8_t{0xEE});
    hostRecvs.emplace_back(recvBytes, 0, uint8_t{0xEE});
  }
  const auto outputOf = [&](std::vector<Guarded>& s, std::vector<Guarded>& r, int rank) {
    return overwrites ? s[rank].data() : r[rank].data();
  };
  RankThreads threads(size, channels);
  threads.run([&](Engine& communicator) {
    const int rank = communicator.rank();
    ASSERT_EQ(communicator.run(
                  {collective, type, op}, choiceOf(Algorithm::Direct, Protocol::Simple, 1, 0, Choice::kTryZeroCopy),
                  hostSends[rank].address(), reinterpret_cast<uint64_t>(outputOf(hostSends, hostRecvs, rank)),
                  static_cast<int64_t>(count), 0, kTimeoutNanos),
              Code::Ok);
  });
  std::vector<const uint8_t*> inputs;
  std::vector<uint8_t*> outputs;
  for (int rank = 0; rank < size; ++rank) {
    inputs.push_back(sends[rank].data());
    outputs.push_back(outputOf(sends, recvs, rank));
  }
  InPlaceDescriptors descriptors(channels, inputs, outputs);
  std::vector<device::InPlaceLaunch> launches;
  for (int rank = 0; rank < size; ++rank) {
    launches.push_back(descriptors.launchOf(ranks, rank, {collective, type, op}, count));
    const bool last = rank == size - 1;
    const bool unreachable = addresses == Addresses::Unreachable || addresses == Addresses::OneUnreachable;
    launches.back().unreachable = unreachable && last ? 1 : 0;
    if (addresses < Addresses::Known) continue;
    launches.back().windows = !last || addresses == Addresses::Known ? 7
                              : addresses == Addresses::OtherPlaces  ? 8
                                                                     : device::Work::kOtherMemory;
  }
  runKernels(options, size, channels, [&](int rank) { inPlaceKernel(launches[rank]); });
  if (::testing::Test::HasFatalFailure()) return;
  if (addresses == Addresses::Known) {
    ASSERT_FALSE(descriptors.anyPosted());
  }
  for (int rank = 0; rank < size; ++rank) {
    ASSERT_EQ(ranks.result(rank), Code::Ok);
    ASSERT_TRUE(sends[rank].intact() && recvs[rank].intact());
    ASSERT_EQ(std::memcmp(sends[rank].data(), hostSends[rank].data(), sendBytes), 0) << "rank=" << rank;
    ASSERT_EQ(std::memcmp(recvs[rank].data(), hostRecvs[rank].data(), recvBytes), 0)
        << "rank=" << rank << " count=" << count << " " << nameOf(type) << " " << nameOf(op) << " "
        << nameOf(collective);
  }
}

TEST(DeviceInPlace, EqualsTheHostsBitForBit) {
  for (const int size : {1, 2, 3, 5}) {
    for (int type = 0; type < kDataTypeCount; ++type) {
      for (int op = 0; op < kReduceOpCount; ++op) {
        if (!supports(static_cast<ReduceOp>(op), static_cast<DataType>(type))) continue;
        for (const Collective collective : {Collective::AllReduce, Collective::ReduceScatter, Collective::AllGather}) {
          if (collective == Collective::AllGather && op != 0) continue;
          const size_t count = std::vector<size_t>{1, 77, 1030}[(type + op) % 3];
          const bool overwrites = collective == Collective::AllReduce && (type + op) % 2 == 1;
          inPlace(size, static_cast<DataType>(type), static_cast<ReduceOp>(op), collective, count, overwrites, {},
                  static_cast<Addresses>((type + op) / 2 % kAddresses));
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(DeviceInPlace, LargeAllReducesAreTwoShot) {
  inPlace(2, DataType::Float32, ReduceOp::Sum, Collective::AllReduce, 70'001, false, {});
}

// Peers cannot reach a buffer, so data is bounced: several times as much as fits into the bounce buffers at once.
TEST(DeviceInPlace, LargeDataIsBouncedInSeveralRounds) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    for (const Collective collective : {Collective::AllReduce, Collective::ReduceScatter, Collective::AllGather}) {
      const size_t count = collective == Collective::AllReduce ? 600'001 : 200'001;
      inPlace(3, DataType::Uint8, ReduceOp::Sum, collective, count,
              seed % 2 == 0 && collective == Collective::AllReduce, bySeed(seed),
              seed % 4 < 2 ? Addresses::Unreachable : Addresses::OneUnreachable);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(DeviceInPlace, IsRightUnderWeakMemory) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    emulator::Options options = bySeed(seed);
    options.memory = emulator::Memory::Weak;
    inPlace(2 + static_cast<int>(seed % 2), DataType::Int32, ReduceOp::Sum, Collective::AllReduce, 77, seed % 3 == 0,
            options, static_cast<Addresses>(seed / 3 % kAddresses));
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace jccl::test::exchange_test
