// The network as the proxies see it: messages in order over connections of any kind.
//
// Sockets implement it (net_socket.h); verbs and a fault injector for tests are further implementations. Nothing here
// blocks. All objects of one network are used under one lock (the progress engine's), never by two threads at a time.
//
//     Net ── listen ──> NetListener ── accept ──> NetRecvConnection
//      └──── connect ─────────────────────────────> NetSendConnection
//
// A connection carries messages in one direction. Sender and receiver number them from 0 by themselves; message N of
// one end is message N of the other. Up to kNetInFlight are in flight at each end. The receiver posts where message N
// may go, one buffer per tag, before or after it arrives; the sender says which tag it is.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/call_watch.h"
#include "base/status.h"
#include "transport/net_paths.h"

namespace jccl {

inline constexpr uint32_t kNetInFlight = 8;
inline constexpr uint32_t kNetTags = 3;

enum class NetPointer : uint8_t { Host = 1, Cuda = 2 };

// One adapter (or one interface) and what it can do.
struct NetDevice {
  std::string name;
  std::string pciPath;  // in sysfs; empty when it has none, as for lo
  std::string address;  // numeric, for messages and for binding
  uint64_t guid = 0;    // 0: none
  int port = 1;
  int speedMbps = 0;                                          // 0: not known
  uint32_t maxConnections = 0;                                // 0: no limit
  uint8_t pointers = static_cast<uint8_t>(NetPointer::Host);  // NetPointer bits it reaches; Cuda once tried
};

// Which connection this is. Both ends prove that they know the job's secret before either trusts its fields.
struct NetRoute {
  std::array<uint8_t, 16> communicator{};
  int from = -1;
  int to = -1;
  int channel = 0;
  int device = NetDeviceNumbers::kUnknown;  // of a sender that forwards for `from`: by which it leaves the host
};

// The header in front of the data.
struct NetMessage {
  uint8_t tag = 0;     // which of the posted buffers; < kNetTags
  uint32_t check = 0;  // passed through untouched
  uint32_t bytes = 0;

  bool operator==(const NetMessage&) const = default;
};

// A message that has come, and where its data is.
struct NetArrival {
  NetMessage message;
  void* data = nullptr;
};

// Memory made known to an adapter; released with the object. Sockets need none.
class NetMemory {
 public:
  virtual ~NetMemory() = default;
};

// Memory of a GPU in which connections keep the data of slots: data bypasses the CPU (GPUDirect RDMA).
struct NetDeviceMemory {
  void* address = nullptr;
  size_t bytes = 0;
  int descriptor = -1;  // of all of it, as a dma-buf; stays its owner's. -1: the driver makes none
};

// What the network does with memory: memory that the process may only read can be sent from.
enum class NetAccess : uint8_t { Read, Write };

struct NetBuffer {
  void* address = nullptr;
  uint32_t bytes = 0;  // to send, or that can be received
  NetMemory* memory = nullptr;
  bool awaitsAddress = false;  // sent: the receiver is about to post an address, which is worth waiting for
  bool hasTail = false;        // kSlotTailBytes behind it are the network's, as behind a slot
};

class NetConnection {
 public:
  virtual ~NetConnection() = default;

  // Moves what can move. Adds to *work how many things moved. An error is final for the connection: its text names both
  // ends, the failed call, errno and a hint.
  virtual Status progress(int64_t nowNanos, int* work) = 0;

  // When progress() must be called again even if nothing happens; INT64_MAX: never.
  virtual int64_t nextDeadlineNanos() const { return INT64_MAX; }

  // Whether buffers in this memory can be used here; registers it where that has not been done.
  virtual Status reach(NetMemory& /*memory*/) { return Status::ok(); }

  // After a failure: touches no buffer any more, and sends the other end nothing. Nothing else is called afterwards.
  virtual void revoke() {}

  // Before close, where both ends are about to: progress() ends what is in flight and carries nothing, such as receives that
  // were posted ahead. Whether that is done, or the other end no longer takes part.
  virtual void drain() {}
  virtual bool drained() const { return true; }

  // Sends a FIN, so that the other end does not take the silence for a death. Data already taken is still delivered.
  virtual void close() = 0;

  // Where a call of it never returns, and it is left behind: the other end is informed that no more comes. Touches nothing that
  // the call may use.
  virtual void abandon() {}

  // "rank 3 at 10.0.0.4:4711 from 10.0.0.3:4242"
  virtual std::string describe() const = 0;
};

class NetSendConnection : public NetConnection {
 public:
  // True once the other end has been proven and answered. Sends may be posted before.
  virtual bool connected() const = 0;

  // Posts message `sequence`, which must be the next one, and less than kNetInFlight ahead of the first not yet done.
  // The data stays untouched until test() says done.
  virtual Status isend(uint64_t sequence, const NetMessage& message, const NetBuffer& data) = 0;

  // Is the buffer free for reuse? Never true before the data has left it.
  virtual Status test(uint64_t sequence, bool* done) = 0;
};

class NetRecvConnection : public NetConnection {
 public:
  // Posts where message `sequence` (the next one) goes: byTag[t] takes it if its tag is t.
  virtual Status irecv(uint64_t sequence, std::span<const NetBuffer, kNetTags> byTag) = 0;

  // Posts an address for message `sequence`, already posted: if it is exactly `expected`, its data may go to `buffer` instead.
  // It has no effect once the data has begun to come. A buffer that must be registered and is not posts nothing, and a sender
  // that awaits an address is notified.
  virtual void redirect(uint64_t sequence, const NetMessage& expected, const NetBuffer& buffer) = 0;

  // Has it arrived whole? Then *arrival says what and where it is.
  virtual Status test(uint64_t sequence, bool* done, NetArrival* arrival) = 0;

  // Did data come a moment ago? Then progress() polls for more a few times before it relies on events.
  virtual bool expecting() const { return false; }

  // Makes the data of message `sequence`, which has arrived in memory of a device, visible to that device: begins it, and
  // flushed() says when that is so. A device learns from the host's memory that data has come, and that write could
  // overtake the data. Memory of the host needs nothing, and connections that reach no other refuse.
  virtual Status flush(uint64_t sequence, const NetBuffer& data);
  virtual Status flushed(uint64_t sequence, bool* done);
};

class NetListener {
 public:
  virtual ~NetListener() = default;

  // What a peer needs to connect: opaque, at most kMaxInfoBytes.
  static constexpr size_t kMaxInfoBytes = 512;
  virtual const std::vector<uint8_t>& info() const = 0;

  // Works on handshakes; unauthenticated peers are dropped after a short time and hold nothing up.
  virtual int progress(int64_t nowNanos) = 0;

  // The next connection whose peer has proven itself, or none (*connection stays null).
  virtual Status accept(NetRoute* route, std::unique_ptr<NetRecvConnection>* connection) = 0;

  // When progress() must be called again even if nothing happens; INT64_MAX: never.
  virtual int64_t nextDeadlineNanos() const = 0;
};

class Net {
 public:
  virtual ~Net() = default;

  virtual const char* name() const = 0;
  virtual const std::vector<NetDevice>& devices() const = 0;

  virtual Status listen(const std::vector<std::string>& addresses, std::unique_ptr<NetListener>* listener) = 0;

  // Starts a connection and returns at once; the rest happens in progress().
  virtual Status connect(const NetRoute& route, std::span<const uint8_t> listenerInfo,
                         std::unique_ptr<NetSendConnection>* connection) = 0;

  // The devices of connections that are made or accepted from now on.
  virtual void setPaths(const NetPaths&) {}

  // Ok, or why `listenerInfo` cannot be reached from here (no address of a common family, for instance). No traffic.
  virtual Status reachable(std::span<const uint8_t> listenerInfo) const = 0;

  // Do its event sets report everything that progress() waits for? Else it is polled.
  virtual bool hasEvents() const { return true; }

  // Where its calls may block, whatever they should do, the watch over them; otherwise null.
  virtual CallWatch* watch() { return nullptr; }

  // No connection is left, and none will be made.
  virtual void close() {}

  // Must memory be registered before it is sent from or received into? Then short-lived zero-copy buffers are better copied.
  virtual bool needsRegisteredMemory() const { return false; }

  virtual Status registerMemory(void* address, size_t bytes, NetAccess access, std::unique_ptr<NetMemory>* memory) = 0;

  // The same for memory of a GPU, with the adapters of these numbers in the plan, so that it is known whether they reach it.
  virtual Status registerDeviceMemory(const NetDeviceMemory& what, const std::set<int>& adapters,
                                      std::unique_ptr<NetMemory>* memory);
};

}  // namespace jccl
