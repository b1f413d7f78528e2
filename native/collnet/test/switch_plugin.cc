// A CollNet plug-in for tests, whose switch is a process (switch.cc). Implements the interface of NCCL's plug-ins like
// any other plug-in. This file has a table for each version of the interface; each test library exports those of one
// version.
//
// JCCL_TEST_SWITCH: port of the switch on this host. JCCL_TEST_COLLNET_DEVICES: number of devices.
// JCCL_TEST_COLLNET_FAULT chooses a fault. Faults of operations, except `late` and `sums`, begin after kGoodOperations
// of a communicator.
//
//     late           has no space for every second request, and answers only every third call of test
//     refuses        connects no group
//     blocks=CALL    CALL returns after JCCL_TEST_COLLNET_BLOCK_MS; iallreduce stands for all operations
//     fails          refuses operations
//     error          test ends an operation with an error
//     stuck          completes no operation
//     sums           supports only sums of float32
//     init           initialisation fails
//     none           reports no devices
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>

#include "collnet/collnet_abi.h"
#include "collnet/test/switch_protocol.h"

namespace jccl::plugin {
namespace {

using test::SwitchAnswer;
using test::SwitchHello;
using test::SwitchKind;
using test::SwitchRequest;

constexpr Result kSystemError = 2;
constexpr Result kInternalError = 3;
constexpr Result kInvalidArgument = 4;
constexpr Result kRemoteError = 6;
constexpr size_t kMaxRequests = 8;
constexpr size_t kMaxBytes = size_t{1} << 28;
constexpr uint64_t kGoodOperations = 10;
constexpr int kDefaultBlockMs = 60'000;

struct Comm;

struct Request {
  Comm* comm = nullptr;  // null if this request is free
  SwitchRequest header{};
  const uint8_t* data = nullptr;
  size_t sent = 0;  // number of bytes, header included
  uint8_t* result = nullptr;
  size_t resultBytes = 0;
  SwitchAnswer answer{};
  size_t received = 0;
  bool done = false;
};

struct Region {
  Comm* comm;
  uintptr_t begin;
  uintptr_t end;
};

struct Comm {
  ~Comm() { ::close(socket); }

  int socket = -1;
  uint64_t members = 0;
  uint64_t member = 0;
  std::array<Request, kMaxRequests> requests;
  std::deque<Request*> sends;
  std::deque<Request*> receives;
  uint64_t operations = 0;
  int regions = 0;
};

struct Handle {
  uint64_t magic;
  uint64_t group;
};
constexpr uint64_t kMagic = 0x737769746368;

std::atomic<Logger> logger{nullptr};  // set when a communicator is initialised
std::atomic<uint64_t> calls{0};
// Set when a communicator is initialised. Atomic, because a thread of an earlier communicator may still be in a call
// that reads it.
std::atomic<const std::string*> fault{nullptr};

void chooseFault() {
  static auto* kept = new std::set<std::string>;
  static auto* mutex = new std::mutex;
  const char* wanted = std::getenv("JCCL_TEST_COLLNET_FAULT");  // NOLINT(concurrency-mt-unsafe): set before
  const std::lock_guard lock(*mutex);
  fault.store(&*kept->insert(wanted == nullptr ? "" : wanted).first);
}
bool has(const std::string& name) {
  const std::string* chosen = fault.load();
  return chosen != nullptr && *chosen == name;
}
bool allButOneOf(uint64_t n) { return calls.fetch_add(1, std::memory_order_relaxed) % n != 0; }

int numberOf(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): set before
  return text == nullptr ? otherwise : std::atoi(text);
}

void enter(const char* call) {
  if (has(std::string("blocks=") + call))
    std::this_thread::sleep_for(std::chrono::milliseconds(numberOf("JCCL_TEST_COLLNET_BLOCK_MS", kDefaultBlockMs)));
}

Result fail(Result result, const char* what) {
  if (const Logger log = logger; log != nullptr)
    log(kLogWarn, ~0UL, __FILE__, __LINE__, "COLL/Test : %s: %s", what, std::strerror(errno));
  return result;
}

template <int Version>
Result begin(Logger log) {
  logger = log;
  chooseFault();
  enter("init");
  if (has("init")) return kSystemError;
  log(kLogInfo, ~0UL, __FILE__, __LINE__, "COLL/Test : version %d", Version);
  return kSuccess;
}

Result devices(int* count) {
  enter("devices");
  *count = has("none") ? 0 : numberOf("JCCL_TEST_COLLNET_DEVICES", 1);
  return kSuccess;
}

template <int Version>
Result getProperties(int device, Properties<Version>* properties) {
  static char names[][8] = {"switch0", "switch1", "switch2", "switch3"};
  if (device < 0 || device >= static_cast<int>(std::size(names))) return kInvalidArgument;
  std::memset(static_cast<void*>(properties), 0, sizeof *properties);
  auto& common = [properties]() -> auto& {
    if constexpr (Version >= 11) {
      return properties->common;
    } else {
      return *properties;
    }
  }
  ();
  common.name = names[device];
  common.guid = 1;
  common.pointers = kPointerHost;
  common.speed = 10'000;
  common.port = 1;
  common.maxComms = 1024;
  common.maxRecvs = 1;
  if constexpr (Version >= 9) common.maxMessageBytes = common.maxCollectiveBytes = kMaxBytes;
  return kSuccess;
}

// The listening communicator of all groups. Static, so that it is no leak if a blocked call never closes it.
char listener = 0;

Result listenAt(void* rawHandle, void** listenComm) {
  enter("listen");
  std::random_device random;
  const Handle handle{kMagic, static_cast<uint64_t>(random()) << 32 | random()};
  std::memcpy(rawHandle, &handle, sizeof handle);
  *listenComm = &listener;
  return kSuccess;
}

// Blocks, as connect of other CollNet plug-ins does.
Result connect(void* handles[], int ranks, int rank, void* /*listenComm*/, void** collComm) {
  Handle first;
  std::memcpy(&first, handles[0], sizeof first);
  if (first.magic != kMagic || rank < 0 || rank >= ranks) return kInvalidArgument;
  if (has("refuses")) return kSystemError;
  enter("connect");
  auto comm = std::make_unique<Comm>();
  comm->members = static_cast<uint64_t>(ranks);
  comm->member = static_cast<uint64_t>(rank);
  comm->socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(numberOf("JCCL_TEST_SWITCH", 0)));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  SwitchHello hello{first.group, static_cast<uint32_t>(ranks), static_cast<uint32_t>(rank)};
  SwitchAnswer answer{};
  if (::connect(comm->socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      !test::moveAll(comm->socket, &hello, sizeof hello, true) ||
      !test::moveAll(comm->socket, &answer, sizeof answer, false)) {
    return fail(kRemoteError, "connect to the switch");
  }
  const int on = 1;
  ::setsockopt(comm->socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  *collComm = comm.release();
  return kSuccess;
}

Result reduceSupport(int type, int op, int* supported) {
  *supported = has("sums") ? (type == kTypeFloat32 && op == kOpSum)
                           : (type >= kTypeInt8 && type <= kTypeFloat8E5m2 && op >= kOpSum && op <= kOpMin);
  return kSuccess;
}

template <typename Size>
Result regMr(void* comm, void* data, Size bytes, int type, void** memory) {
  if (type != kPointerHost) return kInvalidArgument;
  enter("regMr");
  const auto begin = reinterpret_cast<uintptr_t>(data);
  *memory = new Region{static_cast<Comm*>(comm), begin, begin + static_cast<size_t>(bytes)};
  ++static_cast<Comm*>(comm)->regions;
  return kSuccess;
}

Result deregMr(void* comm, void* memory) {
  std::unique_ptr<Region> region(static_cast<Region*>(memory));
  if (region->comm != comm) return kInvalidArgument;
  --region->comm->regions;
  return kSuccess;
}

bool isIn(const Comm* comm, const void* memory, const void* data, size_t bytes) {
  const auto* region = static_cast<const Region*>(memory);
  const auto begin = reinterpret_cast<uintptr_t>(data);
  return region != nullptr && region->comm == comm && begin >= region->begin && begin + bytes <= region->end;
}

struct Memory {
  void* data;
  size_t bytes;
  void* memory;
};

Result post(void* rawComm, const SwitchRequest& header, const Memory& send, const Memory& recv, void** request) {
  auto* comm = static_cast<Comm*>(rawComm);
  if (!isIn(comm, send.memory, send.data, send.bytes) || !isIn(comm, recv.memory, recv.data, recv.bytes)) {
    errno = EFAULT;
    return fail(kInvalidArgument, "memory that is not registered");
  }
  *request = nullptr;
  if (has("late") && allButOneOf(2)) return kSuccess;
  if (++comm->operations > kGoodOperations && has("fails")) return kInternalError;
  if (comm->operations > kGoodOperations) enter("iallreduce");
  const auto free = std::find_if(comm->requests.begin(), comm->requests.end(),
                                 [](const Request& one) { return one.comm == nullptr; });
  if (free == comm->requests.end()) return kSuccess;
  *free = Request{};
  free->comm = comm;
  free->header = header;
  free->data = static_cast<const uint8_t*>(send.data);
  free->result = static_cast<uint8_t*>(recv.data);
  free->resultBytes = recv.bytes;
  comm->sends.push_back(&*free);
  comm->receives.push_back(&*free);
  *request = &*free;
  return kSuccess;
}

// Sends or receives as many bytes of two consecutive parts as the kernel accepts or has. Returns false if no byte
// moved; if an error is the cause, it is in `result`.
bool moveParts(int socket, uint8_t* first, size_t firstBytes, uint8_t* second, size_t secondBytes, size_t* moved,
               bool sends, Result* result) {
  const bool inFirst = *moved < firstBytes;
  uint8_t* at = inFirst ? first + *moved : second + (*moved - firstBytes);
  const size_t left = inFirst ? firstBytes - *moved : firstBytes + secondBytes - *moved;
  const ssize_t done =
      sends ? ::send(socket, at, left, MSG_NOSIGNAL | MSG_DONTWAIT) : ::recv(socket, at, left, MSG_DONTWAIT);
  if (done < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (done <= 0) {
    if (done == 0) errno = ECONNRESET;
    *result = fail(kRemoteError, sends ? "send to the switch" : "receive from the switch");
    return false;
  }
  *moved += static_cast<size_t>(done);
  return true;
}

Result progress(Comm& comm) {
  Result result = kSuccess;
  while (!comm.sends.empty()) {
    Request& one = *comm.sends.front();
    const size_t all = sizeof one.header + one.header.bytes;
    if (one.sent < all && !moveParts(comm.socket, reinterpret_cast<uint8_t*>(&one.header), sizeof one.header,
                                     const_cast<uint8_t*>(one.data), one.header.bytes, &one.sent, true, &result)) {
      break;
    }
    if (one.sent == all) comm.sends.pop_front();
  }
  while (result == kSuccess && !comm.receives.empty()) {
    Request& one = *comm.receives.front();
    const size_t all = sizeof one.answer + one.resultBytes;
    if (one.received < all && !moveParts(comm.socket, reinterpret_cast<uint8_t*>(&one.answer), sizeof one.answer,
                                         one.result, one.resultBytes, &one.received, false, &result)) {
      break;
    }
    if (one.received >= sizeof one.answer && (one.answer.failed != 0 || one.answer.bytes != one.resultBytes)) {
      errno = EPROTO;
      return fail(kRemoteError, "the switch got different requests");
    }
    if (one.received < all) continue;
    one.done = true;
    comm.receives.pop_front();
  }
  return result;
}

template <typename Count>
Result iallreduce(void* comm, void* send, void* recv, Count count, int type, int op, void* sendMemory, void* recvMemory,
                  void** request) {
  constexpr std::array<size_t, 12> kBytes = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  const size_t bytes = static_cast<size_t>(count) * kBytes[static_cast<size_t>(type)];
  return post(comm, {SwitchKind::AllReduce, type, op, 0, bytes, 0, 0, bytes}, {send, bytes, sendMemory},
              {recv, bytes, recvMemory}, request);
}

template <class Part>
Result iallgather(void* rawComm, void* send, int partCount, Part* parts, size_t bytesPerRank, size_t windowOffset,
                  size_t windowBytes, void* sendMemory, void** request) {
  const auto* comm = static_cast<const Comm*>(rawComm);
  if (partCount != 1 || parts[0].size != windowBytes || windowOffset + windowBytes > comm->members * bytesPerRank) {
    return kInvalidArgument;
  }
  return post(rawComm, {SwitchKind::AllGather, 0, 0, 0, bytesPerRank, bytesPerRank, windowOffset, windowBytes},
              {send, bytesPerRank, sendMemory}, {parts[0].address, windowBytes, parts[0].memory}, request);
}

template <class Part>
Result ireducescatter(void* rawComm, int partCount, Part* parts, void* recv, size_t bytesPerRank, size_t windowOffset,
                      size_t windowBytes, int type, int op, void* recvMemory, void** request) {
  const auto* comm = static_cast<const Comm*>(rawComm);
  if (partCount != 1 || parts[0].size != windowBytes || windowOffset + windowBytes > comm->members * bytesPerRank) {
    return kInvalidArgument;
  }
  const uint64_t windowEnd = windowOffset + windowBytes;
  const uint64_t own = comm->member * bytesPerRank;
  const uint64_t begin = std::clamp<uint64_t>(own, windowOffset, windowEnd);
  const uint64_t end = std::clamp<uint64_t>(own + bytesPerRank, windowOffset, windowEnd);
  return post(rawComm, {SwitchKind::ReduceScatter, type, op, 0, windowBytes, bytesPerRank, windowOffset, windowBytes},
              {parts[0].address, windowBytes, parts[0].memory}, {recv, end - begin, recvMemory}, request);
}

Result test(void* rawRequest, int* done, int* size) {
  auto* request = static_cast<Request*>(rawRequest);
  Comm* comm = request->comm;
  if (comm == nullptr) return kInvalidArgument;
  *done = 0;
  if (has("late") && allButOneOf(3)) return kSuccess;
  if (comm->operations > kGoodOperations) enter("test");
  if (has("stuck") && comm->operations > kGoodOperations) return kSuccess;
  if (has("error") && comm->operations > kGoodOperations) return kRemoteError;
  const Result moved = request->done ? kSuccess : progress(*comm);
  if (!request->done) return moved;
  *done = 1;
  if (size != nullptr) *size = static_cast<int>(request->resultBytes);
  *request = Request{};
  return kSuccess;
}

Result closeColl(void* rawComm) {
  std::unique_ptr<Comm> comm(static_cast<Comm*>(rawComm));
  if (comm->regions == 0) return kSuccess;
  errno = EBUSY;
  return fail(kInvalidArgument, "closed while memory is registered");
}

Result closeListen(void* listenComm) { return listenComm == &listener ? kSuccess : kInvalidArgument; }

// Returns the table of one version of the interface.
template <int Version>
CollNetTable<Version> table() {
  CollNetTable<Version> made{};
  made.name = "TestSwitch";
  made.devices = devices;
  made.getProperties = getProperties<Version>;
  if constexpr (Version >= 11) {
    made.init = [](void** context, uint64_t, Logger log) {
      static int one = 1;
      *context = &one;
      return begin<Version>(log);
    };
    made.listen = [](void* context, int, void* handle, void** comm) {
      return context == nullptr ? kInvalidArgument : listenAt(handle, comm);
    };
    made.finalize = [](void*) { return kSuccess; };
  } else {
    made.init = begin<Version>;
    made.listen = [](int, void* handle, void** comm) { return listenAt(handle, comm); };
  }
  made.connect = connect;
  made.reduceSupport = reduceSupport;
  made.regMr = regMr<typename CollNetSignatures<Version>::RegisteredSize>;
  made.deregMr = deregMr;
  made.iallreduce = iallreduce<typename CollNetSignatures<Version>::Count>;
  if constexpr (Version >= 8) {
    made.iallgather = iallgather<CollNetPart<Version>>;
    made.ireducescatter = ireducescatter<CollNetPart<Version>>;
  }
  made.test = test;
  made.closeColl = closeColl;
  made.closeListen = closeListen;
  return made;
}

}  // namespace
}  // namespace jccl::plugin

#define JCCL_EXPORT(version)                                                                  \
  extern "C" __attribute__((visibility("default"))) const jccl::plugin::CollNetTable<version> \
      ncclCollNetPlugin_v##version = jccl::plugin::table<version>()

JCCL_EXPORT(6);
JCCL_EXPORT(7);
JCCL_EXPORT(8);
JCCL_EXPORT(9);
JCCL_EXPORT(10);
JCCL_EXPORT(11);
JCCL_EXPORT(12);
