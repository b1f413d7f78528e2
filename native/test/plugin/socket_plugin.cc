// A network plug-in over TCP, for tests. Implements the interface of NCCL's plug-ins like any other plug-in. This file
// has a table for each version of the interface; each test library exports that of one version. The plug-in refuses
// buffers outside the memory that was registered with their communicator.
// With JCCL_TEST_PLUGIN_GPUS=cuda or dmabuf the plug-in can use memory of emulated GPUs, registered by its address or
// as a DMA-BUF. Received data becomes visible in GPU memory when it is flushed. faults.h lists the faults that tests
// can inject.
#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "plugin/net_abi.h"
#include "test/plugin/faults.h"

namespace jccl::plugin {
namespace {

constexpr Result kSystemError = 2;
constexpr Result kInternalError = 3;
constexpr Result kInvalidArgument = 4;
constexpr Result kRemoteError = 6;
constexpr size_t kMaxRequests = 32;
constexpr size_t kMaxRequestsOfV6 = 8;
constexpr size_t kMaxMessageBytes = size_t{1} << 30;
// Socket buffers are so small that sent data stays in the cache until it is received.
constexpr int kSendBufferBytes = 256 * 1024;

struct Comm;

enum class Kind : uint8_t { Message, Flush };

struct Request {
  Comm* comm = nullptr;  // null if this request is free
  Kind kind = Kind::Message;
  uint8_t* data = nullptr;
  uint64_t bytes = 0;  // message size; of a receive, the buffer's capacity until the header arrives
  uint64_t header = 0;
  size_t moved = 0;  // number of bytes, header included
  bool done = false;
};

struct Region {
  Comm* comm;
  uintptr_t begin;
  uintptr_t end;
  int type;  // kind of memory: kPointerHost or kPointerCuda
};

struct Comm {
  Comm(int socket, bool sends) : socket(socket), sends(sends) {
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ::setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &kSendBufferBytes, sizeof kSendBufferBytes);
  }
  ~Comm() { ::close(socket); }

  const int socket;
  const bool sends;
  std::array<Request, kMaxRequests> requests;
  std::deque<Request*> queue;
  uint64_t nextHeader = 0;     // header of the message after the first request's
  size_t nextHeaderBytes = 0;  // bytes of nextHeader that arrived together with the first request's data
  bool full = false;           // true while the kernel's send buffer is full
  uint64_t messages = 0;
  int regions = 0;
  std::map<void*, std::vector<uint8_t>> unflushed;  // received data, by its address in GPU memory
};

// Contents of a handle: the address of the listener, and the number of a connection that is being made (0 if none).
struct Handle {
  uint64_t magic;
  sockaddr_in address;
  uint64_t connection;
};
static_assert(sizeof(Handle) <= kHandleBytes);
constexpr uint64_t kMagic = 0x706c7567696e;

std::atomic<Logger> logger{nullptr};  // set when a communicator is initialised
// largest number of requests in flight of a Comm; depends on the interface's version
std::atomic<size_t> maxRequests{kMaxRequests};

// calls of isend, irecv and test since jccl_test_plugin_counts was called
std::array<std::atomic<uint64_t>, 3> counts{};

std::atomic<uint64_t> calls{0};
// Returns false for one of `n` calls, chosen pseudo-randomly. If every n-th call were refused, a caller that polls its
// requests in turn might find the same request refused each time.
bool allButOneOf(uint64_t n) {
  const uint64_t drawn = (calls.fetch_add(1, std::memory_order_relaxed) + 1) * 0x9e3779b97f4a7c15U;
  return ((drawn ^ drawn >> 29) * 0xbf58476d1ce4e5b9U >> 33) % n != 0;
}

Result fail(Result result, const char* what) {
  if (const Logger log = logger; log != nullptr)
    log(kLogWarn, ~0UL, __FILE__, __LINE__, "NET/Test : %s: %s", what, std::strerror(errno));
  return result;
}

// Returns the first IPv4 address of this host that is not the loopback's, or else the loopback's.
in_addr ownAddress() {
  in_addr found{htonl(INADDR_LOOPBACK)};
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return found;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    if ((one->ifa_flags & IFF_LOOPBACK) != 0 || (one->ifa_flags & IFF_UP) == 0) continue;
    found = reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr;
    break;
  }
  ::freeifaddrs(all);
  return found;
}

__attribute__((constructor)) void loaded() { Faults::load(); }

template <int Version>
Result begin(Logger log) {
  logger = log;
  maxRequests = Version == 6 ? kMaxRequestsOfV6 : kMaxRequests;
  Faults::read();
  if (!Faults::enter("init")) return kInternalError;
  log(kLogInfo, ~0UL, __FILE__, __LINE__, "NET/Test : version %d", Version);
  return kSuccess;
}

// The sockets of connections that are being made. No function of the interface cancels `connect`, so a thread closes the
// sockets of calls that nobody has repeated for some time. Otherwise a check for leaks would count them.
class PendingConnections {
 public:
  ~PendingConnections() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_one();
    if (thread_.joinable()) thread_.join();
  }

  // Returns the number of the connection.
  uint64_t add(int socket) {
    const std::lock_guard lock(mutex_);
    sockets_[++last_] = {socket, Clock::now()};
    if (thread_.joinable() && !running_) thread_.join();
    if (!std::exchange(running_, true)) thread_ = std::thread([this] { closeAbandoned(); });
    return last_;
  }

  // Returns the socket, which is the caller's from now on; -1 if it was closed.
  int take(uint64_t number) {
    const std::lock_guard lock(mutex_);
    const auto found = sockets_.find(number);
    if (found == sockets_.end()) return -1;
    const int socket = found->second.socket;
    sockets_.erase(found);
    return socket;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kAbandoned{3};

  struct Pending {
    int socket;
    Clock::time_point calledAt;
  };

  void closeAbandoned() {
    std::unique_lock lock(mutex_);
    while (!sockets_.empty() && !stopping_) {
      changed_.wait_for(lock, kAbandoned / 4);
      for (auto one = sockets_.begin(); one != sockets_.end();) {
        const bool abandoned = Clock::now() - one->second.calledAt > kAbandoned;
        if (abandoned) ::close(one->second.socket);
        one = abandoned ? sockets_.erase(one) : std::next(one);
      }
    }
    running_ = false;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<uint64_t, Pending> sockets_;  // by the number of the connection
  uint64_t last_ = 0;
  std::thread thread_;
  bool running_ = false, stopping_ = false;
};

PendingConnections pendingConnections;

// Returns how memory of GPUs is registered: "cuda" or "dmabuf"; empty if the plug-in does not support it.
std::string gpus() {
  const char* way = std::getenv("JCCL_TEST_PLUGIN_GPUS");  // NOLINT(concurrency-mt-unsafe): set before
  return way == nullptr ? "" : way;
}

Result devices(int* count) {
  Faults::read();
  if (!Faults::enter("devices")) return kInternalError;
  *count = Faults::has("properties", "nodevices") ? 0 : Faults::has("properties", "devices") ? INT_MAX : 1;
  return kSuccess;
}

template <int Version>
Result getProperties(int device, Properties<Version>* properties) {
  if (device != 0) return kInvalidArgument;
  if (!Faults::enter("getProperties")) return kInternalError;
  static char name[] = "test0";
  std::memset(static_cast<void*>(properties), 0, sizeof *properties);
  auto& common = [properties]() -> auto& {
    if constexpr (Version >= 11) {
      return properties->common;
    } else {
      return *properties;
    }
  }
  ();
  common.name = name;
  common.guid = 1;
  common.pointers = kPointerHost;
  if (!gpus().empty()) common.pointers |= kPointerCuda;
  if (gpus() == "dmabuf") common.pointers |= kPointerDmaBuf;
  common.speed = 10'000;
  common.port = 1;
  common.maxComms = 65'536;
  common.maxRecvs = 1;
  if constexpr (Version >= 9) common.maxMessageBytes = common.maxCollectiveBytes = kMaxMessageBytes;
  if (Faults::has("properties", "noname")) common.name = nullptr;
  if (Faults::has("properties", "speed")) common.speed = -1;
  if (Faults::has("properties", "maxcomms")) common.maxComms = -5;
  if (Faults::has("properties", "maxrecvs")) common.maxRecvs = INT_MAX;
  if (Faults::has("properties", "latency")) common.latency = std::numeric_limits<float>::quiet_NaN();
  if constexpr (Version >= 9) {
    if (Faults::has("properties", "maxbytes")) common.maxMessageBytes = 0;
  }
  return kSuccess;
}

Result listenAt(void* rawHandle, void** listenComm) {
  if (!Faults::enter("listen")) return kInternalError;
  if (Faults::has("nocomm")) return kSuccess;
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) return fail(kSystemError, "socket");
  Handle handle{};
  handle.magic = kMagic;
  handle.address.sin_family = AF_INET;
  handle.address.sin_addr = ownAddress();
  auto* address = reinterpret_cast<sockaddr*>(&handle.address);
  socklen_t bytes = sizeof handle.address;
  if (::bind(socket, address, bytes) != 0 || ::listen(socket, 1) != 0 || ::getsockname(socket, address, &bytes) != 0) {
    ::close(socket);
    return fail(kSystemError, "listen");
  }
  std::memcpy(rawHandle, &handle, sizeof handle);
  if (Faults::has("handle")) std::memset(rawHandle, 0xFF, kHandleBytes);
  *listenComm = new int(socket);
  return kSuccess;
}

Result connectTo(void* rawHandle, void** sendComm) {
  Handle handle;
  std::memcpy(&handle, rawHandle, sizeof handle);
  *sendComm = nullptr;
  if (!Faults::enter("connect")) return kInternalError;
  if (Faults::has("never", "connect")) return kSuccess;
  if (handle.magic != kMagic) return kInvalidArgument;
  if (Faults::has("late") && allButOneOf(3)) return kSuccess;
  int socket = handle.connection == 0 ? -1 : pendingConnections.take(handle.connection);
  if (socket < 0) {
    socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (socket < 0) return fail(kSystemError, "socket");
    const auto* address = reinterpret_cast<const sockaddr*>(&handle.address);
    if (::connect(socket, address, sizeof handle.address) != 0 && errno != EINPROGRESS) {
      ::close(socket);
      return fail(kRemoteError, "connect");
    }
  }
  pollfd waited{socket, POLLOUT, 0};
  if (::poll(&waited, 1, 0) == 0) {
    handle.connection = pendingConnections.add(socket);
    std::memcpy(rawHandle, &handle, sizeof handle);
    return kSuccess;
  }
  int error = 0;
  socklen_t bytes = sizeof error;
  ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &bytes);
  if (error != 0) {
    ::close(socket);
    errno = error;
    return fail(kRemoteError, "connect");
  }
  *sendComm = new Comm(socket, true);
  return kSuccess;
}

Result acceptFrom(void* listenComm, void** recvComm) {
  *recvComm = nullptr;
  if (!Faults::enter("accept")) return kInternalError;
  if (Faults::has("never", "accept")) return kSuccess;
  const int socket = ::accept4(*static_cast<int*>(listenComm), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (socket < 0) return errno == EAGAIN ? kSuccess : fail(kSystemError, "accept");
  *recvComm = new Comm(socket, false);
  return kSuccess;
}

Result addRegion(void* comm, void* data, size_t bytes, int type, void** memory) {
  if (!Faults::enter("regMr")) return kInternalError;
  const auto begin = reinterpret_cast<uintptr_t>(data);
  *memory = new Region{static_cast<Comm*>(comm), begin, begin + bytes, type};
  ++static_cast<Comm*>(comm)->regions;
  return kSuccess;
}

template <typename Size>
Result regMr(void* comm, void* data, Size bytes, int type, void** memory) {
  if (type != kPointerHost && (type != kPointerCuda || gpus() != "cuda")) return kInvalidArgument;
  return addRegion(comm, data, static_cast<size_t>(bytes), type, memory);
}

Result regMrDmaBuf(void* comm, void* data, size_t bytes, int type, uint64_t offset, int descriptor, void** memory) {
  if (type != kPointerCuda || offset != 0 || gpus() != "dmabuf") return kInvalidArgument;
  if (::fcntl(descriptor, F_GETFD) < 0) return fail(kSystemError, "fcntl");
  return addRegion(comm, data, bytes, type, memory);
}

Result deregMr(void* comm, void* memory) {
  std::unique_ptr<Region> region(static_cast<Region*>(memory));
  if (region->comm != comm) return kInvalidArgument;
  if (!Faults::enter("deregMr")) return kInternalError;
  --region->comm->regions;
  return kSuccess;
}

// Returns null if all requests are in use.
Request* freeRequest(Comm& comm) {
  auto* const end = comm.requests.begin() + maxRequests;
  auto* const free = std::find_if(comm.requests.begin(), end, [](const Request& one) { return one.comm == nullptr; });
  return free == end ? nullptr : free;
}

Result post(void* rawComm, void* data, size_t bytes, void* memory, void** request) {
  auto* comm = static_cast<Comm*>(rawComm);
  ++counts[comm->sends ? 0 : 1];
  const auto* region = static_cast<const Region*>(memory);
  const auto begin = reinterpret_cast<uintptr_t>(data);
  if (region == nullptr || region->comm != comm || begin < region->begin || begin + bytes > region->end) {
    errno = EFAULT;
    return fail(kInvalidArgument, "memory that is not registered");
  }
  *request = nullptr;
  if (Faults::has("late") && allButOneOf(2)) return kSuccess;
  if (Faults::isBroken()) return kRemoteError;
  const char* call = comm->sends ? "isend" : "irecv";
  if (++comm->messages > Faults::kGoodMessages) {
    if (!Faults::enter(call)) return kInternalError;
    if (Faults::has("never", call)) return kSuccess;
  }
  Request* free = freeRequest(*comm);
  if (free == nullptr) return kSuccess;
  auto* place = static_cast<uint8_t*>(data);
  if (!comm->sends && region->type == kPointerCuda) {
    std::vector<uint8_t>& unflushed = comm->unflushed[data];
    unflushed.assign(bytes, 0);
    place = unflushed.data();
  }
  *free = Request{comm, Kind::Message, place, bytes, bytes, 0, false};
  comm->queue.push_back(free);
  if (comm->sends && comm->messages > Faults::kGoodMessages && Faults::has("twice")) return kSuccess;
  *request = free;
  return kSuccess;
}

Result iflush(void* rawComm, int n, void** data, int* sizes, void** memory, void** request) {
  auto* comm = static_cast<Comm*>(rawComm);
  *request = nullptr;
  if (n != 1 || comm->sends || static_cast<const Region*>(memory[0])->type != kPointerCuda) return kInvalidArgument;
  if (!Faults::enter("iflush")) return kInternalError;
  const auto arrived = comm->unflushed.find(data[0]);
  if (arrived == comm->unflushed.end() || static_cast<size_t>(sizes[0]) > arrived->second.size())
    return kInvalidArgument;
  Request* free = freeRequest(*comm);
  if (free == nullptr) return kInternalError;
  *free = Request{comm, Kind::Flush, static_cast<uint8_t*>(data[0]), static_cast<uint64_t>(sizes[0]), 0, 0, false};
  *request = free;
  return kSuccess;
}

// Completes a flush at the second call of test.
void flush(Request& request) {
  if (request.moved++ == 0) return;
  const auto arrived = request.comm->unflushed.find(request.data);
  std::memcpy(request.data, arrived->second.data(), request.bytes);
  request.comm->unflushed.erase(arrived);
  request.done = true;
}

// Applies the complete header of a message to its receive. Returns false if the message is longer than the buffer.
bool takeHeader(Request& request, Result* result) {
  if (request.header > request.bytes) {
    errno = EMSGSIZE;
    *result = fail(kInternalError, "a message that is too long");
    return false;
  }
  request.bytes = request.header;
  request.done = request.bytes == 0;
  return true;
}

// Moves as many bytes of the first request as the kernel accepts or has. Returns false if progress must stop: no byte
// moved, the send buffer is full, or an error is in `result`.
bool move(Request& request, Result* result) {
  Comm& comm = *request.comm;
  // Sends only when poll reports enough space, not whenever a byte becomes free.
  if (pollfd waited{comm.socket, POLLOUT, 0}; comm.full && ::poll(&waited, 1, 0) == 0) return false;
  constexpr size_t kHeaderBytes = sizeof request.header;
  if (!comm.sends && request.moved == 0 && comm.nextHeaderBytes > 0) {
    request.header = comm.nextHeader;
    request.moved = std::exchange(comm.nextHeaderBytes, 0);
    if (request.moved == kHeaderBytes) return takeHeader(request, result);
  }
  std::array<iovec, 2> parts{};
  size_t count = 0;
  if (request.moved < kHeaderBytes) {
    parts[count++] = {reinterpret_cast<uint8_t*>(&request.header) + request.moved, kHeaderBytes - request.moved};
  }
  const size_t inData = request.moved < kHeaderBytes ? 0 : request.moved - kHeaderBytes;
  // A receive learns the size of its data from the header.
  const size_t missing = request.bytes - inData;
  if (comm.sends || count == 0) parts[count++] = {request.data + inData, missing};
  if (!comm.sends && count == 1 && request.moved >= kHeaderBytes) {
    parts[count++] = {&comm.nextHeader, sizeof comm.nextHeader};
  }
  if (Faults::has("partial")) {
    for (iovec& part : parts) part.iov_len = std::min<size_t>(part.iov_len, 1000);
    if (!comm.sends) count = 1;
  }
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = count;
  ssize_t moved = comm.sends ? ::sendmsg(comm.socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT)
                             : ::recvmsg(comm.socket, &message, MSG_DONTWAIT);
  if (moved < 0 && (errno == EAGAIN || errno == EINTR)) {
    comm.full = comm.sends;
    return false;
  }
  if (moved <= 0) {
    if (moved == 0) errno = ECONNRESET;
    *result = fail(kRemoteError, comm.sends ? "sendmsg" : "recvmsg");
    return false;
  }
  if (!comm.sends && request.moved >= kHeaderBytes && static_cast<size_t>(moved) > missing) {
    comm.nextHeaderBytes = static_cast<size_t>(moved) - missing;
    moved = static_cast<ssize_t>(missing);
  }
  request.moved += static_cast<size_t>(moved);
  if (!comm.sends && request.moved == kHeaderBytes) return takeHeader(request, result);
  request.done = request.moved == kHeaderBytes + request.bytes;
  comm.full = comm.sends && !request.done;
  return !comm.full;
}

Result progress(Comm& comm) {
  Result result = kSuccess;
  while (!comm.queue.empty() && move(*comm.queue.front(), &result)) {
    if (comm.queue.front()->done) comm.queue.pop_front();
  }
  return result;
}

template <typename Size>
Result isend(void* comm, void* data, Size bytes, int /*tag*/, void* memory, void** request) {
  return post(comm, data, static_cast<size_t>(bytes), memory, request);
}

template <typename Size>
Result irecv(void* comm, int n, void** data, Size* sizes, int* /*tags*/, void** memory, void** request) {
  if (n != 1) return kInvalidArgument;
  return post(comm, data[0], static_cast<size_t>(sizes[0]), memory[0], request);
}

int sizeOf(const Request& request) {
  if (Faults::has("size", "huge")) return INT_MAX;
  if (Faults::has("size", "negative")) return INT_MIN;
  if (Faults::has("size", "zero")) return 0;
  return static_cast<int>(request.bytes) - (Faults::has("size", "short") ? 1 : 0);
}

Result test(void* rawRequest, int* done, int* sizes) {
  ++counts[2];
  auto* request = static_cast<Request*>(rawRequest);
  Comm* comm = request->comm;
  if (comm == nullptr) return kInvalidArgument;
  *done = 0;
  if (Faults::has("late") && allButOneOf(3)) return kSuccess;
  const bool good = comm->messages <= Faults::kGoodMessages;
  if (!good && !Faults::enter("test")) return kInternalError;
  if (!good && Faults::has("never", "test")) return kSuccess;
  if (!good && Faults::has("early")) {
    *done = 1;
    *sizes = static_cast<int>(request->bytes);
    return kSuccess;
  }
  if (request->kind == Kind::Flush) flush(*request);
  const Result moved = request->done || request->kind == Kind::Flush ? kSuccess : progress(*comm);
  if (!request->done) return moved;
  *done = 1;
  *sizes = good ? static_cast<int>(request->bytes) : sizeOf(*request);
  *request = Request{};
  return kSuccess;
}

std::atomic<uint64_t> leftRequests{0};

Result closeComm(void* rawComm) {
  const bool good = Faults::enter(static_cast<Comm*>(rawComm)->sends ? "closeSend" : "closeRecv");
  std::unique_ptr<Comm> comm(static_cast<Comm*>(rawComm));
  leftRequests += static_cast<uint64_t>(std::count_if(comm->requests.begin(), comm->requests.end(),
                                                      [](const Request& one) { return one.comm != nullptr; }));
  if (comm->regions == 0 || !good) return good ? kSuccess : kInternalError;
  errno = EBUSY;
  return fail(kInvalidArgument, "closed while memory is registered");
}

Result closeListen(void* listenComm) {
  const bool good = Faults::enter("closeListen");
  std::unique_ptr<int> socket(static_cast<int*>(listenComm));
  ::close(*socket);
  return good ? kSuccess : kInternalError;
}

// Returns the table of one version of the interface.
template <int Version>
NetTable<Version> table() {
  NetTable<Version> made{};
  made.name = "Test";
  made.devices = devices;
  made.getProperties = getProperties<Version>;
  if constexpr (Version >= 11) {
    made.init = [](void** context, uint64_t, CommConfig*, Logger log, Profiler) {
      static int one = 1;
      *context = &one;
      return begin<Version>(log);
    };
    made.listen = [](void* context, int, void* handle, void** comm) {
      return context == nullptr ? kInvalidArgument : listenAt(handle, comm);
    };
    made.connect = [](void* context, int, void* handle, void** comm, void** offload) {
      return context == nullptr || *offload != nullptr ? kInvalidArgument : connectTo(handle, comm);
    };
    made.finalize = [](void*) { return Faults::enter("finalize") ? kSuccess : kInternalError; };
    made.setNetAttr = [](void*, void*) { return kSuccess; };
  } else {
    made.listen = [](int, void* handle, void** comm) { return listenAt(handle, comm); };
    if constexpr (Version == 10) {
      made.init = [](Logger log, Profiler) { return begin<Version>(log); };
      made.connect = [](int, CommConfig* config, void* handle, void** comm, void**) {
        return config == nullptr ? kInvalidArgument : connectTo(handle, comm);
      };
    } else {
      made.init = begin<Version>;
      if constexpr (Version == 6) {
        made.connect = [](int, void* handle, void** comm) { return connectTo(handle, comm); };
      } else {
        made.connect = [](int, void* handle, void** comm, void**) { return connectTo(handle, comm); };
      }
    }
  }
  if constexpr (Version == 6) {
    made.accept = acceptFrom;
  } else {
    made.accept = [](void* listenComm, void** comm, void**) { return acceptFrom(listenComm, comm); };
  }
  made.regMr = regMr<typename NetSignatures<Version>::RegisteredSize>;
  made.regMrDmaBuf = regMrDmaBuf;
  made.deregMr = deregMr;
  if constexpr (Version >= 10) {
    made.isend = [](void* comm, void* data, size_t bytes, int tag, void* memory, void* event, void** request) {
      return event != nullptr ? kInvalidArgument : isend(comm, data, bytes, tag, memory, request);
    };
    made.irecv = [](void* comm, int n, void** data, size_t* sizes, int* tags, void** memory, void** events,
                    void** request) {
      return events == nullptr ? kInvalidArgument : irecv(comm, n, data, sizes, tags, memory, request);
    };
  } else {
    made.isend = isend<typename NetSignatures<Version>::Size>;
    made.irecv = irecv<typename NetSignatures<Version>::Size>;
  }
  made.iflush = iflush;
  made.test = test;
  made.closeSend = made.closeRecv = closeComm;
  made.closeListen = closeListen;
  return made;
}

}  // namespace
}  // namespace jccl::plugin

// Returns the number of requests that were unfinished when this process closed their communicators, since the previous
// call of this function.
extern "C" __attribute__((visibility("default"))) uint64_t jccl_test_plugin_left() {
  return jccl::plugin::leftRequests.exchange(0);
}

// Returns the numbers of calls of isend, irecv and test in this process since the previous call of this function.
extern "C" __attribute__((visibility("default"))) void jccl_test_plugin_counts(uint64_t* numbers) {
  for (auto& count : jccl::plugin::counts) *numbers++ = count.exchange(0);
}

// Makes blocked calls return.
extern "C" __attribute__((visibility("default"))) void jccl_test_plugin_release() { jccl::plugin::Faults::release(); }

#define JCCL_EXPORT(version)                                                                                         \
  extern "C" __attribute__((visibility("default"))) const jccl::plugin::NetTable<version> ncclNetPlugin_v##version = \
      jccl::plugin::table<version>()

JCCL_EXPORT(6);
JCCL_EXPORT(7);
JCCL_EXPORT(8);
JCCL_EXPORT(9);
JCCL_EXPORT(10);
JCCL_EXPORT(11);
JCCL_EXPORT(12);
