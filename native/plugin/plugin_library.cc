#include "plugin/plugin_library.h"

#include <climits>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "plugin/plugin_file.h"
#include "plugin/plugin_properties.h"

namespace jccl::plugin {
namespace {

constexpr const char* kNetPrefix = "libnccl-net";

Result ignoreEvent(void** /*event*/, int /*type*/, void* /*parent*/, int64_t /*pluginId*/, void* /*data*/) {
  return kSuccess;
}

template <int Version>
class NetPluginOf final : public NetPlugin {
  using Table = NetTable<Version>;
  using Size = typename NetSignatures<Version>::Size;

 public:
  NetPluginOf(const Table& table, const std::string& file)
      : NetPlugin(textOr(table.name, "unnamed"), Version, file), table_(table) {}

  ~NetPluginOf() override {
    if constexpr (Version >= 11) {
      if (context_ != nullptr && table_.finalize != nullptr) table_.finalize(context_);
    }
  }

  // The first function that is missing although this version requires it; null: all are there.
  static const char* missing(const Table& table) {
    const std::pair<const char*, bool> required[] = {
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
    };
    for (const auto& [name, there] : required) {
      if (!there) return name;
    }
    return nullptr;
  }

  Status init(uint64_t commId) override {
    if constexpr (Version >= 11) {
      return checked("init", table_.init(&context_, commId, &config_, pluginLogger(), ignoreEvent));
    } else {
      static std::mutex mutex;
      static auto* begun = new std::map<const Table*, Result>;
      const std::lock_guard lock(mutex);
      const auto [found, isFirst] = begun->try_emplace(&table_, kSuccess);
      if (isFirst) found->second = initOnce();
      return checked("init", found->second);
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

  Status connect(int device, void* handle, void** sendComm) override {
    *sendComm = nullptr;
    [[maybe_unused]] void* offload = nullptr;  // none is requested
    if constexpr (Version >= 11) {
      return pending("connect", table_.connect(context_, device, handle, sendComm, &offload));
    } else if constexpr (Version == 10) {
      return pending("connect", table_.connect(device, &config_, handle, sendComm, &offload));
    } else if constexpr (Version == 6) {
      return pending("connect", table_.connect(device, handle, sendComm));
    } else {
      return pending("connect", table_.connect(device, handle, sendComm, &offload));
    }
  }

  Status accept(void* listenComm, void** recvComm) override {
    *recvComm = nullptr;
    if constexpr (Version == 6) {
      return pending("accept", table_.accept(listenComm, recvComm));
    } else {
      void* offload = nullptr;
      return pending("accept", table_.accept(listenComm, recvComm, &offload));
    }
  }

  Status registerMemory(void* comm, void* data, size_t bytes, int type, void** memory) override {
    *memory = nullptr;
    using RegisteredSize = typename NetSignatures<Version>::RegisteredSize;
    if (Status fits = requireFits<RegisteredSize>("regMr", bytes); !fits) return fits;
    return checked("regMr", table_.regMr(comm, data, static_cast<RegisteredSize>(bytes), type, memory));
  }

  Status registerDmaBuf(void* comm, void* data, size_t bytes, int descriptor, void** memory) override {
    *memory = nullptr;
    if (table_.regMrDmaBuf == nullptr) return failed("regMrDmaBuf", "is missing");
    return checked("regMrDmaBuf", table_.regMrDmaBuf(comm, data, bytes, kPointerCuda, 0, descriptor, memory));
  }

  Status deregister(void* comm, void* memory) override { return checked("deregMr", table_.deregMr(comm, memory)); }

  Status send(void* comm, void* data, size_t bytes, int tag, void* memory, void** request) override {
    *request = nullptr;
    if (Status fits = requireFits<Size>("isend", bytes); !fits) return fits;
    const auto size = static_cast<Size>(bytes);
    if constexpr (Version >= 10) {
      return checked("isend", table_.isend(comm, data, size, tag, memory, nullptr, request));
    } else {
      return checked("isend", table_.isend(comm, data, size, tag, memory, request));
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
      return checked("irecv", table_.irecv(comm, n, data, sizes.data(), tags, memory, events.data(), request));
    } else {
      return checked("irecv", table_.irecv(comm, n, data, sizes.data(), tags, memory, request));
    }
  }

  Status flush(void* comm, void* data, int bytes, void* memory, void** request) override {
    *request = nullptr;
    if (table_.iflush == nullptr) return failed("iflush", "is missing");
    return checked("iflush", table_.iflush(comm, 1, &data, &bytes, &memory, request));
  }

  Status test(void* request, bool* done, int* sizes) override {
    int isDone = 0;
    Status tested = checked("test", table_.test(request, &isDone, sizes));
    *done = tested && isDone != 0;
    return tested;
  }

  Status closeSend(void* comm) override { return checked("closeSend", table_.closeSend(comm)); }
  Status closeReceive(void* comm) override { return checked("closeRecv", table_.closeRecv(comm)); }
  Status closeListen(void* comm) override { return checked("closeListen", table_.closeListen(comm)); }

 private:
  Result initOnce() const {
    if constexpr (Version == 10) return table_.init(pluginLogger(), ignoreEvent);
    if constexpr (Version < 10) return table_.init(pluginLogger());
    return kSuccess;
  }

  template <typename As>
  Status requireFits(const char* function, size_t bytes) const {
    if (sizeof(As) == sizeof(size_t) || bytes <= INT_MAX) return Status::ok();
    return failed(function, "takes at most " + std::to_string(INT_MAX) +
                                " bytes in this version, bytes=" + std::to_string(bytes));
  }

  Status failed(const char* function, const std::string& why) const {
    return Status::transport(describePlugin("net", name(), file(), Version) + ": " + function + " " + why);
  }

  Status checked(const char* function, Result result) const {
    if (__builtin_expect(result == kSuccess, 1)) return Status::ok();
    return failed(function, "returned " + std::to_string(result) + " (" + textOf(result) + "); see what it logged");
  }

  // Of functions that are called until they are done.
  Status pending(const char* function, Result result) const {
    return result == kInProgress ? Status::ok() : checked(function, result);
  }

  const Table& table_;
  void* context_ = nullptr;
  CommConfig config_;
};

// Those of a library, the newest first.
template <int Version>
Status choose(void* library, const std::string& file, std::string* incomplete, std::shared_ptr<NetPlugin>* plugin) {
  if constexpr (Version < kOldestVersion) {
    const std::string versions =
        "ncclNetPlugin_v" + std::to_string(kOldestVersion) + " to _v" + std::to_string(kNewestVersion);
    return {Code::System, "file=" + file + ": " +
                              (incomplete->empty() ? "exports none of " + versions +
                                                         "; it is no network plug-in, or of a version that is not known"
                                                   : *incomplete)};
  } else {
    const std::string symbol = "ncclNetPlugin_v" + std::to_string(Version);
    const auto* table = static_cast<const NetTable<Version>*>(symbolOf(library, symbol.c_str()));
    if (table != nullptr) {
      const char* missing = NetPluginOf<Version>::missing(*table);
      if (missing == nullptr) {
        *plugin = std::make_shared<NetPluginOf<Version>>(*table, file);
        return Status::ok();
      }
      if (incomplete->empty()) *incomplete = symbol + " has no " + missing;
    }
    return choose<Version - 1>(library, file, incomplete, plugin);
  }
}

}  // namespace

Status openNetPlugin(const std::string& name, std::shared_ptr<NetPlugin>* plugin) {
  return openPluginFile(name, kNetPrefix, [plugin](void* library, const std::string& file) {
    std::string incomplete;
    return choose<kNewestVersion>(library, file, &incomplete, plugin);
  });
}

}  // namespace jccl::plugin
