#include "plugin/net_devices.h"

#include <map>
#include <mutex>

#include "base/keep_mapped.h"
#include "base/limited_run.h"
#include "base/log.h"

namespace jccl::plugin {
namespace {

constexpr int kMaxDevices = 64;

// Plug-ins of a process are initialised one after the other, as with NCCL. A plug-in that never returns keeps its turn
// for ever; once it has been left behind, later plug-ins use a new turn and do not wait for it.
class Turns {
 public:
  using Turn = std::shared_ptr<std::mutex>;

  static Turn current() {
    const std::lock_guard lock(guard());
    return latest();
  }
  static void abandon(const Turn& turn) {
    const std::lock_guard lock(guard());
    if (latest() == turn) latest() = std::make_shared<std::mutex>();
  }

 private:
  // Never destroyed: threads held by a plug-in may use it late.
  static std::mutex& guard() {
    static auto* mutex = new std::mutex;
    return *mutex;
  }
  static Turn& latest() {
    static auto* turn = new Turn(std::make_shared<std::mutex>());
    return *turn;
  }
};

// The work of opening a plug-in, on a thread that the plug-in may hold for ever.
struct Opening {
  const Turns::Turn turn = Turns::current();
  std::mutex mutex;  // guards `plugin`
  std::shared_ptr<NetPlugin> plugin;
  std::vector<DeviceProperties> devices;
  Status result;

  void run(const std::string& name, uint64_t commId) {
    const std::lock_guard myTurn(*turn);
    std::shared_ptr<NetPlugin> opened;
    result = openNetPlugin(name, &opened);
    if (!result) return;
    {
      const std::lock_guard lock(mutex);
      plugin = opened;
    }
    result = begin(*opened, commId);
    if (result) return;
    if (Status ended = opened->finalize(); !ended) logMessage(LogLevel::Warn, "net", ended.message());
  }

  Status begin(NetPlugin& opened, uint64_t commId) {
    if (Status begun = opened.init(commId); !begun) return begun;
    int count = 0;
    if (Status counted = opened.devices(&count); !counted) return counted;
    if (count < 1 || count > kMaxDevices) {
      return {Code::System, opened.watch().who() + ": devices=" + std::to_string(count) + ", expected 1 to " +
                                std::to_string(kMaxDevices) + "; does this host have a card that it drives?"};
    }
    for (int i = 0; i < count; ++i) {
      DeviceProperties one;
      if (Status read = opened.properties(i, &one); !read) return read;
      one.number = i;
      if (one.reachesHost) devices.push_back(std::move(one));
    }
    if (devices.empty())
      return {Code::System, opened.watch().who() + ": none of its devices reaches memory of the host"};
    return Status::ok();
  }

  Status whyItHangs(int64_t limitNanos) {
    const std::lock_guard lock(mutex);
    // The first check notes the current call; the second one returns true if the plug-in is still in that call.
    // Otherwise the plug-in is slow but makes progress, and is left behind, too.
    if (plugin != nullptr && !plugin->watch().isStuck(0, limitNanos) &&
        plugin->watch().isStuck(limitNanos, limitNanos)) {
      return plugin->watch().error();
    }
    return Status::transport("has not been opened after " + std::to_string(limitNanos / 1'000'000) +
                             " ms, and is left behind");
  }
};

}  // namespace

Status openNetDevices(const std::string& name, uint64_t commId, int64_t limitNanos, NetDevices* opened) {
  const auto opening = std::make_shared<Opening>();
  bool isOver = false;
  Status result = runWithin(
      limitNanos, "jccl-plugin", [opening, name, commId] { opening->run(name, commId); }, &isOver);
  if (isOver) {
    result = opening->result;
    *opened = {opening->plugin, opening->devices};
  } else if (result) {
    result = opening->whyItHangs(limitNanos);
    const std::lock_guard lock(opening->mutex);
    opened->plugin = opening->plugin;
    Turns::abandon(opening->turn);
  }
  if (result) return result;
  return {result.code(), "net plug-in" + (name.empty() ? "" : " \"" + name + "\"") + ": " + result.message()};
}

Status probeNetDevices(const std::string& name, int64_t limitNanos, NetDevices* found) {
  static auto* mutex = new std::mutex;
  static auto* kept = new std::map<std::string, NetDevices>;
  {
    const std::lock_guard lock(*mutex);
    if (const auto known = kept->find(name); known != kept->end()) {
      *found = known->second;
      return Status::ok();
    }
  }
  Status opened = openNetDevices(name, 0, limitNanos, found);
  if (opened) keepMapped();  // the plug-in stays open and has the address of our log function
  const std::lock_guard lock(*mutex);
  // Another thread may have opened the plug-in meanwhile.
  if (opened && !kept->emplace(name, *found).second) return found->plugin->finalize();
  return opened;
}

}  // namespace jccl::plugin
