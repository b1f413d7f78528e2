#include "plugin/plugin_library.h"

#include <array>
#include <climits>
#include <utility>
#include <vector>

#include "base/kept_handlers.h"
#include "plugin/initialised.h"
#include "plugin/plugin_properties.h"
#include "plugin/plugin_versions.h"

namespace jccl::plugin {
namespace {

constexpr PluginNames kNetNames = {"it is no network plug-in, or has a version that JCCL does not know", kNetPrefix,
                                   "ncclNetPlugin_v"};
// The maximum number of messages that one request can receive, in any version of the interface. The plug-in's test()
// may write as many sizes.
constexpr size_t kMaxReceives = 32;

Result ignoreEvent(void** /*event*/, int /*type*/, void* /*parent*/, int64_t /*pluginId*/, void* /*data*/) {
  return kSuccess;
}

template <int Version>
class NetPluginOf final : public NetPlugin {
  using Size = typename NetSignatures<Version>::Size;

 public:
  using Table = NetTable<Version>;
  NetPluginOf(const Table& table, const std::string& file)
      : NetPlugin(textOr(table.name, "unnamed"), Version, file), table_(table) {}

  // Returns the first required function that the table lacks; null: the table is complete.
  static const char* missing(const Table& table) {
    return firstMissing({
        {"init", table.init != nullptr},
        {"devices", table.devices != nullptr},
        {"getProperties", table.getProperties != nullptr},
        {"listen", table.listen != nullptr},
        {"connect", table.connect != nullptr},
        {"accept", table.accept != nullptr},
        {"regMr", table.regMr != nullptr},
        {"deregMr", table.deregMr != nullptr},
        {"isend", table.isend != nullptr},
        {"irecv", table.irecv != nullptr},
        {"test", table.test != nullptr},
        {"closeSend", table.closeSend != nullptr},
        {"closeRecv", table.closeRecv != nullptr},
        {"closeListen", table.closeListen != nullptr},
    });
  }

  Status init(uint64_t commId) override {
    const KeptHandlers kept(watch().who());
    if constexpr (Version >= 11) {
      return checked("init", [&] { return table_.init(&context_, commId, &config_, pluginLogger(), ignoreEvent); });
    } else if constexpr (Version == 10) {
      return checked("init", [&] {
        return Initialised::of(&table_).once([&] { return table_.init(pluginLogger(), ignoreEvent); });
      });
    } else {
      return checked("init",
                     [&] { return Initialised::of(&table_).once([&] { return table_.init(pluginLogger()); }); });
    }
  }

  Status devices(int* count) override {
    return checked("devices", [&] { return table_.devices(count); });
  }

  Status properties(int device, DeviceProperties* found) override {
    Properties<Version> raw{};
    if (Status got = checked("getProperties", [&] { return table_.getProperties(device, &raw); }); !got) return got;
    *found = propertiesOf<Version>(raw, table_.regMrDmaBuf != nullptr);
    if (found->maxMessageBytes == 0) return failed("getProperties", "says maxP2pBytes=0, expected at least 1");
    return Status::ok();
  }

  Status listen(int device, void* handle, void** listenComm) override {
    *listenComm = nullptr;
    Status done;
    if constexpr (Version >= 11) {
      done = checked("listen", [&] { return table_.listen(context_, device, handle, listenComm); });
    } else {
      done = checked("listen", [&] { return table_.listen(device, handle, listenComm); });
    }
    return done && *listenComm == nullptr ? failed("listen", "returned success and no communicator") : done;
  }

  Status connect(int device, void* handle, void** sendComm) override {
    *sendComm = nullptr;
    [[maybe_unused]] void* offload = nullptr;  // no offload is requested
    if constexpr (Version >= 11) {
      return pending("connect", [&] { return table_.connect(context_, device, handle, sendComm, &offload); });
    } else if constexpr (Version == 10) {
      return pending("connect", [&] { return table_.connect(device, &config_, handle, sendComm, &offload); });
    } else if constexpr (Version == 6) {
      return pending("connect", [&] { return table_.connect(device, handle, sendComm); });
    } else {
      return pending("connect", [&] { return table_.connect(device, handle, sendComm, &offload); });
    }
  }

  Status accept(void* listenComm, void** recvComm) override {
    *recvComm = nullptr;
    if constexpr (Version == 6) {
      return pending("accept", [&] { return table_.accept(listenComm, recvComm); });
    } else {
      void* offload = nullptr;
      return pending("accept", [&] { return table_.accept(listenComm, recvComm, &offload); });
    }
  }

  Status registerMemory(void* comm, void* data, size_t bytes, int type, void** memory) override {
    *memory = nullptr;
    using RegisteredSize = typename NetSignatures<Version>::RegisteredSize;
    if (Status fits = requireFits<RegisteredSize>("regMr", bytes); !fits) return fits;
    return checked("regMr", [&] { return table_.regMr(comm, data, static_cast<RegisteredSize>(bytes), type, memory); });
  }

  Status registerDmaBuf(void* comm, void* data, size_t bytes, int descriptor, void** memory) override {
    *memory = nullptr;
    if (table_.regMrDmaBuf == nullptr) return failed("regMrDmaBuf", "is missing");
    return checked("regMrDmaBuf",
                   [&] { return table_.regMrDmaBuf(comm, data, bytes, kPointerCuda, 0, descriptor, memory); });
  }

  Status deregister(void* comm, void* memory) override {
    return checked("deregMr", [&] { return table_.deregMr(comm, memory); });
  }

  Status send(void* comm, void* data, size_t bytes, int tag, void* memory, void** request) override {
    *request = nullptr;
    if (Status fits = requireFits<Size>("isend", bytes); !fits) return fits;
    const auto size = static_cast<Size>(bytes);
    if constexpr (Version >= 10) {
      return checked("isend", [&] { return table_.isend(comm, data, size, tag, memory, nullptr, request); });
    } else {
      return checked("isend", [&] { return table_.isend(comm, data, size, tag, memory, request); });
    }
  }

  Status receive(void* comm, int n, void** data, size_t* bytes, int* tags, void** memory, void** request) override {
    *request = nullptr;
    std::vector<Size> sizes(static_cast<size_t>(n));
    for (int i = 0; i < n; ++i) {
      if (Status fits = requireFits<Size>("irecv", bytes[i]); !fits) return fits;
      sizes[static_cast<size_t>(i)] = static_cast<Size>(bytes[i]);
    }
    if constexpr (Version >= 10) {
      std::vector<void*> events(static_cast<size_t>(n));
      return checked("irecv",
                     [&] { return table_.irecv(comm, n, data, sizes.data(), tags, memory, events.data(), request); });
    } else {
      return checked("irecv", [&] { return table_.irecv(comm, n, data, sizes.data(), tags, memory, request); });
    }
  }

  Status flush(void* comm, void* data, int bytes, void* memory, void** request) override {
    *request = nullptr;
    if (table_.iflush == nullptr) return failed("iflush", "is missing");
    return checked("iflush", [&] { return table_.iflush(comm, 1, &data, &bytes, &memory, request); });
  }

  Status test(void* request, bool* done, int* bytes) override {
    int isDone = 0;
    std::array<int, kMaxReceives> sizes{};
    Status tested = checked("test", [&] { return table_.test(request, &isDone, sizes.data()); });
    *done = tested && isDone != 0;
    *bytes = sizes[0];
    return tested;
  }

  Status closeSend(void* comm) override {
    return checked("closeSend", [&] { return table_.closeSend(comm); });
  }
  Status closeReceive(void* comm) override {
    return checked("closeRecv", [&] { return table_.closeRecv(comm); });
  }
  Status closeListen(void* comm) override {
    return checked("closeListen", [&] { return table_.closeListen(comm); });
  }

  Status finalize() override {
    if constexpr (Version >= 11) {
      if (table_.finalize == nullptr || context_ == nullptr) return Status::ok();
      return checked("finalize", [&] { return table_.finalize(std::exchange(context_, nullptr)); });
    }
    return Status::ok();
  }

 private:
  template <typename As>
  Status requireFits(const char* function, size_t bytes) const {
    if (sizeof(As) == sizeof(size_t) || bytes <= INT_MAX) return Status::ok();
    return failed(function, "takes at most " + std::to_string(INT_MAX) +
                                " bytes in this version, bytes=" + std::to_string(bytes));
  }

  Status failed(const char* function, const std::string& why) const {
    return Status::transport(watch().who() + ": " + function + " " + why);
  }

  Status statusOf(const char* function, Result result) const {
    if (__builtin_expect(result == kSuccess, 1)) return Status::ok();
    return failed(function, "returned " + std::to_string(result) + " (" + textOf(result) + "); see what it logged");
  }

  template <typename Call>
  Status checked(const char* function, Call call) {
    return statusOf(function, watch().around(function, call));
  }

  // Like checked(), for functions that are called again until they are done.
  template <typename Call>
  Status pending(const char* function, Call call) {
    const Result result = watch().around(function, call);
    return result == kInProgress ? Status::ok() : statusOf(function, result);
  }

  const Table& table_;
  void* context_ = nullptr;
  CommConfig config_;
};

}  // namespace

Status openNetPlugin(const std::string& name, std::shared_ptr<NetPlugin>* plugin) {
  return openVersioned<NetPluginOf, kOldestVersion, kNewestVersion>(name, kNetNames, kNetNames.prefix, plugin);
}

}  // namespace jccl::plugin
