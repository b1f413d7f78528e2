// A profiler plug-in for tests. Implements the interface of NCCL's plug-ins like any other plug-in. This file has a
// table for each version of the interface; each test library exports that of one version. The plug-in appends a line
// for each call to the file LIBRARY.PID.events: processes that share the library write to different files.
//
// The environment variable JCCL_TEST_PROFILER configures the plug-in, or else the file LIBRARY.conf. A number is the
// activation mask; without one the plug-in activates all events that it knows. Other values: "init" makes
// initialisation fail; "fails" makes each start of an event fail; "hangs" never returns from init; "stays" never
// returns from finalize.
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <iterator>
#include <mutex>
#include <sstream>
#include <string>

#include "profiler/profiler_abi.h"

namespace jccl::plugin {
namespace {

constexpr Result kSystemError = 2;
constexpr Result kInternalError = 3;
constexpr int kAll = 0x7fff;

std::string ownFile() {
  Dl_info info{};
  static const int here = 0;
  return ::dladdr(&here, &info) == 0 ? "" : info.dli_fname;
}

std::string wanted() {
  if (const char* text = std::getenv("JCCL_TEST_PROFILER")) return text;  // NOLINT(concurrency-mt-unsafe): set before
  std::ifstream file(ownFile() + ".conf");
  std::string text;
  file >> text;
  return text;
}

void note(const std::string& line) {
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  std::ofstream(ownFile() + "." + std::to_string(::getpid()) + ".events", std::ios::app) << line << "\n";
}

// An event by its name in the file. Lives until finalize, because a stopped event can still be a parent.
struct Event {
  std::string name;
};

struct Context {
  int rank = 0;
  bool fails = false;
  bool stays = false;
  std::mutex mutex;
  std::deque<Event> events;
};

std::atomic<int> events{0};

Result begin(void** context, int* mask, int rank, const std::string& more) {
  const std::string text = wanted();
  note("init rank=" + std::to_string(rank) + more);
  if (text == "init") return kSystemError;
  while (text == "hangs") ::pause();
  auto* made = new Context;
  made->rank = rank;
  made->fails = text == "fails";
  made->stays = text == "stays";
  const bool isNumber = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  *mask = isNumber ? std::stoi(text) : kAll;
  *context = made;
  return kSuccess;
}

std::string nameOf(const void* event) { return event == nullptr ? "-" : static_cast<const Event*>(event)->name; }

template <typename Text>
std::string textOf(const Text& text) {
  if constexpr (std::is_integral_v<Text>) {
    return std::to_string(text);
  } else {
    return text == nullptr ? "null" : text;
  }
}

template <typename Part>
const auto& since5(const Part& part) {
  if constexpr (requires { part.since5; }) {
    return part.since5;
  } else {
    return part;
  }
}

template <typename Part>
std::string describeCommunicator([[maybe_unused]] const Part& part) {
  if constexpr (requires { part.commHash; }) {
    return " communicator=" + std::string(part.name) + " id=" + std::to_string(part.commHash);
  } else {
    return "";
  }
}

template <typename Part>
std::string parentGroup([[maybe_unused]] const Part& part) {
  if constexpr (requires { part.parentGroup; }) {
    return " group=" + nameOf(part.parentGroup);
  } else {
    return "";
  }
}

template <typename Coll>
std::string describeColl(const Coll& coll) {
  return " func=" + textOf(coll.function) + " seq=" + std::to_string(coll.sequence) +
         " count=" + std::to_string(coll.count) + " type=" + textOf(coll.type) + " root=" + std::to_string(coll.root) +
         " algo=" + textOf(coll.algorithm) + " proto=" + textOf(coll.protocol) +
         " channels=" + std::to_string(coll.channels) + parentGroup(coll) + describeCommunicator(coll);
}

template <typename P2p>
std::string describeP2p(const P2p& p2p) {
  return " func=" + textOf(p2p.function) + " count=" + std::to_string(p2p.count) + " type=" + textOf(p2p.type) +
         " peer=" + std::to_string(p2p.peer) + parentGroup(p2p) + describeCommunicator(p2p);
}

template <int Version>
std::string describe(const ProfilerDescriptor<Version>& of) {
  const auto type = static_cast<uint64_t>(of.type);
  if (type == kProfileGroup) return "group";
  if (type == kProfileColl) return "coll" + describeColl(since5(of.coll));
  if (type == kProfileP2p) return "p2p" + describeP2p(since5(of.p2p));
  if constexpr (Version >= 5) {
    if (type == kProfileGroupApi) return "group_api depth=" + std::to_string(of.groupApi.depth);
    if (type == kProfileCollApi) {
      const auto& call = since5(of.collApi);
      return "coll_api func=" + textOf(call.function) + " count=" + std::to_string(call.count);
    }
    if (type == kProfileP2pApi) {
      const auto& call = since5(of.p2pApi);
      return "p2p_api func=" + textOf(call.function) + " count=" + std::to_string(call.count);
    }
  }
  return "unknown type=" + std::to_string(type);
}

template <int Version>
Result startEvent(void* context, void** event, ProfilerDescriptor<Version>* of) {
  auto& mine = *static_cast<Context*>(context);
  if (mine.fails) return kInternalError;
  Event* made = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mine.mutex);
    made = &mine.events.emplace_back(Event{std::string(1, 'e').append(std::to_string(events.fetch_add(1)))});
  }
  note("start " + made->name + " rank=" + std::to_string(of->rank) + " parent=" + nameOf(of->parent) + " " +
       describe<Version>(*of));
  *event = made;
  return kSuccess;
}

Result stopEvent(void* event) {
  note("stop " + nameOf(event));
  return kSuccess;
}

Result recordEventState(void* event, int state, void* /*arguments*/) {
  note("state " + nameOf(event) + " " + std::to_string(state));
  return kSuccess;
}

Result finish(void* context) {
  while (static_cast<Context*>(context)->stays) ::pause();
  note("finalize rank=" + std::to_string(static_cast<Context*>(context)->rank));
  delete static_cast<Context*>(context);
  return kSuccess;
}

std::string describeShape(uint64_t id, const char* name, int hosts, int ranks) {
  return " communicator=" + std::string(name) + " id=" + std::to_string(id) + " hosts=" + std::to_string(hosts) +
         " ranks=" + std::to_string(ranks);
}

Result initUntil3(void** context, int* mask) { return begin(context, mask, -1, ""); }

template <int Version>
Result initSince4(void** context, int* mask, const char* name, uint64_t id, int hosts, int ranks, int rank,
                  Logger logger) {
  logger(kLogInfo, ~0UL, __FILE__, __LINE__, "PROFILER/Test : version %d", Version);
  return begin(context, mask, rank, describeShape(id, name, hosts, ranks));
}

template <int Version>
Result initSince5(void** context, uint64_t id, int* mask, const char* name, int hosts, int ranks, int rank,
                  Logger logger) {
  return initSince4<Version>(context, mask, name, id, hosts, ranks, rank, logger);
}

template <int Version>
constexpr ProfilerInit<Version> initOf() {
  if constexpr (Version >= 5) {
    return initSince5<Version>;
  } else if constexpr (Version == 4) {
    return initSince4<Version>;
  } else {
    return initUntil3;
  }
}

template <int Version>
constexpr ProfilerTable<Version> table() {
  return {"Test", initOf<Version>(), startEvent<Version>, stopEvent, recordEventState, finish};
}

}  // namespace
}  // namespace jccl::plugin

#define JCCL_EXPORT(version)                                                                   \
  extern "C" __attribute__((visibility("default"))) const jccl::plugin::ProfilerTable<version> \
      ncclProfiler_v##version = jccl::plugin::table<version>()

JCCL_EXPORT(1);
JCCL_EXPORT(2);
JCCL_EXPORT(3);
JCCL_EXPORT(4);
JCCL_EXPORT(5);
JCCL_EXPORT(6);
JCCL_EXPORT(7);
