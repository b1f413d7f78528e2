// A tuner plug-in for tests. Implements the interface of NCCL's plug-ins like any other plug-in. This file has a table
// for each version of the interface; each test library exports that of one version.
//
// The environment variable JCCL_TEST_TUNER configures the plug-in, or else the file LIBRARY.conf, where LIBRARY is the
// library's path. The text is one of:
//
//   ALGORITHM PROTOCOL [CHANNELS [MIN [MAX [CHUNK]]]]   prefers these, by NCCL's numbers, for MIN to MAX bytes
//   flip            prefers something else at each call
//   nan, infinite, negative, unknown, channels, nothing, chunk    answers with garbage
//   fails, init     the calls of operations fail; initialisation fails
//   hangs           initialisation never returns
//
// The plug-in appends a line for each call to the file JCCL_TEST_TUNER_LOG, or else to LIBRARY.log.
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <mutex>
#include <sstream>
#include <string>

#include "tuner/tuner_abi.h"

namespace jccl::plugin {
namespace {

constexpr Result kSystemError = 2;
constexpr Result kInternalError = 3;

std::string ownFile() {
  Dl_info info{};
  static const int here = 0;
  return ::dladdr(&here, &info) == 0 ? "" : info.dli_fname;
}

// Returns the text that configures the plug-in.
std::string wanted() {
  if (const char* text = std::getenv("JCCL_TEST_TUNER")) return text;  // NOLINT(concurrency-mt-unsafe): set before
  std::ifstream file(ownFile() + ".conf");
  return {std::istreambuf_iterator<char>(file), {}};
}

void note(const std::string& line) {
  const char* named = std::getenv("JCCL_TEST_TUNER_LOG");  // NOLINT(concurrency-mt-unsafe): set before
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  std::ofstream(named == nullptr ? ownFile() + ".log" : named, std::ios::app) << line << " pid=" << ::getpid() << "\n";
}

struct Context {
  const int version;
  std::string text = wanted();
  Logger logger = nullptr;
  int algorithm = kTunerUndefined;
  int protocol = kTunerUndefined;
  int channels = 0;
  size_t min = 0;
  size_t max = std::numeric_limits<size_t>::max();
  size_t chunk = 0;
  std::atomic<int> calls{0};

  explicit Context(int version) : version(version) {
    std::istringstream in(text);
    if (!(in >> algorithm >> protocol)) algorithm = protocol = kTunerUndefined;
    in >> channels >> min >> max >> chunk;
    if (max == 0) max = std::numeric_limits<size_t>::max();
  }
  bool is(const char* name) const { return text == name || text == std::string(name) + "\n"; }
};

template <int Version>
Result begin(void** context, size_t ranks, size_t nodes, Logger logger, const std::string& more) {
  auto* made = new Context(Version);
  made->logger = logger;
  note("init ranks=" + std::to_string(ranks) + " nodes=" + std::to_string(nodes) + more);
  logger(kLogInfo, ~0UL, __FILE__, __LINE__, "TUNER/Test : version %d prefers %s", Version, made->text.c_str());
  if (made->is("init")) {
    delete made;
    return kSystemError;
  }
  while (made->is("hangs")) ::pause();
  *context = made;
  return kSuccess;
}

// The plug-in's answer about an operation: the cost of one algorithm with one protocol.
struct Answer {
  Result result = kSuccess;
  int algorithm = kTunerUndefined;
  int protocol = kTunerUndefined;
  float cost = 0;
  bool ignoreAll = false;  // excludes every algorithm and protocol
};

Answer answer(Context& context, int function, size_t bytes, int* channels) {
  Answer said;
  note("ask function=" + std::to_string(function) + " bytes=" + std::to_string(bytes));
  const int call = context.calls.fetch_add(1);
  if (context.is("fails")) said.result = kInternalError;
  if (context.is("flip")) {
    said.algorithm = 1 - call % 2 * (function == 4 ? 1 : 0);
    said.protocol = call % 3;
    *channels = 1 + call % 2;
  }
  constexpr int kRing = 1;
  constexpr int kSimple = 2;
  if (context.is("nan")) said = {kSuccess, kRing, kSimple, std::nanf(""), false};
  if (context.is("infinite")) said = {kSuccess, kRing, kSimple, std::numeric_limits<float>::infinity(), false};
  if (context.is("negative")) said = {kSuccess, kRing, kSimple, -3, false};
  if (context.is("unknown")) said = {kSuccess, context.version == 2 ? 99 : 6, kSimple, 0, false};
  if (context.is("channels")) *channels = 1000;
  if (context.is("nothing")) said.ignoreAll = true;
  if (context.algorithm != kTunerUndefined && bytes >= context.min && bytes <= context.max) {
    said.algorithm = context.algorithm;
    said.protocol = context.protocol;
    *channels = context.channels;
  }
  return said;
}

Result ask2(void* context, int function, size_t bytes, int /*collnet*/, int /*nvls*/, int /*pipelined*/, int* algorithm,
            int* protocol, int* channels) {
  const Answer said = answer(*static_cast<Context*>(context), function, bytes, channels);
  *algorithm = said.algorithm;
  *protocol = said.protocol;
  return said.result;
}

Result fill(void* context, int function, size_t bytes, float** costs, int algorithms, int protocols, int* channels) {
  const Answer said = answer(*static_cast<Context*>(context), function, bytes, channels);
  auto* table = reinterpret_cast<float*>(costs);
  if (algorithms != kTunerAlgorithms || protocols != kTunerProtocols) return kInternalError;
  for (int i = 0; said.ignoreAll && i < kTunerCosts; ++i) table[i] = kIgnoredCost;
  if (said.algorithm != kTunerUndefined) table[said.algorithm * protocols + said.protocol] = said.cost;
  return said.result;
}

Result ask3(void* context, int function, size_t bytes, int /*pipelined*/, float** costs, int algorithms, int protocols,
            int* channels) {
  return fill(context, function, bytes, costs, algorithms, protocols, channels);
}

Result askSince4(void* context, int function, size_t bytes, int /*pipelined*/, float** costs, int algorithms,
                 int protocols, int /*registered*/, int* channels) {
  return fill(context, function, bytes, costs, algorithms, protocols, channels);
}

template <int Version>
constexpr TunerSignatures<Version>::GetInfo askOf() {
  if constexpr (Version == 2) {
    return ask2;
  } else if constexpr (Version == 3) {
    return ask3;
  } else {
    return askSince4;
  }
}

template <int Version>
Result initSince5(void** context, uint64_t id, size_t ranks, size_t nodes, Logger logger, NvlDomains* domains,
                  TunerConstantsOf<Version>* /*constants*/) {
  return begin<Version>(context, ranks, nodes, logger,
                        " id=" + std::to_string(id) + " domains=" + std::to_string(domains->count) + " of " +
                            std::to_string(domains->minRanks) + " to " + std::to_string(domains->maxRanks));
}
template <int Version>
Result initUntil4(size_t ranks, size_t nodes, Logger logger, void** context) {
  return begin<Version>(context, ranks, nodes, logger, "");
}

template <int Version>
constexpr TunerSignatures<Version>::Init initOf() {
  if constexpr (Version >= 5) {
    return initSince5<Version>;
  } else {
    return initUntil4<Version>;
  }
}

Result finish(void* context) {
  note("finalize");
  delete static_cast<Context*>(context);
  return kSuccess;
}

Result chunk(void* context, int /*function*/, size_t /*bytes*/, int /*algorithm*/, int /*protocol*/, int /*channels*/,
             size_t* chunkBytes) {
  const Context& of = *static_cast<Context*>(context);
  if (of.is("chunk")) *chunkBytes = 0;
  if (of.chunk != 0) *chunkBytes = of.chunk;
  return kSuccess;
}

template <int Version>
constexpr TunerTable<Version> table() {
  return {"Test", initOf<Version>(), askOf<Version>(), finish, Version >= 6 ? chunk : nullptr};
}

}  // namespace
}  // namespace jccl::plugin

#define JCCL_EXPORT(version)                                                                \
  extern "C" __attribute__((visibility("default"))) const jccl::plugin::TunerTable<version> \
      ncclTunerPlugin_v##version = jccl::plugin::table<version>()

JCCL_EXPORT(2);
JCCL_EXPORT(3);
JCCL_EXPORT(4);
JCCL_EXPORT(5);
JCCL_EXPORT(6);
JCCL_EXPORT(7);
