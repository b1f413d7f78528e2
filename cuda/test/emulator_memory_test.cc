// Tests of the weak memory: effects that it must never show, and effects that it must show with some seed. Without the
// latter, tests that use it would prove nothing.
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "cuda/device/memory.h"
#include "cuda/device/simt.h"
#include "cuda/test/emulator/machine.h"

namespace jccl::emulator::emulator_memory_test {
namespace {

using simt::fence;
using simt::loadAcquire;
using simt::loadPeer;
using simt::loadRelaxed;
using simt::storePeer;
using simt::storeRelaxed;
using simt::storeRelease;

constexpr int kSeeds = 3000;

Options weak(uint64_t seed) { return {.memory = Memory::Weak, .schedule = Schedule::BySeed, .seed = seed}; }

// Runs `kernels`, each a block of one thread, with many seeds. Returns the set of their outcomes.
template <class T>
std::set<T> outcomes(const std::function<void()>& reset, const std::vector<std::function<void()>>& kernels,
                     const std::function<T()>& outcome) {
  std::set<T> all;
  for (int seed = 0; seed < kSeeds; ++seed) {
    reset();
    Machine machine(weak(seed));
    for (const auto& kernel : kernels) machine.launch(1, 1, kernel);
    const Report report = machine.run();
    EXPECT_TRUE(report.finished()) << report.text;
    if (!report.finished()) break;
    all.insert(outcome());
  }
  return all;
}

// Words in different cache lines.
struct alignas(128) Places {
  uint64_t x = 0;
  alignas(128) uint64_t y = 0;
  alignas(128) uint64_t z = 0;
};

using Values = std::pair<uint64_t, uint64_t>;

std::set<uint64_t> messagePassing(void (*publish)(uint64_t*, uint64_t), uint64_t (*observe)(const uint64_t*)) {
  Places m;
  uint64_t found = 0;
  return outcomes<uint64_t>([&] { m = Places{}; },
                            {[&] {
                               storePeer<8>(&m.x, 42);
                               publish(&m.y, 1);
                             },
                             [&] {
                               while (observe(&m.y) == 0) simt::pause();
                               found = loadPeer<8>(&m.x);
                             }},
                            [&] { return found; });
}

TEST(EmulatorMemory, MessagesPassWithReleaseAndAcquire) {
  EXPECT_EQ(messagePassing([](uint64_t* p, uint64_t v) { storeRelease(p, v); },
                           [](const uint64_t* p) { return loadAcquire(p); }),
            std::set<uint64_t>{42});
}

TEST(EmulatorMemory, MessagesPassWithFences) {
  const auto publish = [](uint64_t* p, uint64_t v) {
    fence();
    storeRelaxed(p, v);
  };
  const auto observe = [](const uint64_t* p) {
    const uint64_t value = loadRelaxed(p);
    fence();
    return value;
  };
  EXPECT_EQ(messagePassing(publish, observe), std::set<uint64_t>{42});
}

TEST(EmulatorMemory, MessagesGetLostWithoutRelease) {
  EXPECT_EQ(messagePassing([](uint64_t* p, uint64_t v) { storeRelaxed(p, v); },
                           [](const uint64_t* p) { return loadAcquire(p); }),
            (std::set<uint64_t>{0, 42}));
}

TEST(EmulatorMemory, MessagesGetLostWithoutAcquire) {
  EXPECT_EQ(messagePassing([](uint64_t* p, uint64_t v) { storeRelease(p, v); },
                           [](const uint64_t* p) { return loadRelaxed(p); }),
            (std::set<uint64_t>{0, 42}));
}

// A store can become visible after a later load of its thread. Nothing in memory.h forbids that, not even a fence.
TEST(EmulatorMemory, StoresAreBuffered) {
  for (const bool fenced : {false, true}) {
    Places m;
    Values found;
    const auto kernel = [&](uint64_t* mine, const uint64_t* other, uint64_t* result) {
      storeRelaxed(mine, 1);
      if (fenced) fence();
      *result = loadRelaxed(other);
    };
    const auto all = outcomes<Values>(
        [&] { m = Places{}; }, {[&] { kernel(&m.x, &m.y, &found.first); }, [&] { kernel(&m.y, &m.x, &found.second); }},
        [&] { return found; });
    EXPECT_TRUE(all.contains({0, 0})) << fenced;
    EXPECT_TRUE(all.contains({0, 1})) << fenced;
    EXPECT_TRUE(all.contains({1, 0})) << fenced;
  }
}

TEST(EmulatorMemory, LoadsOfOnePlaceNeverGoBack) {
  Places m;
  bool back = false;
  std::set<uint64_t> seen;
  outcomes<int>([&] { m = Places{}; },
                {[&] {
                   for (uint64_t i = 1; i <= 8; ++i) storeRelaxed(&m.x, i);
                 },
                 [&] {
                   uint64_t before = 0;
                   for (int i = 0; i < 32; ++i) {
                     const uint64_t now = loadRelaxed(&m.x);
                     back |= now < before;
                     before = now;
                     seen.insert(now);
                     simt::pause();
                   }
                 }},
                [] { return 0; });
  EXPECT_FALSE(back);
  EXPECT_EQ(seen.size(), 9u);
}

TEST(EmulatorMemory, AThreadSeesItsOwnStores) {
  Places m;
  bool missed = false;
  outcomes<int>([&] { m = Places{}; }, {[&] {
                  for (uint64_t i = 1; i <= 100; ++i) {
                    storePeer<8>(&m.x, i);
                    storePeer<2>(reinterpret_cast<uint16_t*>(&m.y) + i % 4, static_cast<uint16_t>(i));
                    missed |= loadPeer<8>(&m.x) != i;
                    missed |= loadPeer<2>(reinterpret_cast<uint16_t*>(&m.y) + i % 4) != i;
                  }
                }},
                [] { return 0; });
  EXPECT_FALSE(missed);
  EXPECT_EQ(m.x, 100u);
  EXPECT_EQ(m.y, (100ull | 97ull << 16 | 98ull << 32 | 99ull << 48));
}

// Each half of a 16-byte load is one of the stored values, but the halves can be of different stores.
TEST(EmulatorMemory, EightBytesAreWholeAndSixteenAreNot) {
  struct alignas(16) Pair {
    uint64_t low = 0, high = 0;
  } pair;
  std::set<Values> all;
  outcomes<int>([&] { pair = {}; },
                {[&] {
                   for (uint64_t i = 1; i <= 4; ++i) {
                     storePeer<16>(&pair, {i * 0x0001000100010001ull, i * 0x0001000100010001ull});
                     simt::pause();
                   }
                 },
                 [&] {
                   for (int i = 0; i < 16; ++i) {
                     const simt::Vec16 v = loadPeer<16>(&pair);
                     all.insert({v.low, v.high});
                     simt::pause();
                   }
                 }},
                [] { return 0; });
  bool torn = false;
  for (const auto& [low, high] : all) {
    EXPECT_EQ(low % 0x0001000100010001ull, 0u);
    EXPECT_EQ(high % 0x0001000100010001ull, 0u);
    torn |= low != high;
  }
  EXPECT_TRUE(torn);
}

// Stores of two threads to different bytes of a granule do not overwrite each other.
TEST(EmulatorMemory, NeighbouringBytesAreIndependent) {
  Places m;
  const auto kernel = [&](unsigned from) {
    for (unsigned round = 1; round <= 5; ++round) {
      for (unsigned i = from; i < 8; i += 2) {
        storePeer<1>(reinterpret_cast<uint8_t*>(&m.x) + i, static_cast<uint8_t>(16 * round + i));
      }
    }
  };
  const auto all =
      outcomes<uint64_t>([&] { m = Places{}; }, {[&] { kernel(0); }, [&] { kernel(1); }}, [&] { return m.x; });
  EXPECT_EQ(all, std::set<uint64_t>{0x5756555453525150});
}

// Thread 1 of a block stores, both threads meet at a barrier if `meet`, and thread 0 publishes. In another block,
// thread 0 waits for the publication, both threads meet, and thread 1 loads. Returns the set of loaded values.
std::set<uint64_t> throughBarrier(bool warp, void (*publish)(uint64_t*, uint64_t), bool acquire, bool meet = true) {
  std::set<uint64_t> all;
  for (int seed = 0; seed < kSeeds / 3; ++seed) {
    Places m;
    Machine machine(weak(seed));
    const auto sync = [&] {
      if (!meet) return;
      if (warp) {
        simt::syncWarp();
      } else {
        simt::syncBlock();
      }
    };
    machine.launch(1, 2, [&] {
      if (simt::threadIndex() == 1) storePeer<8>(&m.x, 42);
      sync();
      if (simt::threadIndex() == 0) publish(&m.y, 1);
    });
    machine.launch(1, 2, [&] {
      if (simt::threadIndex() == 0) {
        while ((acquire ? loadAcquire(&m.y) : loadRelaxed(&m.y)) == 0) simt::pause();
      }
      if (warp) {
        simt::syncWarp();
      } else {
        simt::syncBlock();
      }
      if (simt::threadIndex() == 1) storeRelaxed(&m.z, loadPeer<8>(&m.x));
    });
    const Report report = machine.run();
    EXPECT_TRUE(report.finished()) << report.text;
    if (!report.finished()) break;
    all.insert(m.z);
  }
  return all;
}

const auto kRelease = [](uint64_t* p, uint64_t v) { storeRelease(p, v); };
const auto kFenced = [](uint64_t* p, uint64_t v) {
  fence();
  storeRelaxed(p, v);
};
const auto kRelaxed = [](uint64_t* p, uint64_t v) { storeRelaxed(p, v); };

TEST(EmulatorMemory, AReleaseCoversStoresOfOtherThreadsBeforeABarrier) {
  for (const bool warp : {false, true}) {
    EXPECT_EQ(throughBarrier(warp, kRelease, true), std::set<uint64_t>{42}) << warp;
    EXPECT_EQ(throughBarrier(warp, kFenced, true), std::set<uint64_t>{42}) << warp;
  }
}

TEST(EmulatorMemory, BarriersPublishNothingToOtherBlocks) {
  for (const bool warp : {false, true}) {
    EXPECT_EQ(throughBarrier(warp, kRelaxed, true), (std::set<uint64_t>{0, 42})) << warp;
    EXPECT_EQ(throughBarrier(warp, kRelease, false), (std::set<uint64_t>{0, 42})) << warp;
    EXPECT_EQ(throughBarrier(warp, kRelease, true, false), (std::set<uint64_t>{0, 42})) << warp;
  }
}

TEST(EmulatorMemory, AfterABarrierABlockSeesItsOwnStores) {
  for (int seed = 0; seed < kSeeds / 3; ++seed) {
    std::vector<uint64_t> values(64, 0), sums(64, 0);
    Machine machine(weak(seed));
    machine.launch(1, 64, [&] {
      const unsigned i = simt::threadIndex();
      for (uint64_t round = 1; round <= 3; ++round) {
        simt::storeUser<8>(&values[i], round * i);
        simt::syncThreads(3, 64);
        simt::storeUser<8>(&sums[i], simt::loadUser<8>(&sums[i]) + simt::loadUser<8>(&values[63 - i]));
        simt::syncThreads(3, 64);
      }
    });
    const Report report = machine.run();
    ASSERT_TRUE(report.finished()) << report.text;
    for (unsigned i = 0; i < 64; ++i) ASSERT_EQ(sums[i], 6u * (63 - i)) << "seed " << seed;
  }
}

// Lanes meet in votes and shuffles, but these order no memory.
TEST(EmulatorMemory, ShufflesOrderNothing) {
  std::set<uint64_t> all;
  for (int seed = 0; seed < kSeeds; ++seed) {
    Places m;
    Machine machine(weak(seed));
    machine.launch(1, 2, [&] {
      if (simt::threadIndex() == 1) storePeer<8>(&m.x, 42);
      simt::shuffle(simt::kFullMask, 1, 1);
      if (simt::threadIndex() == 0) storeRelaxed(&m.y, loadPeer<8>(&m.x));
    });
    ASSERT_TRUE(machine.run().finished());
    all.insert(m.y);
  }
  EXPECT_EQ(all, (std::set<uint64_t>{0, 42}));
}

// The third thread sees everything that the second had seen when it published.
TEST(EmulatorMemory, ReleaseAndAcquireAreTransitive) {
  Places m;
  uint64_t found = 0;
  const auto all = outcomes<uint64_t>([&] { m = Places{}; },
                                      {[&] {
                                         storePeer<8>(&m.x, 42);
                                         storeRelease(&m.y, 1);
                                       },
                                       [&] {
                                         while (loadAcquire(&m.y) == 0) simt::pause();
                                         storeRelease(&m.z, 1);
                                       },
                                       [&] {
                                         while (loadAcquire(&m.z) == 0) simt::pause();
                                         found = loadPeer<8>(&m.x);
                                       }},
                                      [&] { return found; });
  EXPECT_EQ(all, std::set<uint64_t>{42});
}

TEST(EmulatorMemory, ALaunchSeesAllStoresOfTheLaunchBeforeIt) {
  for (int seed = 0; seed < kSeeds / 3; ++seed) {
    Places m;
    Machine machine(weak(seed));
    const int first = machine.launch(2, 32, [&] {
      if (simt::threadIndex() == 5 && simt::blockIndex() == 1) storeRelaxed(&m.x, 42);
    });
    machine.launch(
        1, 1, [&] { storeRelaxed(&m.y, loadRelaxed(&m.x)); }, "second", first);
    ASSERT_TRUE(machine.run().finished());
    ASSERT_EQ(m.y, 42u);
  }
}

}  // namespace
}  // namespace jccl::emulator::emulator_memory_test
