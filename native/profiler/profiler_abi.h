// The interface of profiler plug-ins for NCCL, versions 1 to 7. Numbers and layouts are those of its public headers
// (github.com/NVIDIA/nccl, src/include/plugin/profiler). A plug-in exports ncclProfiler_v7, ncclProfiler_v6, ...
//
// Descriptors contain members for events of proxies, kernels and copy engines only if these determine the descriptor's
// size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "plugin/net_abi.h"

namespace jccl::plugin {

inline constexpr int kOldestProfiler = 1;
inline constexpr int kNewestProfiler = 7;

// Types of events, which are also the bits of the activation mask.
inline constexpr int kProfileGroup = 1 << 0;
inline constexpr int kProfileColl = 1 << 1;
inline constexpr int kProfileP2p = 1 << 2;
inline constexpr int kProfileGroupApi = 1 << 8;  // this type and the next two: since version 5
inline constexpr int kProfileCollApi = 1 << 9;
inline constexpr int kProfileP2pApi = 1 << 10;

// States of a group call, since version 5.
inline constexpr int kGroupStartStops = 23;
inline constexpr int kGroupEndStarts = 24;

struct ProfilerDescriptorV1 {
  struct Coll {
    const char* name;
    uint64_t commHash;
    uint64_t sequence;
    uint8_t function;
    const void* send;
    void* recv;
    size_t count;
    int root;
    uint8_t type;
    uint32_t op;
    size_t trafficBytes;
    uint8_t channels;
    uint8_t warps;
    uint8_t algorithm;
    uint8_t protocol;
    int collnet;
    int nvls;
  };
  struct P2p {
    const char* name;
    uint64_t commHash;
    uint8_t function;
    void* buffer;
    uint8_t type;
    size_t count;
    int peer;
  };
  uint8_t type;
  void* parent;
  int rank;
  union {
    Coll coll;
    P2p p2p;
  };
};

struct ProfilerDescriptorV2 {
  struct Coll {
    const char* name;
    uint64_t commHash;
    uint64_t sequence;
    const char* function;
    const void* send;
    void* recv;
    size_t count;
    int root;
    const char* type;
    size_t trafficBytes;
    uint8_t channels;
    uint8_t warps;
    const char* algorithm;
    const char* protocol;
  };
  struct P2p {
    const char* name;
    uint64_t commHash;
    const char* function;
    void* buffer;
    const char* type;
    size_t count;
    int peer;
  };
  uint8_t type;
  void* parent;
  int rank;
  union {
    Coll coll;
    P2p p2p;
  };
};

struct ProfilerDescriptorV3 {
  struct Coll {
    const char* name;
    uint64_t commHash;
    uint64_t sequence;
    const char* function;
    const void* send;
    void* recv;
    size_t count;
    int root;
    const char* type;
    uint8_t channels;
    uint8_t warps;
    const char* algorithm;
    const char* protocol;
  };
  using P2p = ProfilerDescriptorV2::P2p;
  uint8_t type;
  void* parent;
  int rank;
  union {
    Coll coll;
    P2p p2p;
  };
};

struct ProfilerDescriptorV4 {
  struct Coll {
    uint64_t sequence;
    const char* function;
    const void* send;
    void* recv;
    size_t count;
    int root;
    const char* type;
    uint8_t channels;
    uint8_t warps;
    const char* algorithm;
    const char* protocol;
  };
  struct P2p {
    const char* function;
    void* buffer;
    const char* type;
    size_t count;
    int peer;
    uint8_t channels;
  };
  uint8_t type;
  void* parent;
  int rank;
  union {
    Coll coll;
    P2p p2p;
  };
};

struct ProfiledGroupApi {
  bool captured;
  int depth;
};

struct ProfiledCollApi {
  const char* function;
  size_t count;
  const char* type;
  int root;
  void* stream;
  bool captured;
};
struct ProfiledCollApiV7 {
  ProfiledCollApi since5;
  uint64_t tag;
};

struct ProfiledP2pApi {
  const char* function;
  size_t count;
  const char* type;
  void* stream;
  bool captured;
};
struct ProfiledP2pApiV7 {
  ProfiledP2pApi since5;
  uint64_t tag;
};

struct ProfiledColl {
  uint64_t sequence;
  const char* function;
  const void* send;
  void* recv;
  size_t count;
  int root;
  const char* type;
  uint8_t channels;
  uint8_t warps;
  const char* algorithm;
  const char* protocol;
  void* parentGroup;
};
struct ProfiledCollV7 {
  ProfiledColl since5;
  const char* kernelVariant;
  bool symmetric;
  uint64_t tag;
};

struct ProfiledP2p {
  const char* function;
  void* buffer;
  const char* type;
  size_t count;
  int peer;
  uint8_t channels;
  void* parentGroup;
};
struct ProfiledP2pV7 {
  ProfiledP2p since5;
  uint64_t tag;
};

struct ProfiledCeColl {
  uint64_t sequence;
  const char* function;
  const void* send;
  void* recv;
  size_t count;
  int root;
  const char* type;
  const char* strategy;
  bool synchronizes;
  uint32_t batchSize;
  uint32_t batches;
  uint32_t ceSequence;
  void* stream;
};
struct ProfiledCeCollV7 {
  ProfiledCeColl since6;
  uint64_t tag;
};

struct ProfilerDescriptorV5 {
  uint64_t type;
  void* parent;
  int rank;
  union {
    ProfiledGroupApi groupApi;
    ProfiledCollApi collApi;
    ProfiledP2pApi p2pApi;
    ProfiledColl coll;
    ProfiledP2p p2p;
  };
};

struct ProfilerDescriptorV6 {
  uint64_t type;
  void* parent;
  int rank;
  union {
    ProfiledGroupApi groupApi;
    ProfiledCollApi collApi;
    ProfiledP2pApi p2pApi;
    ProfiledColl coll;
    ProfiledP2p p2p;
    ProfiledCeColl ceColl;
  };
};

struct ProfilerDescriptorV7 {
  uint64_t type;
  void* parent;
  int rank;
  union {
    ProfiledGroupApi groupApi;
    ProfiledCollApiV7 collApi;
    ProfiledP2pApiV7 p2pApi;
    ProfiledCollV7 coll;
    ProfiledP2pV7 p2p;
    ProfiledCeCollV7 ceColl;
  };
};

template <int Version>
using ProfilerDescriptor = std::conditional_t<
    Version == 1, ProfilerDescriptorV1,
    std::conditional_t<
        Version == 2, ProfilerDescriptorV2,
        std::conditional_t<Version == 3, ProfilerDescriptorV3,
                           std::conditional_t<Version == 4, ProfilerDescriptorV4,
                                              std::conditional_t<Version == 5, ProfilerDescriptorV5,
                                                                 std::conditional_t<Version == 6, ProfilerDescriptorV6,
                                                                                    ProfilerDescriptorV7>>>>>>;

template <int Version>
using ProfilerInit =
    std::conditional_t<(Version >= 5),
                       Result (*)(void** context, uint64_t commId, int* mask, const char* name, int hosts, int ranks,
                                  int rank, Logger),
                       std::conditional_t<Version == 4,
                                          Result (*)(void** context, int* mask, const char* name, uint64_t commHash,
                                                     int hosts, int ranks, int rank, Logger),
                                          Result (*)(void** context, int* mask)>>;

template <int Version>
struct ProfilerTable {
  const char* name;
  ProfilerInit<Version> init;
  Result (*startEvent)(void* context, void** event, ProfilerDescriptor<Version>*);
  Result (*stopEvent)(void* event);
  Result (*recordEventState)(void* event, int state, void* arguments);
  Result (*finalize)(void* context);
};

}  // namespace jccl::plugin
