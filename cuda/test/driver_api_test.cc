// Compares driver_api.h with the numbers and layouts of cuda.h, if a CUDA toolkit is installed.
#include "cuda/driver/driver_api.h"

#include <gtest/gtest.h>

#ifdef JCCL_HAS_CUDA_HEADERS
#include <cuda.h>
#include <cudaTypedefs.h>

#include <tuple>
#include <type_traits>

namespace jccl::driver::driver_api_test {
namespace {

template <class Function>
struct Parameters;
template <class Returned, class... All>
struct Parameters<Returned (*)(All...)> {
  using Types = std::tuple<All...>;
};

template <class Ours, class Theirs, size_t... I>
constexpr bool sameSizes(std::index_sequence<I...>) {
  return ((sizeof(std::tuple_element_t<I, Ours>) == sizeof(std::tuple_element_t<I, Theirs>)) && ...);
}

// Returns true if both functions have the same number of parameters, of the same sizes.
template <class Ours, class Theirs>
constexpr bool same() {
  using A = typename Parameters<Ours>::Types;
  using B = typename Parameters<Theirs>::Types;
  if constexpr (std::tuple_size_v<A> != std::tuple_size_v<B>) {
    return false;
  } else {
    return sameSizes<A, B>(std::make_index_sequence<std::tuple_size_v<A>>());
  }
}

#define JCCL_SAME_CALL(member, theirs) static_assert(same<decltype(Calls::member), theirs>(), #theirs)

JCCL_SAME_CALL(init, PFN_cuInit_v2000);
JCCL_SAME_CALL(driverVersion, PFN_cuDriverGetVersion_v2020);
JCCL_SAME_CALL(errorName, PFN_cuGetErrorName_v6000);
JCCL_SAME_CALL(errorText, PFN_cuGetErrorString_v6000);
JCCL_SAME_CALL(deviceCount, PFN_cuDeviceGetCount_v2000);
JCCL_SAME_CALL(deviceGet, PFN_cuDeviceGet_v2000);
JCCL_SAME_CALL(deviceName, PFN_cuDeviceGetName_v2000);
JCCL_SAME_CALL(deviceAttribute, PFN_cuDeviceGetAttribute_v2000);
JCCL_SAME_CALL(deviceMemory, PFN_cuDeviceTotalMem_v3020);
JCCL_SAME_CALL(deviceUuid, PFN_cuDeviceGetUuid_v11040);
JCCL_SAME_CALL(deviceCanAccessPeer, PFN_cuDeviceCanAccessPeer_v4000);
JCCL_SAME_CALL(primaryContext, PFN_cuDevicePrimaryCtxRetain_v7000);
JCCL_SAME_CALL(primaryContextState, PFN_cuDevicePrimaryCtxGetState_v7000);
JCCL_SAME_CALL(currentContext, PFN_cuCtxGetCurrent_v4000);
JCCL_SAME_CALL(pushContext, PFN_cuCtxPushCurrent_v4000);
JCCL_SAME_CALL(popContext, PFN_cuCtxPopCurrent_v4000);
JCCL_SAME_CALL(contextDevice, PFN_cuCtxGetDevice_v2000);
JCCL_SAME_CALL(enablePeerAccess, PFN_cuCtxEnablePeerAccess_v4000);
JCCL_SAME_CALL(moduleLoad, PFN_cuModuleLoadData_v2000);
JCCL_SAME_CALL(moduleFunction, PFN_cuModuleGetFunction_v2000);
JCCL_SAME_CALL(functionLoad, PFN_cuFuncLoad_v12040);
JCCL_SAME_CALL(functionAttribute, PFN_cuFuncGetAttribute_v2020);
JCCL_SAME_CALL(setFunctionAttribute, PFN_cuFuncSetAttribute_v9000);
JCCL_SAME_CALL(residentBlocks, PFN_cuOccupancyMaxActiveBlocksPerMultiprocessor_v6050);
JCCL_SAME_CALL(launch, PFN_cuLaunchKernelEx_v11060);
JCCL_SAME_CALL(memoryAllocate, PFN_cuMemAlloc_v3020);
JCCL_SAME_CALL(memoryFree, PFN_cuMemFree_v3020);
JCCL_SAME_CALL(hostAllocate, PFN_cuMemHostAlloc_v2020);
JCCL_SAME_CALL(hostFree, PFN_cuMemFreeHost_v2000);
JCCL_SAME_CALL(hostRegister, PFN_cuMemHostRegister_v6050);
JCCL_SAME_CALL(hostUnregister, PFN_cuMemHostUnregister_v4000);
JCCL_SAME_CALL(hostDevicePointer, PFN_cuMemHostGetDevicePointer_v3020);
JCCL_SAME_CALL(pointerAttribute, PFN_cuPointerGetAttribute_v4000);
JCCL_SAME_CALL(ipcExport, PFN_cuIpcGetMemHandle_v4010);
JCCL_SAME_CALL(ipcOpen, PFN_cuIpcOpenMemHandle_v11000);
JCCL_SAME_CALL(ipcClose, PFN_cuIpcCloseMemHandle_v4010);
JCCL_SAME_CALL(allocationGranularity, PFN_cuMemGetAllocationGranularity_v10020);
JCCL_SAME_CALL(allocationCreate, PFN_cuMemCreate_v10020);
JCCL_SAME_CALL(allocationRelease, PFN_cuMemRelease_v10020);
JCCL_SAME_CALL(allocationExport, PFN_cuMemExportToShareableHandle_v10020);
JCCL_SAME_CALL(allocationImport, PFN_cuMemImportFromShareableHandle_v10020);
JCCL_SAME_CALL(allocationRetain, PFN_cuMemRetainAllocationHandle_v11000);
JCCL_SAME_CALL(addressReserve, PFN_cuMemAddressReserve_v10020);
JCCL_SAME_CALL(addressFree, PFN_cuMemAddressFree_v10020);
JCCL_SAME_CALL(memoryMap, PFN_cuMemMap_v10020);
JCCL_SAME_CALL(memoryUnmap, PFN_cuMemUnmap_v10020);
JCCL_SAME_CALL(memoryAccess, PFN_cuMemSetAccess_v10020);
JCCL_SAME_CALL(multicastGranularity, PFN_cuMulticastGetGranularity_v12010);
JCCL_SAME_CALL(multicastCreate, PFN_cuMulticastCreate_v12010);
JCCL_SAME_CALL(multicastAddDevice, PFN_cuMulticastAddDevice_v12010);
JCCL_SAME_CALL(multicastBind, PFN_cuMulticastBindMem_v12010);
JCCL_SAME_CALL(multicastUnbind, PFN_cuMulticastUnbind_v12010);
JCCL_SAME_CALL(rangeHandle, PFN_cuMemGetHandleForAddressRange_v11070);
JCCL_SAME_CALL(copyAsync, PFN_cuMemcpyAsync_v4000);
JCCL_SAME_CALL(fillAsync, PFN_cuMemsetD8Async_v3020);
JCCL_SAME_CALL(streamCreate, PFN_cuStreamCreate_v2000);
JCCL_SAME_CALL(streamDestroy, PFN_cuStreamDestroy_v4000);
JCCL_SAME_CALL(streamId, PFN_cuStreamGetId_v12000);
JCCL_SAME_CALL(streamContext, PFN_cuStreamGetCtx_v9020);
JCCL_SAME_CALL(streamFlags, PFN_cuStreamGetFlags_v5050);
JCCL_SAME_CALL(streamSynchronize, PFN_cuStreamSynchronize_v2000);
JCCL_SAME_CALL(streamWaitEvent, PFN_cuStreamWaitEvent_v3020);
JCCL_SAME_CALL(streamWriteValue, PFN_cuStreamWriteValue32_v11070);
JCCL_SAME_CALL(streamWaitValue, PFN_cuStreamWaitValue32_v11070);
JCCL_SAME_CALL(streamIsCapturing, PFN_cuStreamIsCapturing_v10000);
JCCL_SAME_CALL(streamBeginCapture, PFN_cuStreamBeginCapture_v10010);
JCCL_SAME_CALL(streamEndCapture, PFN_cuStreamEndCapture_v10000);
JCCL_SAME_CALL(exchangeCaptureMode, PFN_cuThreadExchangeStreamCaptureMode_v10010);
JCCL_SAME_CALL(graphInstantiate, PFN_cuGraphInstantiateWithFlags_v11040);
JCCL_SAME_CALL(graphLaunch, PFN_cuGraphLaunch_v10000);
JCCL_SAME_CALL(graphDestroy, PFN_cuGraphDestroy_v10000);
JCCL_SAME_CALL(executableDestroy, PFN_cuGraphExecDestroy_v10000);
JCCL_SAME_CALL(eventCreate, PFN_cuEventCreate_v2000);
JCCL_SAME_CALL(eventDestroy, PFN_cuEventDestroy_v4000);
JCCL_SAME_CALL(eventRecord, PFN_cuEventRecord_v2000);
JCCL_SAME_CALL(eventRecordWithFlags, PFN_cuEventRecordWithFlags_v11010);
JCCL_SAME_CALL(eventQuery, PFN_cuEventQuery_v2000);

#define JCCL_SAME_VALUE(ours, theirs) \
  static_assert(static_cast<long long>(ours) == static_cast<long long>(theirs), #theirs)

JCCL_SAME_VALUE(Result::Success, CUDA_SUCCESS);
JCCL_SAME_VALUE(Result::InvalidValue, CUDA_ERROR_INVALID_VALUE);
JCCL_SAME_VALUE(Result::OutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
JCCL_SAME_VALUE(Result::NotInitialized, CUDA_ERROR_NOT_INITIALIZED);
JCCL_SAME_VALUE(Result::Deinitialized, CUDA_ERROR_DEINITIALIZED);
JCCL_SAME_VALUE(Result::NoDevice, CUDA_ERROR_NO_DEVICE);
JCCL_SAME_VALUE(Result::InvalidDevice, CUDA_ERROR_INVALID_DEVICE);
JCCL_SAME_VALUE(Result::InvalidImage, CUDA_ERROR_INVALID_IMAGE);
JCCL_SAME_VALUE(Result::InvalidContext, CUDA_ERROR_INVALID_CONTEXT);
JCCL_SAME_VALUE(Result::NoBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU);
JCCL_SAME_VALUE(Result::UnsupportedPtxVersion, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
JCCL_SAME_VALUE(Result::InvalidHandle, CUDA_ERROR_INVALID_HANDLE);
JCCL_SAME_VALUE(Result::NotFound, CUDA_ERROR_NOT_FOUND);
JCCL_SAME_VALUE(Result::NotReady, CUDA_ERROR_NOT_READY);
JCCL_SAME_VALUE(Result::IllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS);
JCCL_SAME_VALUE(Result::LaunchOutOfResources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
JCCL_SAME_VALUE(Result::PeerAccessAlreadyEnabled, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
JCCL_SAME_VALUE(Result::PeerAccessNotEnabled, CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
JCCL_SAME_VALUE(Result::ContextIsDestroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED);
JCCL_SAME_VALUE(Result::HostMemoryAlreadyRegistered, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
JCCL_SAME_VALUE(Result::HostMemoryNotRegistered, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
JCCL_SAME_VALUE(Result::LaunchFailed, CUDA_ERROR_LAUNCH_FAILED);
JCCL_SAME_VALUE(Result::NotPermitted, CUDA_ERROR_NOT_PERMITTED);
JCCL_SAME_VALUE(Result::NotSupported, CUDA_ERROR_NOT_SUPPORTED);
JCCL_SAME_VALUE(Result::StreamCaptureUnsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
JCCL_SAME_VALUE(Result::StreamCaptureInvalidated, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
JCCL_SAME_VALUE(Result::StreamCaptureUnmatched, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
JCCL_SAME_VALUE(Result::StreamCaptureIsolation, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
JCCL_SAME_VALUE(Result::StreamCaptureImplicit, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
JCCL_SAME_VALUE(Result::CapturedEvent, CUDA_ERROR_CAPTURED_EVENT);
JCCL_SAME_VALUE(Result::StreamCaptureWrongThread, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
JCCL_SAME_VALUE(Result::Unknown, CUDA_ERROR_UNKNOWN);
JCCL_SAME_VALUE(DeviceAttribute::MultiprocessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
JCCL_SAME_VALUE(DeviceAttribute::PciBusId, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID);
JCCL_SAME_VALUE(DeviceAttribute::PciDeviceId, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID);
JCCL_SAME_VALUE(DeviceAttribute::MaxThreadsPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
JCCL_SAME_VALUE(DeviceAttribute::PciDomainId, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID);
JCCL_SAME_VALUE(DeviceAttribute::CapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
JCCL_SAME_VALUE(DeviceAttribute::CapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
JCCL_SAME_VALUE(DeviceAttribute::MaxSharedMemoryPerMultiprocessor,
                CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
JCCL_SAME_VALUE(DeviceAttribute::MaxRegistersPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
JCCL_SAME_VALUE(DeviceAttribute::PageableMemoryAccess, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS);
JCCL_SAME_VALUE(DeviceAttribute::VirtualMemoryManagement, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);
JCCL_SAME_VALUE(DeviceAttribute::DescriptorHandles, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED);
JCCL_SAME_VALUE(DeviceAttribute::MaxBlocksPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
JCCL_SAME_VALUE(DeviceAttribute::DirectRdmaOfVirtualMemory,
                CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED);
JCCL_SAME_VALUE(DeviceAttribute::DmaBuf, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED);
JCCL_SAME_VALUE(DeviceAttribute::Multicast, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED);
JCCL_SAME_VALUE(DeviceAttribute::SyncDomainCount, CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT);
JCCL_SAME_VALUE(DeviceAttribute::MpsEnabled, CU_DEVICE_ATTRIBUTE_MPS_ENABLED);
JCCL_SAME_VALUE(FunctionAttribute::MaxThreadsPerBlock, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
JCCL_SAME_VALUE(FunctionAttribute::SharedBytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
JCCL_SAME_VALUE(FunctionAttribute::LocalBytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
JCCL_SAME_VALUE(FunctionAttribute::Registers, CU_FUNC_ATTRIBUTE_NUM_REGS);
JCCL_SAME_VALUE(FunctionAttribute::PtxVersion, CU_FUNC_ATTRIBUTE_PTX_VERSION);
JCCL_SAME_VALUE(FunctionAttribute::BinaryVersion, CU_FUNC_ATTRIBUTE_BINARY_VERSION);
JCCL_SAME_VALUE(FunctionAttribute::PreferredSharedCarveout, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
JCCL_SAME_VALUE(PointerAttribute::Context, CU_POINTER_ATTRIBUTE_CONTEXT);
JCCL_SAME_VALUE(PointerAttribute::MemoryType, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
JCCL_SAME_VALUE(PointerAttribute::BufferId, CU_POINTER_ATTRIBUTE_BUFFER_ID);
JCCL_SAME_VALUE(PointerAttribute::IsManaged, CU_POINTER_ATTRIBUTE_IS_MANAGED);
JCCL_SAME_VALUE(PointerAttribute::DeviceOrdinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
JCCL_SAME_VALUE(PointerAttribute::LegacyIpcCapable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE);
JCCL_SAME_VALUE(PointerAttribute::RangeStart, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR);
JCCL_SAME_VALUE(PointerAttribute::RangeBytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE);
JCCL_SAME_VALUE(PointerAttribute::Mapped, CU_POINTER_ATTRIBUTE_MAPPED);
JCCL_SAME_VALUE(PointerAttribute::AccessFlags, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS);
JCCL_SAME_VALUE(CaptureMode::Global, CU_STREAM_CAPTURE_MODE_GLOBAL);
JCCL_SAME_VALUE(CaptureMode::ThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
JCCL_SAME_VALUE(CaptureMode::Relaxed, CU_STREAM_CAPTURE_MODE_RELAXED);
JCCL_SAME_VALUE(CaptureStatus::None, CU_STREAM_CAPTURE_STATUS_NONE);
JCCL_SAME_VALUE(CaptureStatus::Active, CU_STREAM_CAPTURE_STATUS_ACTIVE);
JCCL_SAME_VALUE(CaptureStatus::Invalidated, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
JCCL_SAME_VALUE(kAccessReadWrite, CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE);
JCCL_SAME_VALUE(kAccessReadWrite, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
JCCL_SAME_VALUE(kMemoryOfHost, CU_MEMORYTYPE_HOST);
JCCL_SAME_VALUE(kMemoryOfDevice, CU_MEMORYTYPE_DEVICE);
JCCL_SAME_VALUE(kStreamNonBlocking, CU_STREAM_NON_BLOCKING);
JCCL_SAME_VALUE(kEventDisableTiming, CU_EVENT_DISABLE_TIMING);
JCCL_SAME_VALUE(kEventExternal, CU_EVENT_RECORD_EXTERNAL);
JCCL_SAME_VALUE(kEventExternal, CU_EVENT_WAIT_EXTERNAL);
JCCL_SAME_VALUE(kHostAllocPortable, CU_MEMHOSTALLOC_PORTABLE);
JCCL_SAME_VALUE(kHostAllocMapped, CU_MEMHOSTALLOC_DEVICEMAP);
JCCL_SAME_VALUE(kHostRegisterPortable, CU_MEMHOSTREGISTER_PORTABLE);
JCCL_SAME_VALUE(kHostRegisterMapped, CU_MEMHOSTREGISTER_DEVICEMAP);
JCCL_SAME_VALUE(kIpcLazyPeerAccess, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
JCCL_SAME_VALUE(kWaitUntilGreaterOrEqual, CU_STREAM_WAIT_VALUE_GEQ);
JCCL_SAME_VALUE(kLegacyStream, CU_GET_PROC_ADDRESS_LEGACY_STREAM);
JCCL_SAME_VALUE(kDmaBufDescriptor, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD);
JCCL_SAME_VALUE(kPosixDescriptor, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
JCCL_SAME_VALUE(kRecommendedGranularity, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
JCCL_SAME_VALUE(kMinimumGranularity, CU_MULTICAST_GRANULARITY_MINIMUM);

static_assert(sizeof(AllocationProperties) == sizeof(CUmemAllocationProp));
static_assert(offsetof(AllocationProperties, handleTypes) == offsetof(CUmemAllocationProp, requestedHandleTypes));
static_assert(offsetof(AllocationProperties, location) == offsetof(CUmemAllocationProp, location));
static_assert(offsetof(AllocationProperties, gpuDirectRdma) ==
              offsetof(CUmemAllocationProp, allocFlags.gpuDirectRDMACapable));
static_assert(sizeof(MemoryAccess) == sizeof(CUmemAccessDesc) &&
              offsetof(MemoryAccess, flags) == offsetof(CUmemAccessDesc, flags));
static_assert(sizeof(LaunchAttribute) == sizeof(CUlaunchAttribute));
static_assert(offsetof(LaunchAttribute, value) == offsetof(CUlaunchAttribute, value));
static_assert(sizeof(LaunchConfig) == sizeof(CUlaunchConfig));
static_assert(offsetof(LaunchConfig, sharedBytes) == offsetof(CUlaunchConfig, sharedMemBytes));
static_assert(offsetof(LaunchConfig, stream) == offsetof(CUlaunchConfig, hStream));
static_assert(offsetof(LaunchConfig, attributes) == offsetof(CUlaunchConfig, attrs));
static_assert(offsetof(LaunchConfig, attributeCount) == offsetof(CUlaunchConfig, numAttrs));
JCCL_SAME_VALUE(kSyncDomain, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN);
JCCL_SAME_VALUE(kRemoteDomain, CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE);
static_assert(sizeof(MulticastProperties) == sizeof(CUmulticastObjectProp));
static_assert(offsetof(MulticastProperties, bytes) == offsetof(CUmulticastObjectProp, size));
static_assert(offsetof(MulticastProperties, handleTypes) == offsetof(CUmulticastObjectProp, handleTypes));
static_assert(sizeof(IpcHandle) == sizeof(CUipcMemHandle) && sizeof(Uuid) == sizeof(CUuuid));

TEST(DriverApi, HasTheNumbersAndLayoutsOfTheToolkit) { SUCCEED() << "CUDA_VERSION=" << CUDA_VERSION; }

}  // namespace
}  // namespace jccl::driver::driver_api_test
#else
TEST(DriverApi, HasTheNumbersAndLayoutsOfTheToolkit) { GTEST_SKIP() << "no cuda.h: install the CUDA toolkit"; }
#endif
