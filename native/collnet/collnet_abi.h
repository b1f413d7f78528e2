// The collective half of NCCL's network plug-ins, versions 6 to 12: a network whose switches reduce. A plug-in exports
// a table for each version that it supports: ncclCollNetPlugin_v12, ncclCollNetPlugin_v11, ... See net_abi.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "plugin/net_abi.h"

namespace jccl::plugin {

// ncclDataType_t
enum : int {
  kTypeInt8 = 0,
  kTypeUint8 = 1,
  kTypeInt32 = 2,
  kTypeUint32 = 3,
  kTypeInt64 = 4,
  kTypeUint64 = 5,
  kTypeFloat16 = 6,
  kTypeFloat32 = 7,
  kTypeFloat64 = 8,
  kTypeBfloat16 = 9,
  kTypeFloat8E4m3 = 10,
  kTypeFloat8E5m2 = 11,
};

// ncclRedOp_t
enum : int {
  kOpSum = 0,
  kOpProd = 1,
  kOpMax = 2,
  kOpMin = 3,
};

// A piece of memory that receives a part of the gathered data, or that contains a part of the data to be scattered.
template <int Version>
struct CollNetPart {
  void* memory;
  void* address;
  std::conditional_t<Version == 8, uint32_t, size_t> size;
};

// The signatures that differ between versions.
template <int Version>
struct CollNetSignatures {
  using Count = std::conditional_t<(Version >= 9), size_t, int>;
  using RegisteredSize = typename NetSignatures<Version>::RegisteredSize;
  using Listen = typename NetSignatures<Version>::Listen;
  using Init =
      std::conditional_t<(Version >= 11), Result (*)(void** context, uint64_t commId, Logger), Result (*)(Logger)>;
};

// The members with which the tables of all versions begin.
template <int Version>
struct CollNetTableBegin {
  using Of = CollNetSignatures<Version>;

  const char* name;
  typename Of::Init init;
  Result (*devices)(int* count);
  Result (*getProperties)(int device, Properties<Version>*);
  typename Of::Listen listen;
  // Blocks until the group is connected. `handles` are those of all members; `rank` is the caller's place among them.
  Result (*connect)(void* handles[], int ranks, int rank, void* listenComm, void** collComm);
  Result (*reduceSupport)(int type, int op, int* supported);
  Result (*regMr)(void* collComm, void* data, typename Of::RegisteredSize, int type, void** memory);
  Result (*regMrDmaBuf)(void* collComm, void* data, size_t, int type, uint64_t offset, int descriptor, void** memory);
  Result (*deregMr)(void* collComm, void* memory);
  Result (*iallreduce)(void* collComm, void* send, void* recv, typename Of::Count, int type, int op, void* sendMemory,
                       void* recvMemory, void** request);
};

// Up to version 7.
template <int Version>
struct CollNetTableReducing : CollNetTableBegin<Version> {
  Result (*iflush)(void* collComm, void* data, int size, void* memory, void** request);
  Result (*test)(void* request, int* done, int* size);
  Result (*closeColl)(void* collComm);
  Result (*closeListen)(void* listenComm);
};

// Since version 8. The number in a comment is the version that added the member.
template <int Version>
struct CollNetTableGathering : CollNetTableBegin<Version> {
  // Gathers `bytesPerRank` bytes of every member. Of the gathered data, writes the `windowBytes` bytes from
  // `windowOffset` on into `parts`.
  Result (*iallgather)(void* collComm, void* send, int partCount, CollNetPart<Version>* parts, size_t bytesPerRank,
                       size_t windowOffset, size_t windowBytes, void* sendMemory, void** request);
  // The reverse of iallgather: `parts` contain the `windowBytes` bytes from `windowOffset` on of the data to be reduced
  // and scattered.
  Result (*ireducescatter)(void* collComm, int partCount, CollNetPart<Version>* parts, void* recv, size_t bytesPerRank,
                           size_t windowOffset, size_t windowBytes, int type, int op, void* recvMemory, void** request);
  Result (*iflush)(void* collComm, void* data, int size, void* memory, void** request);
  Result (*test)(void* request, int* done, int* size);
  Result (*closeColl)(void* collComm);
  Result (*closeListen)(void* listenComm);
  Result (*makeVDevice)(int* device, void* properties);  // 9
  Result (*finalize)(void* context);                     // 11
};

template <int Version>
using CollNetTable = std::conditional_t<(Version >= 8), CollNetTableGathering<Version>, CollNetTableReducing<Version>>;

}  // namespace jccl::plugin
