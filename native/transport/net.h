// Interface of the networks that the proxies use: connections that carry messages in order.
//
// Implementations: sockets (net_socket.h), verbs (net_ib.h), network plug-ins (net_plugin.h) and a fault injector for
// tests. No method should block, but calls of plug-ins can (see Net::watch). All objects of one network are used under
// the progress engine's lock, never by two threads at once.
//
//     Net ── listen ──> NetListener ── accept ──> NetRecvConnection
//      └──── connect ─────────────────────────────> NetSendConnection
//
// A connection carries messages in one direction. Each end numbers its messages from 0; message N of one end is message
// N of the other. At most kNetInFlight messages are in flight at each end. The receiver posts the buffers of message N,
// one for each tag, before or after the message arrives. The sender chooses the tag.
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

// An adapter or a network interface, and its abilities.
struct NetDevice {
  std::string name;
  std::string pciPath;  // path in sysfs; empty if there is none, as for lo
  std::string address;  // numeric IP address, for log texts and for bind()
  uint64_t guid = 0;    // 0: the device has none
  int port = 1;
  int speedMbps = 0;            // 0: unknown
  uint32_t maxConnections = 0;  // 0: no limit
  // NetPointer bits: the kinds of memory that the device can access; registerDeviceMemory adds Cuda
  uint8_t pointers = static_cast<uint8_t>(NetPointer::Host);
};

// Identifies a connection. Each end proves that it knows the job's secret before the other end trusts these fields.
struct NetRoute {
  std::array<uint8_t, 16> communicator{};
  int from = -1;
  int to = -1;
  int channel = 0;
  // the network device to use if another rank makes the connection on behalf of `from`
  int device = NetDeviceNumbers::kUnknown;
};

// Header that precedes the data of a message.
struct NetMessage {
  uint8_t tag = 0;     // selects one of the posted buffers; < kNetTags
  uint32_t check = 0;  // a value of the sender that the network does not interpret
  uint32_t bytes = 0;

  bool operator==(const NetMessage&) const = default;
};

// A message that has arrived, and the address of its data.
struct NetArrival {
  NetMessage message;
  void* data = nullptr;
};

// Memory that is registered with an adapter until this object is destroyed. Sockets need no registration.
class NetMemory {
 public:
  virtual ~NetMemory() = default;
};

// GPU memory in which connections keep the data of slots, so that the data bypasses the CPU (GPUDirect RDMA).
struct NetDeviceMemory {
  void* address = nullptr;
  size_t bytes = 0;
  int descriptor = -1;  // dma-buf of the whole memory, still owned by the caller; -1: the driver cannot export one
};

// How the network accesses memory. Read suffices for sending, and works for memory that the process cannot write.
enum class NetAccess : uint8_t { Read, Write };

// Memory that the receiver has exposed (NetRecvConnection::expose), as the sender names it; address 0 stands for none.
struct NetExposed {
  uint64_t address = 0;
  uint32_t key = 0;
};

struct NetBuffer {
  void* address = nullptr;
  uint32_t bytes = 0;  // bytes to send, or the most that can be received
  NetMemory* memory = nullptr;
  bool awaitsAddress = false;  // for sends: the receiver will soon post an address, so the send should wait for it
  bool hasTail = false;        // the network may use the kSlotTailBytes after the buffer, as after a slot
  NetExposed exposed = {};     // for sends: where the data goes instead of a posted buffer
};

class NetConnection {
 public:
  virtual ~NetConnection() = default;

  // Moves data without waiting and adds the amount of work done to *work. An error is final for the connection: its
  // text names both ends, the failed call, errno and a hint.
  virtual Status progress(int64_t nowNanos, int* work) = 0;

  // Returns the time by which progress() must be called again even if nothing happens; INT64_MAX: no such time.
  virtual int64_t nextDeadlineNanos() const { return INT64_MAX; }

  // Registers `memory` for this connection if that has not been done. An error means that the connection cannot use
  // buffers in it.
  virtual Status reach(NetMemory& /*memory*/) { return Status::ok(); }

  // Called after a failure: the connection stops using all buffers and sends the other end nothing. No method is called
  // afterwards.
  virtual void revoke() {}

  // Called before close() if both ends are about to close. From then on progress() carries no messages. It only ends
  // requests that are in flight, such as receives that were posted ahead. drained() returns true once these have ended
  // or the other end no longer takes part.
  virtual void drain() {}
  virtual bool drained() const { return true; }

  // Closes the connection. Sends a FIN, so that the other end does not take the end of the connection for the death of
  // the process. Data that the network has accepted is still delivered.
  virtual void close() = 0;

  // Gives up a connection of which a call never returns. Informs the other end that no more data comes, and touches
  // nothing that the call may use.
  virtual void abandon() {}

  // Returns both ends, for example "rank 3 at 10.0.0.4:4711 from 10.0.0.3:4242".
  virtual std::string describe() const = 0;
};

class NetSendConnection : public NetConnection {
 public:
  // Returns true once the other end is authenticated and has answered. Sends may be posted earlier.
  virtual bool connected() const = 0;

  // Posts message `sequence`, which must be the next one and less than kNetInFlight ahead of the first unfinished one.
  // The data must stay unchanged until test() reports that the send is done.
  virtual Status isend(uint64_t sequence, const NetMessage& message, const NetBuffer& data) = 0;

  // Sets *done to true if the buffer can be reused. *done never becomes true before the data has left the buffer.
  virtual Status test(uint64_t sequence, bool* done) = 0;
};

class NetRecvConnection : public NetConnection {
 public:
  // Posts the buffers of message `sequence`, which must be the next one: a message with tag t goes to byTag[t].
  virtual Status irecv(uint64_t sequence, std::span<const NetBuffer, kNetTags> byTag) = 0;

  // Posts an address for message `sequence`, which is already posted. If the message is exactly `expected`, its data
  // may go to `buffer` instead. The call has no effect once data has begun to arrive. If `buffer` needs a registration
  // and has none, no address is posted, and a sender that waits for one is notified.
  virtual void redirect(uint64_t sequence, const NetMessage& expected, const NetBuffer& buffer) = 0;

  // Sets *done to true if the whole message has arrived, and then *arrival to the message and the address of its data,
  // which is null if the data went to exposed memory.
  virtual Status test(uint64_t sequence, bool* done, NetArrival* arrival) = 0;

  // Returns true if data arrived a moment ago. progress() then polls for more a few times before it relies on events.
  virtual bool expecting() const { return false; }

  // Begins to make the data of message `sequence`, which has arrived in device memory, visible to that device;
  // flushed() reports the end. A device learns from a write to host memory that data has arrived, and that write could
  // overtake the data. Host memory needs no flush; connections that can access only host memory return an error.
  virtual Status flush(uint64_t sequence, const NetBuffer& data);
  virtual Status flushed(uint64_t sequence, bool* done);

  // Allows the other end to write into registered memory, and sets *key to its name for this connection. Only networks
  // whose adapters write into memory of the receiver can do this; others return an error.
  virtual Status expose(NetMemory& memory, uint32_t* key);
};

class NetListener {
 public:
  virtual ~NetListener() = default;

  // Returns the information that a peer needs to connect: opaque, at most kMaxInfoBytes.
  static constexpr size_t kMaxInfoBytes = 512;
  virtual const std::vector<uint8_t>& info() const = 0;

  // Advances handshakes. Unauthenticated peers are dropped after a short time and delay nobody.
  virtual int progress(int64_t nowNanos) = 0;

  // Sets *connection to the next authenticated connection; leaves it null if there is none.
  virtual Status accept(NetRoute* route, std::unique_ptr<NetRecvConnection>* connection) = 0;

  // Returns the time by which progress() must be called again even if nothing happens; INT64_MAX: no such time.
  virtual int64_t nextDeadlineNanos() const = 0;
};

class Net {
 public:
  virtual ~Net() = default;

  virtual const char* name() const = 0;
  virtual const std::vector<NetDevice>& devices() const = 0;

  virtual Status listen(const std::vector<std::string>& addresses, std::unique_ptr<NetListener>* listener) = 0;

  // Begins a connection and returns at once. The connection's progress() does the rest.
  virtual Status connect(const NetRoute& route, std::span<const uint8_t> listenerInfo,
                         std::unique_ptr<NetSendConnection>* connection) = 0;

  // Sets the devices for connections that are made or accepted from now on.
  virtual void setPaths(const NetPaths&) {}

  // Returns ok, or why a listener with this info cannot be reached, for instance for lack of a common address family.
  // Causes no traffic.
  virtual Status reachable(std::span<const uint8_t> listenerInfo) const = 0;

  // Returns true if the event sets report everything that progress() waits for. Otherwise the network must be polled.
  virtual bool hasEvents() const { return true; }

  // Returns the watch over the calls that can block although they must not; null if no call can block.
  virtual CallWatch* watch() { return nullptr; }

  // Called when no connection is left and none will be made.
  virtual void close() {}

  // Returns true if memory must be registered before it is sent or received into. It then pays to copy short-lived
  // buffers instead of sending them zero-copy.
  virtual bool needsRegisteredMemory() const { return false; }

  virtual Status registerMemory(void* address, size_t bytes, NetAccess access, std::unique_ptr<NetMemory>* memory) = 0;

  // Registers GPU memory with the adapters that have these numbers in the plan. The registration shows whether the
  // adapters can access the memory.
  virtual Status registerDeviceMemory(const NetDeviceMemory& what, const std::set<int>& adapters,
                                      std::unique_ptr<NetMemory>* memory);
};

}  // namespace jccl
