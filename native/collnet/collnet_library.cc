#include "collnet/collnet_library.h"

#include <array>
#include <climits>
#include <utility>

#include "base/kept_handlers.h"
#include "collnet/collnet_abi.h"
#include "plugin/initialised.h"
#include "plugin/plugin_properties.h"
#include "plugin/plugin_versions.h"

namespace jccl::plugin {
namespace {

constexpr PluginNames kCollNetNames = {"its network does not reduce", kNetPrefix, "ncclCollNetPlugin_v"};

// NCCL's number of each DataType; -1 for 16-bit integers, which NCCL lacks.
constexpr std::array<int, kDataTypeCount> kTypes = {
    kTypeInt8,     kTypeUint8,   kTypeInt32,   kTypeUint32,     kTypeInt64,      kTypeUint64, kTypeFloat16,
    kTypeBfloat16, kTypeFloat32, kTypeFloat64, kTypeFloat8E4m3, kTypeFloat8E5m2, -1,          -1};

int typeOf(DataType type) { return kTypes[static_cast<size_t>(type)]; }

// Returns NCCL's number of an operation; -1 for bitwise operations, which NCCL lacks.
int opOf(ReduceOp op) {
  switch (op) {
    case ReduceOp::Sum:
    case ReduceOp::Avg:
      return kOpSum;
    case ReduceOp::Prod:
      return kOpProd;
    case ReduceOp::Min:
      return kOpMin;
    case ReduceOp::Max:
      return kOpMax;
    default:
      return -1;
  }
}

template <int Version>
class CollNetPluginOf final : public CollNetPlugin {
  using Count = typename CollNetSignatures<Version>::Count;
  using RegisteredSize = typename CollNetSignatures<Version>::RegisteredSize;

 public:
  using Table = CollNetTable<Version>;
  CollNetPluginOf(const Table& table, const std::string& file)
      : CollNetPlugin(textOr(table.name, "unnamed"), Version, file), table_(table) {}

  // Returns the first required function that the table lacks; null: the table is complete. A plug-in without
  // devices may lack functions: that is no mistake, but the plug-in cannot be used either.
  static const char* missing(const Table& table) {
    return firstMissing({
        {"init", table.init != nullptr},
        {"devices", table.devices != nullptr},
        {"getProperties", table.getProperties != nullptr},
        {"listen", table.listen != nullptr},
        {"connect", table.connect != nullptr},
        {"reduceSupport", table.reduceSupport != nullptr},
        {"regMr", table.regMr != nullptr},
        {"deregMr", table.deregMr != nullptr},
        {"iallreduce", table.iallreduce != nullptr},
        {"test", table.test != nullptr},
        {"closeColl", table.closeColl != nullptr},
        {"closeListen", table.closeListen != nullptr},
    });
  }

  Status init(uint64_t commId) override {
    const KeptHandlers kept(description());
    if constexpr (Version >= 11) {
      return checked("init", table_.init(&context_, commId, pluginLogger()));
    } else {
      return checked("init", Initialised::of(&table_).once([&] { return table_.init(pluginLogger()); }));
    }
  }

  Status devices(int* count) override { return checked("devices", table_.devices(count)); }

  Status properties(int device, DeviceProperties* found) override {
    Properties<Version> raw{};
    if (Status got = checked("getProperties", table_.getProperties(device, &raw)); !got) return got;
    *found = propertiesOf<Version>(raw, table_.regMrDmaBuf != nullptr);
    return Status::ok();
  }

  Status listen(int device, void* handle, void** listenComm) override {
    *listenComm = nullptr;
    Status done;
    if constexpr (Version >= 11) {
      done = checked("listen", table_.listen(context_, device, handle, listenComm));
    } else {
      done = checked("listen", table_.listen(device, handle, listenComm));
    }
    return done && *listenComm == nullptr ? failed("listen", "returned success and no communicator") : done;
  }

  Status connect(const std::vector<void*>& handles, int rank, void* listenComm, void** collComm) override {
    *collComm = nullptr;
    std::vector<void*> mine = handles;
    Status done =
        checked("connect", table_.connect(mine.data(), static_cast<int>(mine.size()), rank, listenComm, collComm));
    return done && *collComm == nullptr ? failed("connect", "returned success and no communicator") : done;
  }

  Status supports(DataType type, ReduceOp op, bool* supported) override {
    *supported = false;
    if (opOf(op) < 0 || typeOf(type) < 0) return Status::ok();
    int answer = 0;
    Status asked = checked("reduceSupport", table_.reduceSupport(typeOf(type), opOf(op), &answer));
    *supported = asked && answer != 0;
    return asked;
  }

  bool gathers() const override {
    if constexpr (Version >= 8) {
      return table_.iallgather != nullptr && table_.ireducescatter != nullptr;
    } else {
      return false;
    }
  }

  Status registerMemory(void* comm, void* data, size_t bytes, void** memory) override {
    *memory = nullptr;
    if (Status fits = requireFits<RegisteredSize>("regMr", bytes); !fits) return fits;
    return checked("regMr", table_.regMr(comm, data, static_cast<RegisteredSize>(bytes), kPointerHost, memory));
  }

  Status deregister(void* comm, void* memory) override { return checked("deregMr", table_.deregMr(comm, memory)); }

  Status allReduce(void* comm, const Data& send, const Data& recv, size_t count, DataType type, ReduceOp op,
                   void** request) override {
    *request = nullptr;
    if (Status fits = requireFits<Count>("iallreduce", count); !fits) return fits;
    return checked("iallreduce", table_.iallreduce(comm, send.address, recv.address, static_cast<Count>(count),
                                                   typeOf(type), opOf(op), send.memory, recv.memory, request));
  }

  Status allGather(void* comm, const Data& send, const Data& recv, size_t bytes, int ranks, void** request) override {
    *request = nullptr;
    if constexpr (Version >= 8) {
      const size_t whole = bytes * static_cast<size_t>(ranks);
      CollNetPart<Version> part;
      if (Status made = partOf("iallgather", recv, whole, &part); !made) return made;
      return checked("iallgather",
                     table_.iallgather(comm, send.address, 1, &part, bytes, 0, whole, send.memory, request));
    } else {
      return failed("iallgather", "is missing");
    }
  }

  Status reduceScatter(void* comm, const Data& send, const Data& recv, size_t bytes, int ranks, DataType type,
                       ReduceOp op, void** request) override {
    *request = nullptr;
    if constexpr (Version >= 8) {
      const size_t whole = bytes * static_cast<size_t>(ranks);
      CollNetPart<Version> part;
      if (Status made = partOf("ireducescatter", send, whole, &part); !made) return made;
      return checked("ireducescatter", table_.ireducescatter(comm, 1, &part, recv.address, bytes, 0, whole,
                                                             typeOf(type), opOf(op), recv.memory, request));
    } else {
      return failed("ireducescatter", "is missing");
    }
  }

  Status test(void* request, bool* done) override {
    int isDone = 0;
    int size = 0;
    Status tested = checked("test", table_.test(request, &isDone, &size));
    *done = tested && isDone != 0;
    return tested;
  }

  Status closeColl(void* comm) override { return checked("closeColl", table_.closeColl(comm)); }
  Status closeListen(void* comm) override { return checked("closeListen", table_.closeListen(comm)); }

  void finalize() override {
    if constexpr (Version >= 11) {
      if (table_.finalize != nullptr && context_ != nullptr) table_.finalize(context_);
      context_ = nullptr;
    }
  }

 private:
  Status partOf(const char* function, const Data& data, size_t bytes, CollNetPart<Version>* part) const {
    using Size = decltype(part->size);
    if (static_cast<size_t>(static_cast<Size>(bytes)) != bytes) {
      return failed(function, "accepts no part of this size in this version, bytes=" + std::to_string(bytes));
    }
    *part = {data.memory, data.address, static_cast<Size>(bytes)};
    return Status::ok();
  }

  template <typename As>
  Status requireFits(const char* function, size_t value) const {
    if (sizeof(As) == sizeof(size_t) || value <= INT_MAX) return Status::ok();
    return failed(function,
                  "takes at most " + std::to_string(INT_MAX) + " in this version, found " + std::to_string(value));
  }

  std::string description() const { return describePlugin("collnet", name(), file(), Version); }

  Status failed(const char* function, const std::string& why) const {
    return Status::transport(description() + ": " + function + " " + why);
  }

  Status checked(const char* function, Result result) const {
    if (__builtin_expect(result == kSuccess, 1)) return Status::ok();
    return failed(function, "returned " + std::to_string(result) + " (" + textOf(result) + "); see what it logged");
  }

  const Table& table_;
  void* context_ = nullptr;
};

}  // namespace

Status openCollNetPlugin(const std::string& name, std::shared_ptr<CollNetPlugin>* plugin) {
  return openVersioned<CollNetPluginOf, kOldestVersion, kNewestVersion>(name, kCollNetNames, kCollNetNames.prefix,
                                                                        plugin);
}

}  // namespace jccl::plugin
