#include "profiler/profiler_library.h"

#include <atomic>
#include <map>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "base/kept_handlers.h"
#include "base/log.h"
#include "plugin/plugin_versions.h"

namespace jccl::plugin {

struct ProfilerPlugin::Events {
  void* group = nullptr;
  std::vector<void*> operations;
};

namespace {

constexpr PluginNames kProfilerNames = {"it is no profiler plug-in, or has a version that JCCL does not know",
                                        "libnccl-profiler", "ncclProfiler_v"};

// Masks of the types for which JCCL creates an event: its own type, and the types of the events that it contains.
constexpr int kCollMask = kProfileColl;
constexpr int kP2pMask = kProfileP2p;
constexpr int kGroupMask = kProfileGroup | kCollMask | kP2pMask;
constexpr int kCollApiMask = kProfileCollApi | kCollMask;
constexpr int kP2pApiMask = kProfileP2pApi | kP2pMask;
constexpr int kGroupApiMask = kProfileGroupApi | kCollApiMask | kP2pApiMask | kGroupMask;

// Returns a plug-in's activation mask. The plug-in keeps the address and may change the mask at any time while the
// process lives.
int* maskOf(const void* table) {
  static std::mutex mutex;
  static auto* masks = new std::map<const void*, int>;
  const std::lock_guard<std::mutex> lock(mutex);
  return &(*masks)[table];
}

template <int Version>
class ProfilerOf final : public ProfilerPlugin {
 public:
  using Table = ProfilerTable<Version>;
  using Descriptor = ProfilerDescriptor<Version>;

  ProfilerOf(const Table& table, const std::string& file)
      : ProfilerPlugin(textOr(table.name, "unnamed"), Version, file), table_(table), mask_(maskOf(&table)) {}

  ~ProfilerOf() override { endAll(); }

  static const char* missing(const Table& table) {
    if (table.init == nullptr) return "init";
    if (table.startEvent == nullptr) return "startEvent";
    if (table.stopEvent == nullptr) return "stopEvent";
    if (table.recordEventState == nullptr) return "recordEventState";
    return table.finalize == nullptr ? "finalize" : nullptr;
  }

  Status init(const ProfilerCommunicator& communicator) override {
    communicator_ = communicator;
    const ProfilerCommunicator& of = communicator_;
    const Logger logger = pluginLogger(PluginKind::Profiling);
    const KeptHandlers kept(description());
    Result result = kSuccess;
    if constexpr (Version >= 5) {
      result = table_.init(&context_, of.id, mask_, of.name.c_str(), of.hosts, of.ranks, of.rank, logger);
    } else if constexpr (Version == 4) {
      result = table_.init(&context_, mask_, of.name.c_str(), of.id, of.hosts, of.ranks, of.rank, logger);
    } else {
      result = table_.init(&context_, mask_);
    }
    if (result == kSuccess) return Status::ok();
    context_ = nullptr;  // init may have stored a pointer, but after its failure finalize must not be called
    return {Code::System, failure("init", result)};
  }

  int mask() const override { return __atomic_load_n(mask_, __ATOMIC_RELAXED); }

  Events* start(std::span<const ProfiledOperation> operations) override {
    const int mask = this->mask();
    if ((mask & (Version >= 5 ? kGroupApiMask : kGroupMask)) == 0) return nullptr;
    auto events = std::make_unique<Events>();
    void* groupApi = nullptr;
    std::vector<void*> calls(operations.size());
    if constexpr (Version >= 5) {
      groupApi = startGroupApi(operations);
      for (size_t i = 0; i < operations.size(); ++i) calls[i] = startCall(operations[i], mask, groupApi);
      for (void* call : calls) stop("stopEvent", call);
      record(groupApi, kGroupEndStarts);
    }
    if ((mask & kGroupMask) != 0) events->group = startGroup();
    for (size_t i = 0; i < operations.size(); ++i) {
      if ((mask & (operations[i].isTransfer ? kP2pMask : kCollMask)) == 0) continue;
      void* event = startOperation(operations[i], calls[i], events->group);
      if (event != nullptr) events->operations.push_back(event);
    }
    stop("stopEvent", groupApi);
    const std::lock_guard<std::mutex> lock(mutex_);
    return *live_.insert(events.release()).first;
  }

  void stop(Events* events) override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (live_.erase(events) == 0) return;
    }
    end(events);
  }

  void finalize() override { endAll(); }

 private:
  void endAll() {
    std::unordered_set<Events*> left;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      left.swap(live_);
    }
    for (Events* events : left) end(events);
    // Like NCCL, does not call finalize without a context.
    if (context_ != nullptr) report("finalize", table_.finalize(context_));
    context_ = nullptr;
  }

  void end(Events* events) {
    for (auto event = events->operations.rbegin(); event != events->operations.rend(); ++event) {
      stop("stopEvent", *event);
    }
    stop("stopEvent", events->group);
    delete events;
  }

  Descriptor descriptor(int type, void* parent) const {
    Descriptor made{};
    made.type = static_cast<decltype(made.type)>(type);
    made.parent = parent;
    made.rank = communicator_.rank;
    return made;
  }

  void* startEvent(Descriptor& made) {
    void* event = nullptr;
    report("startEvent", table_.startEvent(context_, &event, &made));
    return event;
  }

  void* startGroup() {
    Descriptor made = descriptor(kProfileGroup, nullptr);
    return startEvent(made);
  }

  void* startGroupApi(std::span<const ProfiledOperation> operations) {
    Descriptor made = descriptor(kProfileGroupApi, nullptr);
    made.groupApi.depth = operations.size() > 1 ? 1 : 0;
    void* event = startEvent(made);
    record(event, kGroupStartStops);
    return event;
  }

  // Starts the event of the application's call, which only enqueues an operation.
  void* startCall(const ProfiledOperation& one, int mask, void* parent) {
    if ((mask & (one.isTransfer ? kP2pApiMask : kCollApiMask)) == 0) return nullptr;
    Descriptor made = descriptor(one.isTransfer ? kProfileP2pApi : kProfileCollApi, parent);
    if (one.isTransfer) {
      auto& call = since5(made.p2pApi);
      call.function = one.function;
      call.count = one.count;
      call.type = one.type;
    } else {
      auto& call = since5(made.collApi);
      call.function = one.function;
      call.count = one.count;
      call.type = one.type;
      call.root = one.root;
    }
    return startEvent(made);
  }

  void* startOperation(const ProfiledOperation& one, void* call, void* group) {
    Descriptor made = descriptor(one.isTransfer ? kProfileP2p : kProfileColl, Version >= 5 ? call : group);
    if (one.isTransfer) {
      fill(since5(made.p2p), one, group);
    } else {
      fill(since5(made.coll), one, group);
    }
    return startEvent(made);
  }

  template <typename Coll>
  requires requires(Coll coll) { coll.sequence; }
  void fill(Coll& coll, const ProfiledOperation& one, [[maybe_unused]] void* group) const {
    nameCommunicator(coll);
    coll.sequence = one.sequence;
    coll.send = one.send;
    coll.recv = one.recv;
    coll.count = one.count;
    coll.root = one.root;
    coll.channels = static_cast<uint8_t>(one.channels);
    if constexpr (Version == 1) {
      coll.function = one.functionNumber;
      coll.type = one.typeNumber;
      coll.op = one.op;
      coll.algorithm = one.algorithmNumber;
      coll.protocol = one.protocolNumber;
    } else {
      coll.function = one.function;
      coll.type = one.type;
      coll.algorithm = one.algorithm;
      coll.protocol = one.protocol;
    }
    if constexpr (Version <= 2) coll.trafficBytes = one.bytes;
    if constexpr (Version >= 5) coll.parentGroup = group;
  }

  template <typename P2p>
  requires requires(P2p p2p) { p2p.peer; }
  void fill(P2p& p2p, const ProfiledOperation& one, [[maybe_unused]] void* group) const {
    nameCommunicator(p2p);
    p2p.buffer = one.recv;
    p2p.count = one.count;
    p2p.peer = one.root;
    if constexpr (Version == 1) {
      p2p.function = one.functionNumber;
      p2p.type = one.typeNumber;
    } else {
      p2p.function = one.function;
      p2p.type = one.type;
    }
    if constexpr (Version >= 4) p2p.channels = static_cast<uint8_t>(one.channels);
    if constexpr (Version >= 5) p2p.parentGroup = group;
  }

  // Up to version 3, every event contains the communicator's name, because init does not pass that name.
  template <typename Event>
  void nameCommunicator([[maybe_unused]] Event& event) const {
    if constexpr (Version <= 3) {
      event.name = communicator_.name.c_str();
      event.commHash = communicator_.id;
    }
  }

  template <typename Event>
  static auto& since5(Event& event) {
    if constexpr (requires { event.since5; }) {
      return event.since5;
    } else {
      return event;
    }
  }

  void stop(const char* function, void* event) {
    if (event != nullptr) report(function, table_.stopEvent(event));
  }

  void record(void* event, int state) {
    if (event != nullptr) report("recordEventState", table_.recordEventState(event, state, nullptr));
  }

  // A failure of an event has no consequence, as in NCCL. Only the first failure is logged.
  void report(const char* function, Result result) {
    if (result != kSuccess && !failed_.exchange(true)) {
      logMessage(LogLevel::Warn, "profiler-plugin", failure(function, result) + "; further failures are not logged");
    }
  }

  std::string description() const { return describePlugin("profiler", name(), file(), Version); }

  std::string failure(const char* function, Result result) const {
    return description() + ": " + function + " returned " + std::to_string(result) + " (" + textOf(result) +
           "); see what it logged";
  }

  const Table& table_;
  int* const mask_;
  ProfilerCommunicator communicator_;
  void* context_ = nullptr;
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::unordered_set<Events*> live_;
};

}  // namespace

Status openProfilerPlugin(const std::string& name, std::shared_ptr<ProfilerPlugin>* profiler) {
  return openVersioned<ProfilerOf, kOldestProfiler, kNewestProfiler>(name, kProfilerNames, kProfilerNames.prefix,
                                                                     profiler);
}

Status openProfilerPluginOfNetwork(const std::string& name, std::shared_ptr<ProfilerPlugin>* profiler) {
  return openVersioned<ProfilerOf, kOldestProfiler, kNewestProfiler>(name, kProfilerNames, kNetPrefix, profiler);
}

}  // namespace jccl::plugin
