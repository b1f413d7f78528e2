// The interface of tuner plug-ins for NCCL, versions 2 to 7. Numbers and layouts are those of its public headers
// (github.com/NVIDIA/nccl, src/include/plugin/tuner). A plug-in exports ncclTunerPlugin_v7, ncclTunerPlugin_v6, ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "plugin/net_abi.h"

namespace jccl::plugin {

inline constexpr int kOldestTuner = 2;
inline constexpr int kNewestTuner = 7;

// Rows and columns of a table of costs. Costs are in microseconds.
inline constexpr int kTunerAlgorithms = 7;  // tree, ring, collnet direct and chain, nvls, nvls tree, pat
inline constexpr int kTunerProtocols = 3;   // LL, LL128, SIMPLE
inline constexpr int kTunerCosts = kTunerAlgorithms * kTunerProtocols;
inline constexpr int kTunerUndefined = -1;

// The cost of a combination that cannot, or must not, be executed.
inline constexpr float kIgnoredCost = -1;

// Domains of GPUs that NVLink joins.
struct NvlDomains {
  int count;
  int minRanks;
  int maxRanks;
};

// Constants of NCCL's own model. `Capabilities` is the number of GPU generations.
template <int Capabilities>
struct TunerConstants {
  double baseLatencies[kTunerAlgorithms][kTunerProtocols];
  double linkLatencies[3][kTunerAlgorithms][kTunerProtocols];
  double maxLl[Capabilities][3];
  double maxRingLl128[Capabilities][3];
  double maxTreeLl128[Capabilities][3];
  double maxTree[Capabilities][3];
  double maxNvlsTree[Capabilities][3];
};

template <int Version>
using TunerConstantsOf = TunerConstants<(Version >= 7 ? 5 : 4)>;

// The signatures that differ between versions.
template <int Version>
struct TunerSignatures {
  using Init = std::conditional_t<(Version >= 5),
                                  Result (*)(void** context, uint64_t commId, size_t ranks, size_t nodes, Logger,
                                             NvlDomains*, TunerConstantsOf<Version>*),
                                  Result (*)(size_t ranks, size_t nodes, Logger, void** context)>;
  // A table of costs is passed as the address of its first cost, although the type says float**.
  using GetInfo =
      std::conditional_t<(Version >= 4),
                         Result (*)(void* context, int function, size_t bytes, int pipelined, float** costs,
                                    int algorithms, int protocols, int registered, int* channels),
                         std::conditional_t<Version == 3,
                                            Result (*)(void* context, int function, size_t bytes, int pipelined,
                                                       float** costs, int algorithms, int protocols, int* channels),
                                            Result (*)(void* context, int function, size_t bytes, int collnet, int nvls,
                                                       int pipelined, int* algorithm, int* protocol, int* channels)>>;
};

// The table of a version. Older tables end earlier: the number in a comment is the version that added the member.
template <int Version>
struct TunerTable {
  const char* name;
  typename TunerSignatures<Version>::Init init;
  typename TunerSignatures<Version>::GetInfo getCollInfo;
  Result (*finalize)(void* context);
  Result (*getChunkSize)(void* context, int function, size_t bytes, int algorithm, int protocol, int channels,
                         size_t* chunkBytes);  // 6; may be null
};

}  // namespace jccl::plugin
