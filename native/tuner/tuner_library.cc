#include "tuner/tuner_library.h"

#include <algorithm>

#include "base/kept_handlers.h"
#include "base/log.h"
#include "plugin/plugin_versions.h"

namespace jccl::plugin {
namespace {

constexpr PluginNames kTunerNames = {"it is no tuner plug-in, or has a version that JCCL does not know",
                                     "libnccl-tuner", "ncclTunerPlugin_v"};

// Rows of the table of costs, and the column of SIMPLE.
constexpr int kCollNetChain = 3;
constexpr int kNvls = 4;
constexpr int kNvlsTree = 5;
constexpr int kSimple = 2;

size_t entryOf(int algorithm, int protocol) {
  return static_cast<size_t>(algorithm) * kTunerProtocols + static_cast<size_t>(protocol);
}

bool has(std::span<const float, kTunerCosts> costs, int algorithm) {
  return costs[entryOf(algorithm, kSimple)] != kIgnoredCost;
}

template <int Version>
class TunerOf final : public TunerPlugin {
 public:
  using Table = TunerTable<Version>;

  TunerOf(const Table& table, const std::string& file)
      : TunerPlugin(textOr(table.name, "unnamed"), Version, file), table_(table) {}

  ~TunerOf() override { end(); }

  static const char* missing(const Table& table) {
    if (table.init == nullptr) return "init";
    if (table.getCollInfo == nullptr) return "getCollInfo";
    return table.finalize == nullptr ? Version >= 5 ? "finalize" : "destroy" : nullptr;
  }

  Status init(const TunerCommunicator& of) override {
    const Logger logger = pluginLogger(PluginKind::Tuning);
    const KeptHandlers kept(description());
    Status done;
    if constexpr (Version >= 5) {
      NvlDomains domains = {static_cast<int>(of.hosts), of.minLocalRanks, of.maxLocalRanks};
      // JCCL's predictions use constants of their own. So the plug-in receives zeros in place of NCCL's constants, and
      // constants that the plug-in sets change nothing.
      TunerConstantsOf<Version> constants{};
      done = checked("init", table_.init(&context_, of.id, of.ranks, of.hosts, logger, &domains, &constants));
      const auto bytes = std::as_bytes(std::span(&constants, 1));
      if (done && std::any_of(bytes.begin(), bytes.end(), [](std::byte byte) { return byte != std::byte{0}; })) {
        logMessage(LogLevel::Info, "tuner-plugin",
                   description() + ": init set constants of NCCL's cost model, which are not used here");
      }
    } else {
      done = checked("init", table_.init(of.ranks, of.hosts, logger, &context_));
    }
    initialized_ = done.isOk();
    return done;
  }

  Status ask(int function, size_t bytes, std::span<float, kTunerCosts> costs, int* channels) override {
    *channels = 0;
    if constexpr (Version == 2) {
      int algorithm = kTunerUndefined;
      int protocol = kTunerUndefined;
      const int nvls = has(costs, kNvls) || has(costs, kNvlsTree) ? 1 : 0;
      Status asked =
          checked("getCollInfo", table_.getCollInfo(context_, function, bytes, has(costs, kCollNetChain) ? 1 : 0, nvls,
                                                    1, &algorithm, &protocol, channels));
      return asked ? prefer(algorithm, protocol, costs) : asked;
    } else {
      auto** table = reinterpret_cast<float**>(costs.data());
      if constexpr (Version == 3) {
        return checked("getCollInfo", table_.getCollInfo(context_, function, bytes, 1, table, kTunerAlgorithms,
                                                         kTunerProtocols, channels));
      } else {
        return checked("getCollInfo", table_.getCollInfo(context_, function, bytes, 1, table, kTunerAlgorithms,
                                                         kTunerProtocols, 0, channels));
      }
    }
  }

  Status askChunk(int function, size_t bytes, int algorithm, int protocol, int channels, size_t* chunkBytes) override {
    if constexpr (Version >= 6) {
      if (table_.getChunkSize == nullptr) return Status::ok();
      return checked("getChunkSize",
                     table_.getChunkSize(context_, function, bytes, algorithm, protocol, channels, chunkBytes));
    } else {
      return Status::ok();
    }
  }

  void finalize() override { end(); }

 private:
  void end() {
    if (!initialized_) return;
    initialized_ = false;
    if (Status done = checked(Version >= 5 ? "finalize" : "destroy", table_.finalize(context_)); !done) {
      logMessage(LogLevel::Warn, "tuner-plugin", done.message());
    }
  }

  // Version 2 returns its preferred combination. Plug-ins of later versions set the cost of that combination to 0, so
  // this function does the same.
  Status prefer(int algorithm, int protocol, std::span<float, kTunerCosts> costs) const {
    if (algorithm == kTunerUndefined && protocol == kTunerUndefined) return Status::ok();
    if (algorithm < 0 || algorithm >= kTunerAlgorithms || protocol < 0 || protocol >= kTunerProtocols) {
      return Status::invalid(description() + ": getCollInfo prefers algorithm=" + std::to_string(algorithm) +
                             " protocol=" + std::to_string(protocol) + ", expected 0 to " +
                             std::to_string(kTunerAlgorithms - 1) + " and 0 to " + std::to_string(kTunerProtocols - 1) +
                             ", or -1 for both");
    }
    costs[entryOf(algorithm, protocol)] = 0;
    return Status::ok();
  }

  std::string description() const { return describePlugin("tuner", name(), file(), Version); }

  Status checked(const char* function, Result result) const {
    if (result == kSuccess) return Status::ok();
    return {Code::System, description() + ": " + function + " returned " + std::to_string(result) + " (" +
                              textOf(result) + "); see what it logged"};
  }

  const Table& table_;
  void* context_ = nullptr;
  bool initialized_ = false;
};

}  // namespace

Status openTunerPlugin(const std::string& name, std::shared_ptr<TunerPlugin>* tuner) {
  return openVersioned<TunerOf, kOldestTuner, kNewestTuner>(name, kTunerNames, kTunerNames.prefix, tuner);
}

Status openTunerPluginOfNetwork(const std::string& name, std::shared_ptr<TunerPlugin>* tuner) {
  return openVersioned<TunerOf, kOldestTuner, kNewestTuner>(name, kTunerNames, kNetPrefix, tuner);
}

}  // namespace jccl::plugin
