// The part of NVIDIA's driver API that the library uses, with the numbers and layouts of its public interface (cuda.h).
// The driver is opened at run time, so that nothing depends on it or on a version of the toolkit. If a toolkit is
// installed, driver_api_test.cc compares this file with cuda.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace jccl::driver {

struct ContextOpaque;
struct ModuleOpaque;
struct FunctionOpaque;
struct StreamOpaque;
struct EventOpaque;
struct GraphOpaque;
struct ExecutableGraphOpaque;
using Device = int;
using Address = unsigned long long;  // NOLINT(google-runtime-int): as the driver has it
using Context = ContextOpaque*;
using Module = ModuleOpaque*;
using Function = FunctionOpaque*;
using Stream = StreamOpaque*;  // null: the default stream of the current context
using Event = EventOpaque*;
using Graph = GraphOpaque*;
using ExecutableGraph = ExecutableGraphOpaque*;
using Allocation = unsigned long long;  // NOLINT(google-runtime-int): CUmemGenericAllocationHandle

enum class Result : int {
  Success = 0,
  InvalidValue = 1,
  OutOfMemory = 2,
  NotInitialized = 3,
  Deinitialized = 4,
  NoDevice = 100,
  InvalidDevice = 101,
  InvalidImage = 200,
  InvalidContext = 201,
  NoBinaryForGpu = 209,
  UnsupportedPtxVersion = 222,
  InvalidHandle = 400,
  NotFound = 500,
  NotReady = 600,
  IllegalAddress = 700,
  LaunchOutOfResources = 701,
  PeerAccessAlreadyEnabled = 704,
  PeerAccessNotEnabled = 705,
  ContextIsDestroyed = 709,
  HostMemoryAlreadyRegistered = 712,
  HostMemoryNotRegistered = 713,
  LaunchFailed = 719,
  NotPermitted = 800,
  NotSupported = 801,
  StreamCaptureUnsupported = 900,
  StreamCaptureInvalidated = 901,
  StreamCaptureUnmatched = 903,
  StreamCaptureIsolation = 905,
  StreamCaptureImplicit = 906,
  CapturedEvent = 907,
  StreamCaptureWrongThread = 908,
  Unknown = 999,
};

enum class DeviceAttribute : int {
  MultiprocessorCount = 16,
  PciBusId = 33,
  PciDeviceId = 34,
  MaxThreadsPerMultiprocessor = 39,
  PciDomainId = 50,
  CapabilityMajor = 75,
  CapabilityMinor = 76,
  MaxSharedMemoryPerMultiprocessor = 81,
  MaxRegistersPerMultiprocessor = 82,
  PageableMemoryAccess = 88,
  VirtualMemoryManagement = 102,
  DescriptorHandles = 103,  // HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED
  MaxBlocksPerMultiprocessor = 106,
  DirectRdmaOfVirtualMemory = 110,  // GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED
  DmaBuf = 124,
  SyncDomainCount = 126,  // MEM_SYNC_DOMAIN_COUNT
  Multicast = 132,
  MpsEnabled = 133,
};

enum class FunctionAttribute : int {
  MaxThreadsPerBlock = 0,
  SharedBytes = 1,
  LocalBytes = 3,
  Registers = 4,
  PtxVersion = 5,
  BinaryVersion = 6,
  PreferredSharedCarveout = 9,  // shared memory in percent of the maximum
};

enum class PointerAttribute : int {
  Context = 1,
  MemoryType = 2,
  BufferId = 7,  // number of the allocation, unique in the life of the process
  IsManaged = 8,
  DeviceOrdinal = 9,
  LegacyIpcCapable = 10,
  RangeStart = 11,
  RangeBytes = 12,
  Mapped = 13,
  AccessFlags = 16,  // rights of the current context's device
};
constexpr int kAccessReadWrite = 3;
constexpr int kMemoryOfHost = 1, kMemoryOfDevice = 2;

enum class CaptureMode : int { Global = 0, ThreadLocal = 1, Relaxed = 2 };
enum class CaptureStatus : int { None = 0, Active = 1, Invalidated = 2 };

constexpr unsigned kStreamNonBlocking = 1;
constexpr unsigned kEventDisableTiming = 2;
constexpr unsigned kEventExternal = 1;  // in a graph: work outside the graph can wait for the event, or record it
constexpr unsigned kHostAllocPortable = 1, kHostAllocMapped = 2;
constexpr unsigned kHostRegisterPortable = 1, kHostRegisterMapped = 2;
constexpr unsigned kIpcLazyPeerAccess = 1;
constexpr unsigned kWaitUntilGreaterOrEqual = 0;  // the comparison is correct for counters that wrap
// For cuGetProcAddress: finds the calls whose default stream is that of the context, not that of the thread.
constexpr uint64_t kLegacyStream = 1;
constexpr int kDmaBufDescriptor = 1;  // CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD
constexpr int kPosixDescriptor = 1;   // CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
constexpr int kMinimumGranularity = 0, kRecommendedGranularity = 1;

struct Uuid {
  unsigned char bytes[16];
};

struct IpcHandle {
  unsigned char bytes[64];
};

struct MemoryLocation {
  int type;  // CUmemLocationType; 1: a device
  int id;
};

// CUmemAllocationProp
struct AllocationProperties {
  int type;         // CUmemAllocationType; 1: pinned
  int handleTypes;  // kPosixDescriptor
  MemoryLocation location;
  void* win32Metadata;
  unsigned char compression;
  unsigned char gpuDirectRdma;
  unsigned short usage;  // NOLINT(google-runtime-int): as the driver has it
  unsigned char reserved[4];
};
static_assert(sizeof(AllocationProperties) == 32 && offsetof(AllocationProperties, win32Metadata) == 16);

// CUmemAccessDesc
struct MemoryAccess {
  MemoryLocation location;
  int flags;  // 3: read and write
};
static_assert(sizeof(MemoryAccess) == 12);

// CUmulticastObjectProp
struct MulticastProperties {
  unsigned devices;
  size_t bytes;                    // maximum number of bytes that each device binds
  unsigned long long handleTypes;  // NOLINT(google-runtime-int): as the driver has it
  unsigned long long flags;        // NOLINT(google-runtime-int): as the driver has it
};
static_assert(sizeof(MulticastProperties) == 32 && offsetof(MulticastProperties, bytes) == 8);

// CUlaunchAttribute
struct LaunchAttribute {
  int id;
  int pad;
  union {
    char bytes[64];
    int syncDomain;
  } value;
};
static_assert(sizeof(LaunchAttribute) == 72);
constexpr int kSyncDomain = 10;   // CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN
constexpr int kRemoteDomain = 1;  // CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE

// CUlaunchConfig
struct LaunchConfig {
  unsigned gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes;
  Stream stream;
  LaunchAttribute* attributes;
  unsigned attributeCount;
};
static_assert(sizeof(LaunchConfig) == 56);

// The driver functions that the library uses: CALL(member, name, version, Required or Optional, parameters). `version`
// is the CUDA version that introduced this form of the call: 1000 x major + 10 x minor. A driver that lacks a required
// call is too old.
// clang-format off
#define JCCL_DRIVER_CALLS(CALL) \
  CALL(init, "cuInit", 2000, Required, (unsigned flags)) \
  CALL(driverVersion, "cuDriverGetVersion", 2020, Required, (int* version)) \
  CALL(errorName, "cuGetErrorName", 6000, Required, (Result error, const char** name)) \
  CALL(errorText, "cuGetErrorString", 6000, Required, (Result error, const char** text)) \
  CALL(deviceCount, "cuDeviceGetCount", 2000, Required, (int* count)) \
  CALL(deviceGet, "cuDeviceGet", 2000, Required, (Device* device, int ordinal)) \
  CALL(deviceName, "cuDeviceGetName", 2000, Required, (char* name, int length, Device device)) \
  CALL(deviceAttribute, "cuDeviceGetAttribute", 2000, Required, (int* value, DeviceAttribute attribute, Device device)) \
  CALL(deviceMemory, "cuDeviceTotalMem", 3020, Required, (size_t* bytes, Device device)) \
  CALL(deviceUuid, "cuDeviceGetUuid", 11040, Required, (Uuid* uuid, Device device)) \
  CALL(deviceCanAccessPeer, "cuDeviceCanAccessPeer", 4000, Required, (int* can, Device device, Device peer)) \
  CALL(primaryContext, "cuDevicePrimaryCtxRetain", 7000, Required, (Context* context, Device device)) \
  CALL(primaryContextState, "cuDevicePrimaryCtxGetState", 7000, Required, (Device device, unsigned* flags, int* active)) \
  CALL(currentContext, "cuCtxGetCurrent", 4000, Required, (Context* context)) \
  CALL(pushContext, "cuCtxPushCurrent", 4000, Required, (Context context)) \
  CALL(popContext, "cuCtxPopCurrent", 4000, Required, (Context* context)) \
  CALL(contextDevice, "cuCtxGetDevice", 2000, Required, (Device* device)) \
  CALL(enablePeerAccess, "cuCtxEnablePeerAccess", 4000, Required, (Context peer, unsigned flags)) \
  CALL(moduleLoad, "cuModuleLoadData", 2000, Required, (Module* module, const void* image)) \
  CALL(moduleFunction, "cuModuleGetFunction", 2000, Required, (Function* function, Module module, const char* name)) \
  CALL(functionLoad, "cuFuncLoad", 12040, Optional, (Function function)) \
  CALL(functionAttribute, "cuFuncGetAttribute", 2020, Required, (int* value, FunctionAttribute attribute, Function function)) \
  CALL(setFunctionAttribute, "cuFuncSetAttribute", 9000, Required, (Function function, FunctionAttribute attribute, int value)) \
  CALL(residentBlocks, "cuOccupancyMaxActiveBlocksPerMultiprocessor", 6050, Required, \
       (int* blocks, Function function, int threads, size_t dynamicSharedBytes)) \
  CALL(launch, "cuLaunchKernelEx", 11060, Required, \
       (const LaunchConfig* config, Function function, void** arguments, void** extra)) \
  CALL(memoryAllocate, "cuMemAlloc", 3020, Required, (Address* address, size_t bytes)) \
  CALL(memoryFree, "cuMemFree", 3020, Required, (Address address)) \
  CALL(hostAllocate, "cuMemHostAlloc", 2020, Required, (void** memory, size_t bytes, unsigned flags)) \
  CALL(hostFree, "cuMemFreeHost", 2000, Required, (void* memory)) \
  CALL(hostRegister, "cuMemHostRegister", 6050, Required, (void* memory, size_t bytes, unsigned flags)) \
  CALL(hostUnregister, "cuMemHostUnregister", 4000, Required, (void* memory)) \
  CALL(hostDevicePointer, "cuMemHostGetDevicePointer", 3020, Required, (Address* address, void* memory, unsigned flags)) \
  CALL(pointerAttribute, "cuPointerGetAttribute", 4000, Required, (void* value, PointerAttribute attribute, Address address)) \
  CALL(ipcExport, "cuIpcGetMemHandle", 4010, Required, (IpcHandle* handle, Address address)) \
  CALL(ipcOpen, "cuIpcOpenMemHandle", 11000, Required, (Address* address, IpcHandle handle, unsigned flags)) \
  CALL(ipcClose, "cuIpcCloseMemHandle", 4010, Required, (Address address)) \
  CALL(allocationGranularity, "cuMemGetAllocationGranularity", 10020, Required, \
       (size_t* bytes, const AllocationProperties* properties, int option)) \
  CALL(allocationCreate, "cuMemCreate", 10020, Required, \
       (Allocation* allocation, size_t bytes, const AllocationProperties* properties, unsigned long long flags)) \
  CALL(allocationRelease, "cuMemRelease", 10020, Required, (Allocation allocation)) \
  CALL(allocationExport, "cuMemExportToShareableHandle", 10020, Required, \
       (void* handle, Allocation allocation, int handleType, unsigned long long flags)) \
  CALL(allocationImport, "cuMemImportFromShareableHandle", 10020, Required, \
       (Allocation* allocation, void* handle, int handleType)) \
  CALL(allocationRetain, "cuMemRetainAllocationHandle", 11000, Required, (Allocation* allocation, void* address)) \
  CALL(addressReserve, "cuMemAddressReserve", 10020, Required, \
       (Address* address, size_t bytes, size_t alignment, Address wanted, unsigned long long flags)) \
  CALL(addressFree, "cuMemAddressFree", 10020, Required, (Address address, size_t bytes)) \
  CALL(memoryMap, "cuMemMap", 10020, Required, \
       (Address address, size_t bytes, size_t offset, Allocation allocation, unsigned long long flags)) \
  CALL(memoryUnmap, "cuMemUnmap", 10020, Required, (Address address, size_t bytes)) \
  CALL(memoryAccess, "cuMemSetAccess", 10020, Required, \
       (Address address, size_t bytes, const MemoryAccess* users, size_t count)) \
  CALL(multicastGranularity, "cuMulticastGetGranularity", 12010, Optional, \
       (size_t* bytes, const MulticastProperties* properties, int option)) \
  CALL(multicastCreate, "cuMulticastCreate", 12010, Optional, \
       (Allocation* multicast, const MulticastProperties* properties)) \
  CALL(multicastAddDevice, "cuMulticastAddDevice", 12010, Optional, (Allocation multicast, Device device)) \
  CALL(multicastBind, "cuMulticastBindMem", 12010, Optional, \
       (Allocation multicast, size_t multicastOffset, Allocation memory, size_t memoryOffset, size_t bytes, \
        unsigned long long flags)) \
  CALL(multicastUnbind, "cuMulticastUnbind", 12010, Optional, \
       (Allocation multicast, Device device, size_t multicastOffset, size_t bytes)) \
  CALL(rangeHandle, "cuMemGetHandleForAddressRange", 11070, Optional, \
       (void* handle, Address address, size_t bytes, int handleType, unsigned long long flags)) \
  CALL(copyAsync, "cuMemcpyAsync", 4000, Required, (Address to, Address from, size_t bytes, Stream stream)) \
  CALL(fillAsync, "cuMemsetD8Async", 3020, Required, (Address to, unsigned char byte, size_t bytes, Stream stream)) \
  CALL(streamCreate, "cuStreamCreate", 2000, Required, (Stream* stream, unsigned flags)) \
  CALL(streamDestroy, "cuStreamDestroy", 4000, Required, (Stream stream)) \
  CALL(streamId, "cuStreamGetId", 12000, Required, (Stream stream, unsigned long long* id)) \
  CALL(streamContext, "cuStreamGetCtx", 9020, Required, (Stream stream, Context* context)) \
  CALL(streamFlags, "cuStreamGetFlags", 5050, Required, (Stream stream, unsigned* flags)) \
  CALL(streamSynchronize, "cuStreamSynchronize", 2000, Required, (Stream stream)) \
  CALL(streamWaitEvent, "cuStreamWaitEvent", 3020, Required, (Stream stream, Event event, unsigned flags)) \
  CALL(streamWriteValue, "cuStreamWriteValue32", 11070, Optional, \
       (Stream stream, Address address, uint32_t value, unsigned flags)) \
  CALL(streamWaitValue, "cuStreamWaitValue32", 11070, Optional, \
       (Stream stream, Address address, uint32_t value, unsigned flags)) \
  CALL(streamIsCapturing, "cuStreamIsCapturing", 10000, Required, (Stream stream, CaptureStatus* status)) \
  CALL(streamBeginCapture, "cuStreamBeginCapture", 10010, Required, (Stream stream, CaptureMode mode)) \
  CALL(streamEndCapture, "cuStreamEndCapture", 10000, Required, (Stream stream, Graph* graph)) \
  CALL(exchangeCaptureMode, "cuThreadExchangeStreamCaptureMode", 10010, Required, (CaptureMode* mode)) \
  CALL(graphInstantiate, "cuGraphInstantiateWithFlags", 11040, Required, \
       (ExecutableGraph* executable, Graph graph, unsigned long long flags)) \
  CALL(graphLaunch, "cuGraphLaunch", 10000, Required, (ExecutableGraph graph, Stream stream)) \
  CALL(graphDestroy, "cuGraphDestroy", 10000, Required, (Graph graph)) \
  CALL(executableDestroy, "cuGraphExecDestroy", 10000, Required, (ExecutableGraph graph)) \
  CALL(eventCreate, "cuEventCreate", 2000, Required, (Event* event, unsigned flags)) \
  CALL(eventDestroy, "cuEventDestroy", 4000, Required, (Event event)) \
  CALL(eventRecord, "cuEventRecord", 2000, Required, (Event event, Stream stream)) \
  CALL(eventRecordWithFlags, "cuEventRecordWithFlags", 11010, Required, (Event event, Stream stream, unsigned flags)) \
  CALL(eventQuery, "cuEventQuery", 2000, Required, (Event event))
// clang-format on

// The functions of a driver. An optional function is null if the driver lacks it.
struct Calls {
#define JCCL_DECLARE_CALL(member, name, version, need, parameters) Result(*member) parameters = nullptr;
  JCCL_DRIVER_CALLS(JCCL_DECLARE_CALL)
#undef JCCL_DECLARE_CALL
};

}  // namespace jccl::driver
