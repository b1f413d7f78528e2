// The part of NVIDIA's management library (NVML) that JCCL uses: numbers and layouts as its public interface fixes
// them. The library is opened at run time, so that neither the build nor a host without GPUs needs the library.
#pragma once

#include <cstddef>

namespace jccl::nvml {

struct DeviceOpaque;
using Device = DeviceOpaque*;

// nvmlReturn_t
using Return = int;
inline constexpr Return kSuccess = 0;
inline constexpr Return kInvalidArgument = 2;
inline constexpr Return kNotSupported = 3;

// nvmlIntNvLinkDeviceType_t: the type of device at the other end of an NVLink.
inline constexpr unsigned kRemoteUnknown = 0xff;

// nvmlNvLinkCapability_t
inline constexpr unsigned kCapabilityP2P = 0;

// nvmlGpuP2PCapsIndex_t. The answer is an nvmlGpuP2PStatus_t, of which 0 means that peer access is possible.
inline constexpr unsigned kP2PRead = 0;
inline constexpr unsigned kP2PWrite = 1;

// Fields of nvmlDeviceGetFieldValues. The scope of a field is the number of an NVLink or C2C link, from 0.
inline constexpr unsigned kFieldNvLinkCount = 91;
inline constexpr unsigned kFieldNvLinkState = 165;
inline constexpr unsigned kFieldC2cCount = 170;
inline constexpr unsigned kFieldC2cStatus = 171;
inline constexpr unsigned kFieldC2cMaxMBps = 172;

// nvmlPciInfo_t
struct PciInfo {
  char busIdLegacy[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned pciDeviceId;
  unsigned pciSubSystemId;
  char busId[32];
};
static_assert(sizeof(PciInfo) == 68 && offsetof(PciInfo, busId) == 36);

// nvmlFieldValue_t
struct FieldValue {
  unsigned fieldId;
  unsigned scopeId;
  long long timestamp;
  long long latencyMicros;
  unsigned valueType;
  Return result;
  union {
    double asDouble;
    unsigned asUnsigned;
    unsigned long long asUnsignedLong;
    long long asLong;
    int asInt;
  };
};
static_assert(sizeof(FieldValue) == 40 && offsetof(FieldValue, asUnsigned) == 32);

// Types of the functions that JCCL uses.
using InitFn = Return (*)();
using ShutdownFn = Return (*)();
using ErrorStringFn = const char* (*)(Return);
using CountFn = Return (*)(unsigned* count);
using HandleFn = Return (*)(unsigned index, Device* device);
using PciInfoFn = Return (*)(Device device, PciInfo* info);
using CapabilityFn = Return (*)(Device device, int* major, int* minor);
using MigModeFn = Return (*)(Device device, unsigned* current, unsigned* pending);
using LinkCapabilityFn = Return (*)(Device device, unsigned link, unsigned capability, unsigned* supported);
using LinkStateFn = Return (*)(Device device, unsigned link, unsigned* active);
using LinkRemotePciFn = Return (*)(Device device, unsigned link, PciInfo* info);
using LinkRemoteTypeFn = Return (*)(Device device, unsigned link, unsigned* type);
using P2PStatusFn = Return (*)(Device one, Device other, unsigned capability, unsigned* status);
using FieldValuesFn = Return (*)(Device device, int count, FieldValue* values);

}  // namespace jccl::nvml
