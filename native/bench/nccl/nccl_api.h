// The part of NCCL's public interface (nccl.h) that the comparison with NCCL uses. NCCL is opened at run time, so nothing
// depends on it.
#pragma once

#include <cstddef>

namespace jccl::nccl {

struct CommOpaque;
using Comm = CommOpaque*;
using Result = int;     // ncclResult_t; 0: success
using DataType = int;   // ncclDataType_t
using Reduction = int;  // ncclRedOp_t
using Stream = void*;   // cudaStream_t

struct UniqueId {
  char bytes[128];
};

constexpr Result kSuccess = 0;

// ncclGetVersion: 10000 x major + 100 x minor + patch.
constexpr int kFirstWithSharedGpus = 23000;

// The functions: CALL(member, name, parameters).
// clang-format off
#define JCCL_NCCL_CALLS(CALL) \
  CALL(getVersion, "ncclGetVersion", (int* version)) \
  CALL(getUniqueId, "ncclGetUniqueId", (UniqueId* id)) \
  CALL(initRank, "ncclCommInitRank", (Comm* comm, int ranks, UniqueId id, int rank)) \
  CALL(destroy, "ncclCommDestroy", (Comm comm)) \
  CALL(asyncError, "ncclCommGetAsyncError", (Comm comm, Result* error)) \
  CALL(groupStart, "ncclGroupStart", ()) \
  CALL(groupEnd, "ncclGroupEnd", ()) \
  CALL(allReduce, "ncclAllReduce", (const void* send, void* recv, size_t count, DataType type, Reduction op, Comm comm, Stream stream)) \
  CALL(reduce, "ncclReduce", (const void* send, void* recv, size_t count, DataType type, Reduction op, int root, Comm comm, Stream stream)) \
  CALL(broadcast, "ncclBroadcast", (const void* send, void* recv, size_t count, DataType type, int root, Comm comm, Stream stream)) \
  CALL(allGather, "ncclAllGather", (const void* send, void* recv, size_t count, DataType type, Comm comm, Stream stream)) \
  CALL(reduceScatter, "ncclReduceScatter", (const void* send, void* recv, size_t count, DataType type, Reduction op, Comm comm, Stream stream)) \
  CALL(send, "ncclSend", (const void* buffer, size_t count, DataType type, int peer, Comm comm, Stream stream)) \
  CALL(recv, "ncclRecv", (void* buffer, size_t count, DataType type, int peer, Comm comm, Stream stream))
// clang-format on

struct Calls {
#define JCCL_DECLARE_NCCL(member, name, parameters) Result(*member) parameters = nullptr;
  JCCL_NCCL_CALLS(JCCL_DECLARE_NCCL)
#undef JCCL_DECLARE_NCCL
  const char* (*errorString)(Result) = nullptr;
};

}  // namespace jccl::nccl
