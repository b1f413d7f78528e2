// A libnccl.so.2 whose operations run on the emulated GPUs of the process. FAKE_NCCL_VERSION is its version. If
// FAKE_NCCL_FAILS is in the environment, no communicator can be made. It refuses several ranks, which share a GPU here,
// unless the variables that NCCL needs for that are set.
#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "bench/nccl/nccl_api.h"

#define FAKE extern "C" __attribute__((visibility("default")))

namespace {

using jccl::nccl::DataType;
using jccl::nccl::Reduction;
using jccl::nccl::Result;
using jccl::nccl::Stream;
using jccl::nccl::UniqueId;

constexpr Result kSuccess = 0, kSystemError = 2, kInvalidArgument = 4, kInvalidUsage = 5;
constexpr size_t kElementBytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
constexpr int kTypes = 12;

using HostWork = int (*)(void* data);
using PutHostWork = int (*)(void* stream, HostWork work, void* data);

// Finds jccl_emulated_host_work in the library with the emulated driver, whose names the loader shows to no other library.
PutHostWork putHostWork() {
  static const auto found = [] {
    std::string file;
    ::dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* result) {
          const std::string_view name = info->dlpi_name;
          if (name.find("libjccl_cuda_emulated") == std::string_view::npos) return 0;
          *static_cast<std::string*>(result) = name;
          return 1;
        },
        &file);
    void* library = file.empty() ? nullptr : ::dlopen(file.c_str(), RTLD_NOW | RTLD_NOLOAD);
    return library == nullptr ? nullptr : reinterpret_cast<PutHostWork>(::dlsym(library, "jccl_emulated_host_work"));
  }();
  return found;
}

enum class Kind { AllReduce, Reduce, Broadcast, AllGather, ReduceScatter, Exchange };

struct Message {
  int peer;
  char* buffer;
  size_t bytes;
};

using Bytes = std::vector<char>;

// The data that a rank contributes to one operation.
struct Input {
  Bytes bytes;
  std::map<int, Bytes> messages;  // by receiver
};

struct Meeting {
  std::map<int, Input> inputs;  // by rank
  int left = 0;
};

// The ranks of one id.
struct World {
  std::mutex mutex;
  int ranks = 0;
  std::map<uint64_t, Meeting> meetings;  // by number of the operation
};

}  // namespace

namespace jccl::nccl {

struct CommOpaque {
  std::shared_ptr<World> world;
  int rank = 0;
  uint64_t operations = 0;
};

}  // namespace jccl::nccl

namespace {

using jccl::nccl::Comm;

// An operation that was put on a stream. It is kept for good, because a graph may run it again.
struct Put {
  Comm comm;
  Kind kind;
  const char* send;
  char* recv;
  size_t count;
  DataType type;
  Reduction op;
  int root;
  std::vector<Message> sends, receives;
  bool begun = false;
  uint64_t number = 0;
};

template <class T>
void combine(const std::map<int, Input>& inputs, size_t begin, size_t count, Reduction op, char* to) {
  for (size_t i = 0; i < count; ++i) {
    T result{};
    bool first = true;
    for (const auto& [rank, input] : inputs) {
      T value;
      std::memcpy(&value, input.bytes.data() + (begin + i) * sizeof(T), sizeof value);
      result = first     ? value
               : op == 1 ? static_cast<T>(result * value)
               : op == 2 ? std::max(result, value)
               : op == 3 ? std::min(result, value)
                         : static_cast<T>(result + value);
      first = false;
    }
    if (op == 4) result = static_cast<T>(result / static_cast<T>(inputs.size()));
    std::memcpy(to + i * sizeof(T), &result, sizeof result);
  }
}

void reduceTo(const Put& put, const std::map<int, Input>& inputs, size_t begin) {
  switch (put.type) {
    case 0:
      return combine<int8_t>(inputs, begin, put.count, put.op, put.recv);
    case 1:
      return combine<uint8_t>(inputs, begin, put.count, put.op, put.recv);
    case 2:
      return combine<int32_t>(inputs, begin, put.count, put.op, put.recv);
    case 3:
      return combine<uint32_t>(inputs, begin, put.count, put.op, put.recv);
    case 4:
      return combine<int64_t>(inputs, begin, put.count, put.op, put.recv);
    case 5:
      return combine<uint64_t>(inputs, begin, put.count, put.op, put.recv);
    case 7:
      return combine<float>(inputs, begin, put.count, put.op, put.recv);
    default:
      return combine<double>(inputs, begin, put.count, put.op, put.recv);
  }
}

void finish(const Put& put, const std::map<int, Input>& inputs) {
  const int rank = put.comm->rank;
  switch (put.kind) {
    case Kind::AllReduce:
      return reduceTo(put, inputs, 0);
    case Kind::Reduce:
      if (rank == put.root) reduceTo(put, inputs, 0);
      return;
    case Kind::ReduceScatter:
      return reduceTo(put, inputs, static_cast<size_t>(rank) * put.count);
    case Kind::Broadcast: {
      const Bytes& from = inputs.at(put.root).bytes;
      std::memcpy(put.recv, from.data(), from.size());
      return;
    }
    case Kind::AllGather:
      for (const auto& [from, input] : inputs) {
        std::memcpy(put.recv + static_cast<size_t>(from) * input.bytes.size(), input.bytes.data(), input.bytes.size());
      }
      return;
    case Kind::Exchange:
      for (const Message& message : put.receives) {
        const Bytes& from = inputs.at(message.peer).messages.at(rank);
        std::memcpy(message.buffer, from.data(), std::min(from.size(), message.bytes));
      }
  }
}

Input inputOf(const Put& put) {
  Input input;
  for (const Message& message : put.sends) {
    input.messages[message.peer].assign(message.buffer, message.buffer + message.bytes);
  }
  const bool sends = put.kind != Kind::Exchange && (put.kind != Kind::Broadcast || put.comm->rank == put.root);
  const int ranks = put.kind == Kind::ReduceScatter ? put.comm->world->ranks : 1;
  if (sends) {
    input.bytes.assign(put.send, put.send + put.count * kElementBytes[put.type] * static_cast<size_t>(ranks));
  }
  return input;
}

// Runs a part of an operation; returns 1 if it has ended.
int run(void* data) {
  Put& put = *static_cast<Put*>(data);
  World& world = *put.comm->world;
  const std::lock_guard lock(world.mutex);
  if (!put.begun) {
    put.begun = true;
    put.number = put.comm->operations++;
    world.meetings[put.number].inputs.emplace(put.comm->rank, inputOf(put));
  }
  Meeting& meeting = world.meetings[put.number];
  if (static_cast<int>(meeting.inputs.size()) < world.ranks) return 0;
  finish(put, meeting.inputs);
  put.begun = false;
  if (++meeting.left == world.ranks) world.meetings.erase(put.number);
  return 1;
}

thread_local std::vector<Message> groupSends, groupReceives;
thread_local Comm groupComm = nullptr;
thread_local Stream groupStream = nullptr;

Result enqueue(Put put, Stream stream) {
  const bool reduces = put.kind == Kind::AllReduce || put.kind == Kind::Reduce || put.kind == Kind::ReduceScatter;
  if (put.type < 0 || put.type >= kTypes) return kInvalidArgument;
  if (reduces && (put.type == 6 || put.type > 8)) return kInvalidArgument;  // this fake has no arithmetic for them
  if (putHostWork() == nullptr) return kSystemError;
  return putHostWork()(stream, run, new Put(std::move(put))) == 0 ? kSuccess : kSystemError;
}

std::mutex mutex;
std::map<uint64_t, std::shared_ptr<World>> worlds;
uint64_t ids = 0;

bool has(const char* name, const char* value) {
  const char* set = std::getenv(name);
  return set != nullptr && std::string_view(set) == value;
}

}  // namespace

FAKE Result ncclGetVersion(int* version) {
  *version = FAKE_NCCL_VERSION;
  return kSuccess;
}

FAKE const char* ncclGetErrorString(Result result) {
  return result == kSystemError ? "unhandled system error" : result == kInvalidUsage ? "invalid usage" : "no error";
}

FAKE Result ncclGetUniqueId(UniqueId* id) {
  const std::lock_guard lock(mutex);
  ++ids;
  std::memset(id, 0, sizeof *id);
  std::memcpy(id->bytes + 64, &ids, sizeof ids);
  return kSuccess;
}

FAKE Result ncclCommInitRank(Comm* comm, int ranks, UniqueId id, int rank) {
  if (std::getenv("FAKE_NCCL_FAILS") != nullptr) return kSystemError;
  const bool shares =
      has("NCCL_MULTI_RANK_GPU_ENABLE", "1") && has("NCCL_NVLS_ENABLE", "2") && std::getenv("NCCL_MAX_CTAS") != nullptr;
  if (ranks > 1 && (!shares || FAKE_NCCL_VERSION < 23000)) return kInvalidUsage;
  uint64_t number = 0;
  std::memcpy(&number, id.bytes + 64, sizeof number);
  const std::lock_guard lock(mutex);
  std::shared_ptr<World>& world = worlds[number];
  if (world == nullptr) world = std::make_shared<World>();
  world->ranks = ranks;
  *comm = new jccl::nccl::CommOpaque{world, rank};
  return kSuccess;
}

FAKE Result ncclCommDestroy(Comm comm) {
  comm->world.reset();
  return kSuccess;
}

FAKE Result ncclCommGetAsyncError(Comm, Result* error) {
  *error = kSuccess;
  return kSuccess;
}

FAKE Result ncclGroupStart() {
  groupSends.clear();
  groupReceives.clear();
  return kSuccess;
}

FAKE Result ncclGroupEnd() {
  Put put{groupComm, Kind::Exchange, nullptr, nullptr, 0, 0, 0, 0, groupSends, groupReceives};
  return enqueue(std::move(put), groupStream);
}

FAKE Result ncclSend(const void* buffer, size_t count, DataType type, int peer, Comm comm, Stream stream) {
  groupSends.push_back({peer, const_cast<char*>(static_cast<const char*>(buffer)), count * kElementBytes[type]});
  groupComm = comm;
  groupStream = stream;
  return kSuccess;
}

FAKE Result ncclRecv(void* buffer, size_t count, DataType type, int peer, Comm comm, Stream stream) {
  groupReceives.push_back({peer, static_cast<char*>(buffer), count * kElementBytes[type]});
  groupComm = comm;
  groupStream = stream;
  return kSuccess;
}

FAKE Result ncclAllReduce(const void* send, void* recv, size_t count, DataType type, Reduction op, Comm comm,
                          Stream stream) {
  return enqueue(
      {comm, Kind::AllReduce, static_cast<const char*>(send), static_cast<char*>(recv), count, type, op, 0, {}, {}},
      stream);
}

FAKE Result ncclReduce(const void* send, void* recv, size_t count, DataType type, Reduction op, int root, Comm comm,
                       Stream stream) {
  return enqueue(
      {comm, Kind::Reduce, static_cast<const char*>(send), static_cast<char*>(recv), count, type, op, root, {}, {}},
      stream);
}

FAKE Result ncclBroadcast(const void* send, void* recv, size_t count, DataType type, int root, Comm comm,
                          Stream stream) {
  return enqueue(
      {comm, Kind::Broadcast, static_cast<const char*>(send), static_cast<char*>(recv), count, type, 0, root, {}, {}},
      stream);
}

FAKE Result ncclAllGather(const void* send, void* recv, size_t count, DataType type, Comm comm, Stream stream) {
  return enqueue(
      {comm, Kind::AllGather, static_cast<const char*>(send), static_cast<char*>(recv), count, type, 0, 0, {}, {}},
      stream);
}

FAKE Result ncclReduceScatter(const void* send, void* recv, size_t count, DataType type, Reduction op, Comm comm,
                              Stream stream) {
  return enqueue(
      {comm, Kind::ReduceScatter, static_cast<const char*>(send), static_cast<char*>(recv), count, type, op, 0, {}, {}},
      stream);
}
