// The interface of network plug-ins for NCCL, versions 6 to 12. Numbers and layouts are those of its public headers
// (github.com/NVIDIA/nccl, src/include/plugin/net). Plug-ins are opened at run time, and no header of NCCL is needed to
// build. A plug-in exports a table of functions for each version that it supports: ncclNetPlugin_v12,
// ncclNetPlugin_v11, ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace jccl::plugin {

inline constexpr int kOldestVersion = 6;
inline constexpr int kNewestVersion = 12;

// ncclResult_t
using Result = int;
inline constexpr Result kSuccess = 0;
inline constexpr Result kInProgress = 7;

// ncclDebugLogLevel
inline constexpr int kLogWarn = 2;
inline constexpr int kLogInfo = 3;
inline constexpr int kLogAbort = 4;
inline constexpr int kLogTrace = 5;

using Logger = void (*)(int level, unsigned long flags, const char* file, int line, const char* format, ...);
using Profiler = Result (*)(void** event, int type, void* parent, int64_t pluginId, void* data);

// Bytes of a connection's handle. listen fills the handle; connect changes it, to keep its progress there.
inline constexpr size_t kHandleBytes = 128;

// Bits of ptrSupport, and the type of registered memory
inline constexpr int kPointerHost = 1;
inline constexpr int kPointerCuda = 2;
inline constexpr int kPointerDmaBuf = 4;

struct PropertiesV6 {
  char* name;
  char* pciPath;
  uint64_t guid;
  int pointers;
  int speed;
  int port;
  float latency;
  int maxComms;
  int maxRecvs;
};

struct PropertiesV7 {
  char* name;
  char* pciPath;
  uint64_t guid;
  int pointers;
  int speed;
  int port;
  float latency;
  int maxComms;
  int maxRecvs;
  int offloadType;
  int offloadVersion;
};

struct PropertiesV8 {
  char* name;
  char* pciPath;
  uint64_t guid;
  int pointers;
  int registrationIsGlobal;
  int speed;
  int port;
  float latency;
  int maxComms;
  int maxRecvs;
  int offloadType;
  int offloadVersion;
};

// Since version 9. `Devices` is the largest number of devices that can be merged into one.
template <int Devices>
struct PropertiesSinceV9 {
  char* name;
  char* pciPath;
  uint64_t guid;
  int pointers;
  int registrationIsGlobal;
  int forceFlush;
  int speed;
  int port;
  float latency;
  int maxComms;
  int maxRecvs;
  int offloadType;
  int offloadVersion;
  int deviceCount;
  int devices[Devices];
  size_t maxMessageBytes;
  size_t maxCollectiveBytes;
};

struct PropertiesV9 : PropertiesSinceV9<4> {};

// Appends a member to the properties of version 9.
struct PropertiesV11 {
  PropertiesSinceV9<4> common;
  int maxMultiRequest;
};

struct PropertiesV12 {
  PropertiesSinceV9<8> common;
  int maxMultiRequest;
  int16_t railId;
  int16_t planeId;
};

template <int Version>
using Properties = std::conditional_t<
    Version == 6, PropertiesV6,
    std::conditional_t<
        Version == 7, PropertiesV7,
        std::conditional_t<Version == 8, PropertiesV8,
                           std::conditional_t<Version <= 10, PropertiesV9,
                                              std::conditional_t<Version == 11, PropertiesV11, PropertiesV12>>>>>;

struct CommConfig {
  int trafficClass = -1;
};

// The signatures that differ between versions.
template <int Version>
struct NetSignatures {
  using Size = std::conditional_t<(Version >= 9), size_t, int>;
  using RegisteredSize = std::conditional_t<(Version >= 8), size_t, int>;

  using Init =
      std::conditional_t<(Version >= 11), Result (*)(void** context, uint64_t commId, CommConfig*, Logger, Profiler),
                         std::conditional_t<Version == 10, Result (*)(Logger, Profiler), Result (*)(Logger)>>;
  using Listen =
      std::conditional_t<(Version >= 11), Result (*)(void* context, int device, void* handle, void** listenComm),
                         Result (*)(int device, void* handle, void** listenComm)>;
  using Connect = std::conditional_t<
      (Version >= 11), Result (*)(void* context, int device, void* handle, void** sendComm, void** offload),
      std::conditional_t<Version == 10,
                         Result (*)(int device, CommConfig*, void* handle, void** sendComm, void** offload),
                         std::conditional_t<Version == 6, Result (*)(int device, void* handle, void** sendComm),
                                            Result (*)(int device, void* handle, void** sendComm, void** offload)>>>;
  using Accept = std::conditional_t<Version == 6, Result (*)(void* listenComm, void** recvComm),
                                    Result (*)(void* listenComm, void** recvComm, void** offload)>;
  using Send =
      std::conditional_t<(Version >= 10),
                         Result (*)(void* comm, void* data, Size, int tag, void* memory, void* event, void** request),
                         Result (*)(void* comm, void* data, Size, int tag, void* memory, void** request)>;
  using Receive = std::conditional_t<
      (Version >= 10),
      Result (*)(void* comm, int n, void** data, Size* sizes, int* tags, void** memory, void** events, void** request),
      Result (*)(void* comm, int n, void** data, Size* sizes, int* tags, void** memory, void** request)>;
};

// The table of a version. Older tables end earlier: the number in a comment is the version that added the member.
template <int Version>
struct NetTable {
  using Of = NetSignatures<Version>;

  const char* name;
  typename Of::Init init;
  Result (*devices)(int* count);
  Result (*getProperties)(int device, Properties<Version>*);
  typename Of::Listen listen;
  typename Of::Connect connect;
  typename Of::Accept accept;
  Result (*regMr)(void* comm, void* data, typename Of::RegisteredSize, int type, void** memory);
  Result (*regMrDmaBuf)(void* comm, void* data, size_t, int type, uint64_t offset, int descriptor, void** memory);
  Result (*deregMr)(void* comm, void* memory);
  typename Of::Send isend;
  typename Of::Receive irecv;
  Result (*iflush)(void* recvComm, int n, void** data, int* sizes, void** memory, void** request);
  Result (*test)(void* request, int* done, int* sizes);
  Result (*closeSend)(void* sendComm);
  Result (*closeRecv)(void* recvComm);
  Result (*closeListen)(void* listenComm);
  Result (*getDeviceMr)(void* comm, void* memory, void** deviceMemory);  // 7
  Result (*irecvConsumed)(void* recvComm, int n, void* request);         // 7
  Result (*makeVDevice)(int* device, void* properties);                  // 9
  Result (*finalize)(void* context);                                     // 11
  Result (*setNetAttr)(void* context, void* attributes);                 // 11
};

}  // namespace jccl::plugin
