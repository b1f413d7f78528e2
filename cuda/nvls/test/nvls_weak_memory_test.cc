// Tests of the flags of NVLS in weak memory, with hundreds of seeds, and that a missing release is caught.
#include <algorithm>

#include "cuda/nvls/nvls_kernel.h"
#include "cuda/test/device_ranks.h"

namespace jccl::test::nvls_weak_memory_test {
namespace {

using device::MulticastChannel;
using device::NoFaults;
using device::NvlsLaunch;

constexpr int kRanks = 3, kOperations = 3;
constexpr uint32_t kSlotBytes = 16 * kRanks;
constexpr size_t kCount = 40;  // several chunks, so that slots are used again
constexpr size_t kAlignment = alignof(MulticastChannel);
constexpr size_t kSlotsEnd = (NvlsLaunch::memoryBytes(1, kSlotBytes) + kAlignment - 1) / kAlignment * kAlignment;
constexpr size_t kWindowBytes = 4096;
constexpr size_t kBytes = kSlotsEnd + kWindowBytes;

// Where the buffers of the ranks are. A window follows the slots.
enum class Buffers { Outside, Windows, OneAtAnotherPlace, OneOutside };

struct MissingRelease : NoFaults {
  static constexpr bool kSkipsFence = true;
};

// Memory that the ranks have bound to a multicast object. The addresses of `all`, which is never accessed, serve as
// multicast addresses.
struct Team {
  Team() { active = this; }
  ~Team() {
    emulator::multicastPlaces = before;
    active = nullptr;
  }

  static bool find(const void* address, size_t bytes, uint16_t, std::vector<void*>& places) {
    const size_t offset = static_cast<size_t>(static_cast<const uint8_t*>(address) - active->all);
    if (offset + bytes > kBytes) return false;
    places.clear();
    for (auto& memory : active->memory) places.push_back(memory + offset);
    return true;
  }

  static inline Team* active = nullptr;
  alignas(kAlignment) uint8_t all[kBytes] = {};
  alignas(kAlignment) uint8_t memory[kRanks][kBytes] = {};
  decltype(emulator::multicastPlaces) before = std::exchange(emulator::multicastPlaces, find);
};

// Returns true if all-reduces and all-gathers, in sequence on the same slots, have the right results, and if slots are
// used unless all buffers are at the same place of windows.
template <class Faults>
bool isRight(uint64_t seed, Buffers buffers = Buffers::Outside) {
  Team team;
  DeviceRanks ranks(kRanks);
  ranks.timeoutNanos = 50'000'000;
  emulator::Options options;
  options.memory = emulator::Memory::Weak;
  options.schedule = emulator::Schedule::Random;
  options.seed = seed;
  emulator::Machine machine(options);
  std::vector<int32_t> in[kRanks], outside[kRanks];
  int32_t *from[kRanks], *out[kRanks];
  std::vector<NvlsLaunch> launches(kRanks * kOperations);
  for (int rank = 0; rank < kRanks; ++rank) {
    for (size_t i = 0; i < kCount * kOperations; ++i)
      in[rank].push_back(static_cast<int32_t>(rank * 1000003 + i * 7919));
    outside[rank] = in[rank];
    outside[rank].resize((1 + kRanks) * kCount * kOperations, -1);
    const bool elsewhere = rank == kRanks - 1 && buffers == Buffers::OneAtAnotherPlace;
    const bool inWindow = buffers != Buffers::Outside && !(rank == kRanks - 1 && buffers == Buffers::OneOutside);
    from[rank] = outside[rank].data();
    if (inWindow) {
      from[rank] = reinterpret_cast<int32_t*>(team.memory[rank] + kSlotsEnd + (elsewhere ? 16 : 0));
      std::copy(outside[rank].begin(), outside[rank].end(), from[rank]);
    }
    out[rank] = from[rank] + kCount * kOperations;
    int last = -1;
    for (int o = 0; o < kOperations; ++o) {
      NvlsLaunch& launch = launches[static_cast<size_t>(rank * kOperations + o)];
      const Launch base = ranks.launchOf(rank);
      launch.rank = rank;
      launch.size = kRanks;
      launch.channels = base.channels;
      launch.control = base.control;
      launch.code = {o == 1 ? Collective::AllGather : Collective::AllReduce, DataType::Int32, ReduceOp::Sum};
      launch.choice.algorithm = Algorithm::Nvls;
      launch.blocks = 1;
      launch.count = kCount;
      launch.send = reinterpret_cast<const uint8_t*>(from[rank] + kCount * o);
      launch.recv = reinterpret_cast<uint8_t*>(out[rank] + kRanks * kCount * o);
      launch.memory = team.memory[rank];
      launch.multicast = team.all;
      launch.channelCount = 1;
      launch.slotBytes = kSlotBytes;
      if (buffers != Buffers::Outside) {
        launch.windows[launch.windowCount++] = {team.memory[rank] + kSlotsEnd, kWindowBytes, team.all + kSlotsEnd};
      }
      const auto body = [&launch](auto* element) {
        using Kernel = device::NvlsKernel<std::remove_pointer_t<decltype(element)>, Faults>;
        JCCL_SHARED(typename Kernel::Shared, shared);
        Kernel::run(launch, shared);
      };
      const bool gathers = o == 1;
      last = machine.launch(
          1, 32,
          [body, gathers] {
            if (gathers) {
              body(static_cast<device::Integer<uint8_t>*>(nullptr));
            } else {
              body(static_cast<device::Integer<uint32_t>*>(nullptr));
            }
          },
          "rank " + std::to_string(rank), last);
    }
  }
  if (!machine.run().finished()) return false;
  for (int rank = 0; rank < kRanks; ++rank) {
    if (ranks.result(rank) != Code::Ok) return false;
    const uint8_t* slots = team.memory[rank] + sizeof(MulticastChannel);
    const bool used =
        std::any_of(slots, slots + MulticastChannel::kSlots * kSlotBytes, [](uint8_t b) { return b != 0; });
    if (used != (buffers != Buffers::Windows)) return false;
    for (size_t i = 0; i < kCount; ++i) {
      for (const int o : {0, 2}) {
        int32_t sum = 0;
        for (const auto& other : in) sum += other[kCount * o + i];
        if (out[rank][kRanks * kCount * o + i] != sum) return false;
      }
      for (int other = 0; other < kRanks; ++other) {
        if (out[rank][kRanks * kCount + other * kCount + i] != in[other][kCount + i]) return false;
      }
    }
  }
  return true;
}

TEST(NvlsInWeakMemory, FlagsPublishTheStoresBeforeThem) {
  for (uint64_t seed = 1; seed <= 200; ++seed) ASSERT_TRUE(isRight<NoFaults>(seed)) << "seed=" << seed;
}

TEST(NvlsInWeakMemory, WindowsAreUsedDirectlyIfTheirPlacesAreEqual) {
  for (const Buffers buffers : {Buffers::Windows, Buffers::OneAtAnotherPlace, Buffers::OneOutside}) {
    for (uint64_t seed = 1; seed <= 100; ++seed) {
      ASSERT_TRUE(isRight<NoFaults>(seed, buffers)) << "seed=" << seed << " buffers=" << static_cast<int>(buffers);
    }
  }
}

TEST(NvlsInWeakMemory, FlagsWithoutReleaseAreCaught) {
  for (const Buffers buffers : {Buffers::Outside, Buffers::Windows}) {
    int wrong = 0;
    for (uint64_t seed = 1; seed <= 40; ++seed) wrong += isRight<MissingRelease>(seed, buffers) ? 0 : 1;
    EXPECT_GT(wrong, 0) << static_cast<int>(buffers);
  }
}

}  // namespace
}  // namespace jccl::test::nvls_weak_memory_test
