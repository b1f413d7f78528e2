// Natives of io.jccl.profiler.NativeProfiler.
#include <array>

#include "engine/operation.h"
#include "io_jccl_parts_OperationProfiler.h"
#include "io_jccl_profiler_NativeProfiler.h"
#include "jni/java_constants.h"
#include "jni/jni_support.h"
#include "plugin/plugin_file.h"
#include "profiler/profiler_library.h"

#define JAVA(name) io_jccl_parts_OperationProfiler_##name

namespace {

using namespace jccl;
using namespace jccl::jni;
using plugin::ProfiledOperation;
using plugin::ProfilerPlugin;

thread_local LastFailure lastFailure;

ProfilerPlugin& profilerOf(jlong handle) { return **reinterpret_cast<std::shared_ptr<ProfilerPlugin>*>(handle); }

constexpr uint8_t kNoNumber = 255;

// The name of an enum's value in NCCL's style, and NCCL's number of that value; kNoNumber if NCCL has no such value.
struct NcclName {
  const char* name;
  uint8_t number;
};

template <size_t Count>
NcclName at(const std::array<NcclName, Count>& names, int64_t index) {
  return index >= 0 && index < static_cast<int64_t>(Count) ? names[static_cast<size_t>(index)]
                                                           : NcclName{"Unknown", kNoNumber};
}

// Names and numbers by the values of Collective, DataType, Algorithm and Protocol. Values that NCCL lacks also have a
// name.
constexpr std::array<NcclName, kCollectiveCount> kFunctions = {{{"AllReduce", 4},
                                                                {"Reduce", 1},
                                                                {"Broadcast", 0},
                                                                {"AllGather", 2},
                                                                {"ReduceScatter", 3},
                                                                {"AlltoAll", kNoNumber},
                                                                {"Gather", kNoNumber},
                                                                {"Scatter", kNoNumber},
                                                                {"SendRecv", 5},
                                                                {"Barrier", kNoNumber},
                                                                {"Scan", kNoNumber},
                                                                {"Exscan", kNoNumber}}};
constexpr NcclName kSend = {"Send", 6};
constexpr NcclName kRecv = {"Recv", 7};
constexpr std::array<NcclName, kDataTypeCount> kTypes = {{{"ncclInt8", 0},
                                                          {"ncclUint8", 1},
                                                          {"ncclInt32", 2},
                                                          {"ncclUint32", 3},
                                                          {"ncclInt64", 4},
                                                          {"ncclUint64", 5},
                                                          {"ncclFloat16", 6},
                                                          {"ncclBfloat16", 9},
                                                          {"ncclFloat32", 7},
                                                          {"ncclFloat64", 8},
                                                          {"ncclFloat8e4m3", 10},
                                                          {"ncclFloat8e5m2", 11},
                                                          {"int16", kNoNumber},
                                                          {"uint16", kNoNumber}}};
constexpr std::array<NcclName, kAlgorithmCount> kAlgorithms = {
    {{"RING", 1}, {"TREE", 0}, {"DIRECT", kNoNumber}, {"NVLS", 4}, {"COLLNET_DIRECT", 2}, {"COLLNET_CHAIN", 3}}};
constexpr std::array<NcclName, kProtocolCount> kProtocols = {{{"LL", 0}, {"LL128", 1}, {"SIMPLE", 2}}};
// Fails to compile if Collective, DataType or Algorithm gets another value and no name is added here.
static_assert(kFunctions.back().name != nullptr && kTypes.back().name != nullptr && kAlgorithms.back().name != nullptr);
// NCCL's numbers of sum, prod, min, max and avg.
constexpr std::array<uint32_t, 5> kOps = {0, 1, 3, 2, 4};

static_assert(isLayout({JAVA(KIND), JAVA(COLLECTIVE), JAVA(TYPE), JAVA(OP), JAVA(ALGORITHM), JAVA(PROTOCOL),
                        JAVA(CHANNELS), JAVA(SEQUENCE), JAVA(COUNT), JAVA(BYTES), JAVA(ROOT), JAVA(SEND_ADDRESS),
                        JAVA(RECV_ADDRESS)},
                       JAVA(COLUMNS)));

ProfiledOperation read(const int64_t* row) {
  ProfiledOperation one;
  one.isTransfer = row[JAVA(KIND)] != JAVA(KIND_COLLECTIVE);
  const NcclName function = row[JAVA(KIND)] == JAVA(KIND_SEND)   ? kSend
                            : row[JAVA(KIND)] == JAVA(KIND_RECV) ? kRecv
                                                                 : at(kFunctions, row[JAVA(COLLECTIVE)]);
  const NcclName type = at(kTypes, row[JAVA(TYPE)]);
  const NcclName algorithm = at(kAlgorithms, row[JAVA(ALGORITHM)]);
  const NcclName protocol = at(kProtocols, row[JAVA(PROTOCOL)]);
  one.function = function.name;
  one.functionNumber = function.number;
  one.type = type.name;
  one.typeNumber = type.number;
  one.algorithm = algorithm.name;
  one.algorithmNumber = algorithm.number;
  one.protocol = protocol.name;
  one.protocolNumber = protocol.number;
  one.op = row[JAVA(OP)] >= 0 && row[JAVA(OP)] < static_cast<int64_t>(kOps.size())
               ? kOps[static_cast<size_t>(row[JAVA(OP)])]
               : kNoNumber;
  one.channels = static_cast<int>(row[JAVA(CHANNELS)]);
  one.sequence = static_cast<uint64_t>(row[JAVA(SEQUENCE)]);
  one.count = static_cast<size_t>(row[JAVA(COUNT)]);
  one.bytes = static_cast<size_t>(row[JAVA(BYTES)]);
  one.root = static_cast<int>(row[JAVA(ROOT)]);
  one.send = reinterpret_cast<const void*>(row[JAVA(SEND_ADDRESS)]);
  one.recv = reinterpret_cast<void*>(row[JAVA(RECV_ADDRESS)]);
  return one;
}

}  // namespace

JNIEXPORT jlong JNICALL Java_io_jccl_profiler_NativeProfiler_openPlugin(JNIEnv* env, jclass, jstring name,
                                                                        jboolean ofNetwork) {
  return guarded<jlong>(0, [&]() -> jlong {
    std::string text;
    if (!copyString(env, name, text)) return 0;
    auto profiler = std::make_unique<std::shared_ptr<ProfilerPlugin>>();
    const Status opened = ofNetwork == JNI_TRUE ? plugin::openProfilerPluginOfNetwork(text, profiler.get())
                                                : plugin::openProfilerPlugin(text, profiler.get());
    return lastFailure.codeOf(opened) == 0 ? reinterpret_cast<jlong>(profiler.release()) : 0;
  });
}

JNIEXPORT jstring JNICALL Java_io_jccl_profiler_NativeProfiler_description(JNIEnv* env, jclass, jlong handle) {
  return guarded<jstring>(nullptr, [&] {
    const ProfilerPlugin& profiler = profilerOf(handle);
    return newString(env, plugin::describePlugin("profiler", profiler.name(), profiler.file(), profiler.version()));
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_profiler_NativeProfiler_init(JNIEnv* env, jclass, jlong handle, jlong id,
                                                                 jstring name, jint hosts, jint ranks, jint rank) {
  return guardedCode([&]() -> jint {
    plugin::ProfilerCommunicator communicator;
    if (!copyString(env, name, communicator.name)) return static_cast<jint>(Code::Invalid);
    communicator.id = static_cast<uint64_t>(id);
    communicator.hosts = hosts;
    communicator.ranks = ranks;
    communicator.rank = rank;
    return lastFailure.codeOf(profilerOf(handle).init(communicator));
  });
}

JNIEXPORT jlong JNICALL Java_io_jccl_profiler_NativeProfiler_start(JNIEnv* env, jclass, jlong handle, jlongArray rows) {
  return guarded<jlong>(0, [&]() -> jlong {
    if (profilerOf(handle).mask() == 0) return 0;
    std::vector<int64_t> numbers;
    if (!copyLongs(env, rows, numbers)) return 0;
    std::vector<ProfiledOperation> operations;
    for (size_t at = 0; at + JAVA(COLUMNS) <= numbers.size(); at += JAVA(COLUMNS))
      operations.push_back(read(&numbers[at]));
    return reinterpret_cast<jlong>(profilerOf(handle).start(operations));
  });
}

JNIEXPORT void JNICALL Java_io_jccl_profiler_NativeProfiler_stop(JNIEnv*, jclass, jlong handle, jlong events) {
  guarded<int>(0, [&] {
    profilerOf(handle).stop(reinterpret_cast<ProfilerPlugin::Events*>(events));
    return 0;
  });
}

JNIEXPORT void JNICALL Java_io_jccl_profiler_NativeProfiler_close(JNIEnv*, jclass, jlong handle) {
  guarded<int>(0, [&] {
    const std::unique_ptr<std::shared_ptr<ProfilerPlugin>> profiler(
        reinterpret_cast<std::shared_ptr<ProfilerPlugin>*>(handle));
    (*profiler)->finalize();
    return 0;
  });
}

JNIEXPORT jstring JNICALL Java_io_jccl_profiler_NativeProfiler_lastError(JNIEnv* env, jclass) {
  return guarded<jstring>(nullptr, [&] { return newString(env, reasonOr(lastFailure.text())); });
}
