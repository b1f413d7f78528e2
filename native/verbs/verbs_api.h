// The part of libibverbs that JCCL uses: numbers and layouts as its public interface fixes them (version IBVERBS_1.1,
// unchanged since 2007). The library is opened at run time, and a build needs none of its headers, so every build can
// use InfiniBand. A test compares all of this with <infiniband/verbs.h> where that is installed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace jccl::verbs {

// Types whose contents only the library reads.
struct Device;
struct SharedReceiveQueue;

using Return = int;  // 0, or an errno

enum class LinkLayer : uint8_t { Unspecified = 0, InfiniBand = 1, Ethernet = 2 };

// ibv_port_state
inline constexpr int kPortActive = 4;

// ibv_access_flags
inline constexpr int kAccessLocalWrite = 1;
inline constexpr int kAccessRemoteWrite = 1 << 1;
inline constexpr int kAccessRemoteRead = 1 << 2;
inline constexpr int kAccessRelaxedOrdering = 1 << 20;

// ibv_qp_type
inline constexpr int kQpReliableConnected = 2;

// ibv_qp_state
enum class QpState : int { Reset = 0, Init = 1, ReadyToReceive = 2, ReadyToSend = 3, Error = 6 };

// ibv_qp_attr_mask
inline constexpr int kQpState = 1 << 0;
inline constexpr int kQpAccessFlags = 1 << 3;
inline constexpr int kQpPkeyIndex = 1 << 4;
inline constexpr int kQpPort = 1 << 5;
inline constexpr int kQpAddressVector = 1 << 7;
inline constexpr int kQpPathMtu = 1 << 8;
inline constexpr int kQpTimeout = 1 << 9;
inline constexpr int kQpRetryCount = 1 << 10;
inline constexpr int kQpRnrRetry = 1 << 11;
inline constexpr int kQpReceivePsn = 1 << 12;
inline constexpr int kQpMaxReadAtomic = 1 << 13;
inline constexpr int kQpMinRnrTimer = 1 << 15;
inline constexpr int kQpSendPsn = 1 << 16;
inline constexpr int kQpMaxDestReadAtomic = 1 << 17;
inline constexpr int kQpDestination = 1 << 20;

// ibv_wr_opcode
inline constexpr int kWrRdmaWrite = 0;
inline constexpr int kWrRdmaWriteWithImm = 1;
inline constexpr int kWrRdmaRead = 4;

// ibv_send_flags
inline constexpr unsigned kSendSignaled = 1 << 1;
inline constexpr unsigned kSendInline = 1 << 3;

// ibv_wc_opcode
inline constexpr int kWcRdmaWrite = 1;
inline constexpr int kWcRecvRdmaWithImm = 129;

// ibv_wc_status
inline constexpr int kWcSuccess = 0;
inline constexpr int kWcWrFlushError = 5;
inline constexpr int kWcRemoteAccessError = 10;
inline constexpr int kWcRetryExceeded = 12;
inline constexpr int kWcRnrRetryExceeded = 13;

// ibv_event_type
inline constexpr int kEventCqError = 0;
inline constexpr int kEventQpFatal = 1;
inline constexpr int kEventQpRequestError = 2;
inline constexpr int kEventQpAccessError = 3;
inline constexpr int kEventDeviceFatal = 8;
inline constexpr int kEventPortActive = 9;
inline constexpr int kEventPortError = 10;
inline constexpr int kEventGidChange = 18;

// Packet sequence numbers have 24 bits.
inline constexpr uint32_t kMaxPsn = (1U << 24) - 1;

// ibv_mtu: 1 is 256 bytes, 5 is 4096
inline constexpr int kMinMtu = 1;
inline constexpr int kMaxMtu = 5;
constexpr int mtuBytes(int mtu) { return 128 << mtu; }

union Gid {
  uint8_t raw[16];
  uint64_t halves[2];  // big-endian: subnet prefix, interface id
};

struct Context;
struct CompletionQueue;
struct QueuePair;
struct SendRequest;
struct ReceiveRequest;
struct WorkCompletion;

// ibv_context_ops: JCCL calls four of its 32 functions directly, as the library's own inline functions do.
struct ContextOps {
  void* before[11];
  int (*pollCq)(CompletionQueue* cq, int max, WorkCompletion* completions);
  int (*requestNotify)(CompletionQueue* cq, int solicitedOnly);
  void* between[12];
  int (*postSend)(QueuePair* qp, SendRequest* requests, SendRequest** bad);
  int (*postReceive)(QueuePair* qp, ReceiveRequest* requests, ReceiveRequest** bad);
  void* after[5];
};

struct Context {
  Device* device;
  ContextOps ops;
  int commandFd;
  int asyncFd;
  int completionVectors;
};

struct ProtectionDomain {
  Context* context;
  uint32_t handle;
};

struct MemoryRegion {
  Context* context;
  ProtectionDomain* pd;
  void* address;
  size_t bytes;
  uint32_t handle;
  uint32_t lkey;
  uint32_t rkey;
};

struct CompletionChannel {
  Context* context;
  int fd;
  int references;
};

struct CompletionQueue {
  Context* context;
  CompletionChannel* channel;
  void* cookie;
  uint32_t handle;
  int entries;
};

struct QueuePair {
  Context* context;
  void* cookie;
  ProtectionDomain* pd;
  CompletionQueue* sendCq;
  CompletionQueue* receiveCq;
  SharedReceiveQueue* srq;
  uint32_t handle;
  uint32_t number;
  int state;
  int type;
};

struct WorkCompletion {
  uint64_t id;
  int status;
  int opcode;
  uint32_t vendorError;
  uint32_t bytes;
  uint32_t immediate;  // network byte order
  uint32_t qpNumber;
  uint32_t sourceQp;
  unsigned flags;
  uint16_t pkeyIndex;
  uint16_t sourceLid;
  uint8_t serviceLevel;
  uint8_t pathBits;
};

struct ScatterGather {
  uint64_t address;
  uint32_t bytes;
  uint32_t lkey;
};

struct RemoteMemory {
  uint64_t address;
  uint32_t rkey;
};

struct SendRequest {
  uint64_t id;
  SendRequest* next;
  ScatterGather* list;
  int listLength;
  int opcode;
  unsigned flags;
  uint32_t immediate;  // network byte order
  union {
    RemoteMemory rdma;
    uint64_t widest[4];
  };
  uint64_t extended[7];  // used by other kinds of queue pairs
};

struct ReceiveRequest {
  uint64_t id;
  ReceiveRequest* next;
  ScatterGather* list;
  int listLength;
};

struct GlobalRoute {
  Gid destination;
  uint32_t flowLabel;
  uint8_t sourceGidIndex;
  uint8_t hopLimit;
  uint8_t trafficClass;
};

struct AddressHandle {
  GlobalRoute route;
  uint16_t destinationLid;
  uint8_t serviceLevel;
  uint8_t pathBits;
  uint8_t staticRate;
  uint8_t isGlobal;
  uint8_t port;
};

struct QpCapabilities {
  uint32_t sendRequests;
  uint32_t receiveRequests;
  uint32_t maxSendGather;
  uint32_t maxReceiveScatter;
  uint32_t inlineBytes;
};

struct QpInit {
  void* cookie;
  CompletionQueue* sendCq;
  CompletionQueue* receiveCq;
  SharedReceiveQueue* srq;
  QpCapabilities capabilities;
  int type;
  int signalsAll;
};

struct QpAttributes {
  int state;
  int currentState;
  int pathMtu;
  int migrationState;
  uint32_t qkey;
  uint32_t receivePsn;
  uint32_t sendPsn;
  uint32_t destination;
  unsigned accessFlags;
  QpCapabilities capabilities;
  AddressHandle address;
  AddressHandle alternate;
  uint16_t pkeyIndex;
  uint16_t alternatePkeyIndex;
  uint8_t drainNotify;
  uint8_t draining;
  uint8_t maxReadAtomic;
  uint8_t maxDestReadAtomic;
  uint8_t minRnrTimer;
  uint8_t port;
  uint8_t timeout;
  uint8_t retryCount;
  uint8_t rnrRetry;
  uint8_t alternatePort;
  uint8_t alternateTimeout;
  uint32_t rateLimit;
};

struct PortAttributes {
  int state;
  int maxMtu;
  int activeMtu;
  int gidTableLength;
  uint32_t capabilities;
  uint32_t maxMessageBytes;
  uint32_t badPkeyCounter;
  uint32_t qkeyViolations;
  uint16_t pkeyTableLength;
  uint16_t lid;
  uint16_t subnetManagerLid;
  uint8_t lmc;
  uint8_t maxVirtualLanes;
  uint8_t subnetManagerSl;
  uint8_t subnetTimeout;
  uint8_t initTypeReply;
  uint8_t activeWidth;
  uint8_t activeSpeed;
  uint8_t physicalState;
  LinkLayer linkLayer;
  uint8_t flags;
  uint16_t capabilities2;
};

struct DeviceAttributes {
  char firmware[64];
  uint64_t nodeGuid;         // big-endian
  uint64_t systemImageGuid;  // big-endian
  uint64_t maxRegionBytes;
  uint64_t pageSizes;
  uint32_t vendor;
  uint32_t part;
  uint32_t hardware;
  int maxQueuePairs;
  int maxRequests;
  unsigned capabilities;
  int rest[26];
  uint16_t maxPkeys;
  uint8_t ackDelay;
  uint8_t ports;
};

struct AsyncEvent {
  union {
    void* object;
    int port;
  };
  int type;
};

// Types of the library's functions.
using GetDeviceListFn = Device** (*)(int* count);
using FreeDeviceListFn = void (*)(Device** list);
using GetDeviceNameFn = const char* (*)(Device* device);
using OpenDeviceFn = Context* (*)(Device* device);
using CloseDeviceFn = Return (*)(Context* context);
using QueryDeviceFn = Return (*)(Context* context, DeviceAttributes* attributes);
using QueryPortFn = Return (*)(Context* context, uint8_t port, PortAttributes* attributes);
using QueryGidFn = Return (*)(Context* context, uint8_t port, int index, Gid* gid);
using QueryPkeyFn = Return (*)(Context* context, uint8_t port, int index, uint16_t* pkey);
using AllocPdFn = ProtectionDomain* (*)(Context* context);
using DeallocPdFn = Return (*)(ProtectionDomain* pd);
using RegMrFn = MemoryRegion* (*)(ProtectionDomain* pd, void* address, size_t bytes, int access);
using RegMrIova2Fn = MemoryRegion* (*)(ProtectionDomain* pd, void* address, size_t bytes, uint64_t iova,
                                       unsigned access);
using RegDmabufMrFn = MemoryRegion* (*)(ProtectionDomain* pd, uint64_t offset, size_t bytes, uint64_t iova,
                                        int descriptor, int access);
using DeregMrFn = Return (*)(MemoryRegion* region);
using CreateChannelFn = CompletionChannel* (*)(Context* context);
using DestroyChannelFn = Return (*)(CompletionChannel* channel);
using CreateCqFn = CompletionQueue* (*)(Context* context, int entries, void* cookie, CompletionChannel* channel,
                                        int vector);
using DestroyCqFn = Return (*)(CompletionQueue* cq);
using GetCqEventFn = Return (*)(CompletionChannel* channel, CompletionQueue** cq, void** cookie);
using AckCqEventsFn = void (*)(CompletionQueue* cq, unsigned count);
using CreateQpFn = QueuePair* (*)(ProtectionDomain* pd, QpInit* init);
using ModifyQpFn = Return (*)(QueuePair* qp, QpAttributes* attributes, int mask);
using QueryQpFn = Return (*)(QueuePair* qp, QpAttributes* attributes, int mask, QpInit* init);
using DestroyQpFn = Return (*)(QueuePair* qp);
using GetAsyncEventFn = Return (*)(Context* context, AsyncEvent* event);
using AckAsyncEventFn = void (*)(AsyncEvent* event);
using StatusTextFn = const char* (*)(int status);
using EventTextFn = const char* (*)(int event);
using ForkInitFn = Return (*)();

}  // namespace jccl::verbs
