// Natives of io.jccl.nativelib.NativeEngine.
#include "base/clock.h"
#include "io_jccl_nativelib_NativeEngine.h"
#include "jni/engine_config.h"
#include "jni/host_call.h"
#include "jni/jni_support.h"
#include "jni/point_to_point_tasks.h"
#include "jni/rows.h"

namespace {

using namespace jccl;
using namespace jccl::jni;

Engine& engineOf(jlong handle) { return hostOf(handle).engine(); }

// Returns the choice that an operation used, which is never negative, or the code of its failure. One number holds
// both, because a second call from Java into native code would make a small operation 10 % slower.
template <typename Body>
jlong outcomeOf(jlong handle, Body&& body) {
  const jint code = guardedCode(body);
  return code == static_cast<jint>(Code::Ok) ? engineOf(handle).lastChoice().encode() : code;
}

uint64_t address(jlong value) { return static_cast<uint64_t>(value); }

// Returns None if `number` denotes no transport; every method that takes a transport refuses None.
TransportKind transportOf(jint number) {
  return number >= 0 && number < kTransportKinds ? static_cast<TransportKind>(number) : TransportKind::None;
}

#define JAVA(name) io_jccl_nativelib_NativeEngine_##name

static_assert(JAVA(USERS_NONE) == static_cast<int>(Attachment::Users::None));
static_assert(JAVA(USERS_HERE) == static_cast<int>(Attachment::Users::Here));
static_assert(JAVA(USERS_ELSEWHERE) == static_cast<int>(Attachment::Users::Elsewhere));
static_assert(isLayout({JCCL_ROW(PATH_CHANNEL), JCCL_ROW(PATH_FROM), JCCL_ROW(PATH_TO), JCCL_ROW(PATH_OUT),
                        JCCL_ROW(PATH_IN)},
                       JCCL_ROW(PATH_LENGTH)));
static_assert(isLayout({JCCL_ROW(SLOT_USE_PEER), JCCL_ROW(SLOT_USE_CHANNEL), JCCL_ROW(SLOT_USE_SENDS),
                        JCCL_ROW(SLOT_USE_DEVICE)},
                       JCCL_ROW(SLOT_USE_LENGTH)));
static_assert(isLayout({JCCL_ROW(COLLECTIVE_OPERATIONS), JCCL_ROW(COLLECTIVE_BYTES), JCCL_ROW(COLLECTIVE_NANOS),
                        JCCL_ROW(COLLECTIVE_IN_PLACE)},
                       JCCL_ROW(COLLECTIVE_LENGTH)));
static_assert(isLayout({JCCL_ROW(TRANSPORT_SENT_BYTES), JCCL_ROW(TRANSPORT_LONG_WAITS), JCCL_ROW(TRANSPORT_WAITED)},
                       JCCL_ROW(TRANSPORT_LENGTH)));
static_assert(isLayout({JCCL_ROW(MEMORY_SEGMENT), JCCL_ROW(MEMORY_RESIDENT), JCCL_ROW(MEMORY_NETWORK)},
                       JCCL_ROW(MEMORY_LENGTH)));

}  // namespace

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_NativeEngine_create(JNIEnv* env, jclass, jlongArray values,
                                                                   jobjectArray strings) {
  return guarded<jlong>(0, [&]() -> jlong {
    std::vector<int64_t> numbers;
    std::vector<std::string> texts;
    if (!copyLongs(env, values, numbers) || !copyStrings(env, strings, texts)) return 0;
    CommunicatorConfig config;
    std::unique_ptr<Communicator> host;
    Status status = readConfig(numbers, texts, config);
    const LogScope logs(config.logSubject);
    if (status) status = Communicator::create(config, host);
    lastFailure.set(status);
    return reinterpret_cast<jlong>(host.release());
  });
}

JNIEXPORT jbyteArray JNICALL Java_io_jccl_nativelib_NativeEngine_connectInfo(JNIEnv* env, jclass, jlong handle,
                                                                             jobjectArray addresses) {
  return guarded<jbyteArray>(nullptr, [&]() -> jbyteArray {
    std::vector<std::string> numeric;
    if (!copyStrings(env, addresses, numeric)) return nullptr;
    std::vector<uint8_t> info;
    const HostCall host(handle);
    if (host.codeOf(host->connectInfo(numeric, info)) != 0) return nullptr;
    return newBytes(env, info.data(), info.size());
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_NativeEngine_connect(JNIEnv* env, jclass, jlong handle, jint peer,
                                                                   jint transport, jbyteArray info) {
  return guardedCode([&]() -> jint {
    std::vector<uint8_t> bytes;
    if (!copyBytes(env, info, bytes)) return static_cast<jint>(Code::Invalid);
    const HostCall host(handle);
    return host.codeOf(host->connect(peer, transportOf(transport), bytes));
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_NativeEngine_probe(JNIEnv* env, jclass, jlong handle, jint transport,
                                                                 jbyteArray info) {
  return guardedCode([&]() -> jint {
    std::vector<uint8_t> bytes;
    if (!copyBytes(env, info, bytes)) return static_cast<jint>(Code::Invalid);
    const HostCall host(handle);
    return host.codeOf(host->probe(transportOf(transport), bytes));
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_NativeEngine_setRing(JNIEnv* env, jclass, jlong handle, jint channel,
                                                                   jintArray order) {
  return guardedCode([&]() -> jint {
    std::vector<int32_t> ranks;
    if (!copyInts(env, order, ranks)) return static_cast<jint>(Code::Invalid);
    const HostCall host(handle);
    return host.codeOf(host->engine().setRing(channel, ranks));
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_NativeEngine_setTree(JNIEnv* env, jclass, jlong handle, jint channel,
                                                                   jint up, jintArray down) {
  return guardedCode([&]() -> jint {
    std::vector<int32_t> children;
    if (!copyInts(env, down, children)) return static_cast<jint>(Code::Invalid);
    const HostCall host(handle);
    return host.codeOf(host->engine().setTree(channel, up, children));
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_NativeEngine_setHosts(JNIEnv* env, jclass, jlong handle,
                                                                    jintArray byRank) {
  return guardedCode([&]() -> jint {
    std::vector<int32_t> hosts;
    if (!copyInts(env, byRank, hosts)) return static_cast<jint>(Code::Invalid);
    const HostCall host(handle);
    return host.codeOf(host->engine().setHosts(hosts));
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_NativeEngine_withdrawMemory(JNIEnv*, jclass, jlong handle) {
  return guardedCode([&]() -> jint {
    hostOf(handle).withdrawMemory();
    return static_cast<jint>(Code::Ok);
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_NativeEngine_setPaths(JNIEnv* env, jclass, jlong handle, jintArray rows) {
  return guardedCode([&]() -> jint {
    std::vector<NetPath> paths;
    const bool whole = readRows<JCCL_ROW(PATH_LENGTH)>(env, rows, [&](const int32_t* row) {
      paths.push_back({.channel = row[JCCL_ROW(PATH_CHANNEL)],
                       .from = row[JCCL_ROW(PATH_FROM)],
                       .to = row[JCCL_ROW(PATH_TO)],
                       .out = row[JCCL_ROW(PATH_OUT)],
                       .in = row[JCCL_ROW(PATH_IN)]});
    });
    if (!whole) return static_cast<jint>(Code::Invalid);
    const HostCall host(handle);
    return host.codeOf(host->setPaths(paths));
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_NativeEngine_prepare(JNIEnv*, jclass, jlong handle) {
  return guardedCode([&]() -> jint {
    const HostCall host(handle);
    return host.codeOf(host->prepare());
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_NativeEngine_useDeviceSlots(JNIEnv* env, jclass, jlong handle,
                                                                          jlong address, jlong bytes, jint dmabuf,
                                                                          jintArray rows) {
  return guardedCode([&]() -> jint {
    DeviceSlots slots{{reinterpret_cast<void*>(address), static_cast<size_t>(bytes), dmabuf}, {}};
    const bool whole = readRows<JCCL_ROW(SLOT_USE_LENGTH)>(env, rows, [&](const int32_t* row) {
      slots.uses.push_back({.peer = row[JCCL_ROW(SLOT_USE_PEER)],
                            .channel = row[JCCL_ROW(SLOT_USE_CHANNEL)],
                            .sends = row[JCCL_ROW(SLOT_USE_SENDS)] != 0,
                            .adapter = row[JCCL_ROW(SLOT_USE_DEVICE)]});
    });
    if (!whole) return static_cast<jint>(Code::Invalid);
    const HostCall host(handle);
    return host.codeOf(host->useDeviceSlots(std::move(slots)));
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_NativeEngine_users(JNIEnv*, jclass, jlong handle) {
  return guarded<jint>(0, [&] { return static_cast<jint>(hostOf(handle).users()); });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_NativeEngine_setStagedChannels(JNIEnv* env, jclass, jlong handle,
                                                                             jint peer, jintArray channels,
                                                                             jintArray exchangeOnly) {
  return guardedCode([&]() -> jint {
    std::vector<int32_t> all, compact;
    if (!copyInts(env, channels, all) || !copyInts(env, exchangeOnly, compact)) {
      return static_cast<jint>(Code::Invalid);
    }
    hostOf(handle).setStagedChannels(peer, all, compact);
    return static_cast<jint>(Code::Ok);
  });
}

JNIEXPORT jlongArray JNICALL Java_io_jccl_nativelib_NativeEngine_stage(JNIEnv* env, jclass, jlong handle, jint peer,
                                                                       jintArray channels) {
  return guarded<jlongArray>(nullptr, [&]() -> jlongArray {
    std::vector<int32_t> numbers;
    if (!copyInts(env, channels, numbers)) return nullptr;
    std::vector<StagedEnds> ends;
    const HostCall host(handle);
    if (host.codeOf(host->stage(peer, numbers, ends)) != 0) return nullptr;
    std::vector<int64_t> rows;
    appendStaged(ends, rows);
    return newLongs(env, rows);
  });
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_NativeEngine_shareMemory(JNIEnv*, jclass, jlong handle) {
  return guarded<jlong>(
      0, [&] { return reinterpret_cast<jlong>(new std::shared_ptr<const void>(hostOf(handle).memory())); });
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_NativeEngine_startStaging(JNIEnv*, jclass, jlong handle,
                                                                         jlong controls) {
  return guarded<jlong>(-1, [&]() -> jlong {
    StagingActivity* activity = nullptr;
    const HostCall host(handle);
    const Status started = host->startStaging(*reinterpret_cast<const ChannelControls*>(controls), &activity);
    return host.codeOf(started) == 0 ? reinterpret_cast<jlong>(activity) : -1;
  });
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_NativeEngine_run(JNIEnv*, jclass, jlong handle, jint operation,
                                                                jlong choice, jlong send, jlong recv, jlong count,
                                                                jint root, jlong whole, jlong begin, jlong wireSeed,
                                                                jlong timeoutNanos) {
  return outcomeOf(handle, [&] {
    const Part part{static_cast<size_t>(whole), static_cast<size_t>(begin)};
    return engineOf(handle).run(OperationCode::decode(operation), Choice::decode(choice), address(send), address(recv),
                                count, root, timeoutNanos, part,
                                {WireCode::decode(operation), static_cast<uint64_t>(wireSeed)});
  });
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_NativeEngine_runV(JNIEnv* env, jclass, jlong handle, jint operation,
                                                                 jlong choice, jlong send, jlong recv,
                                                                 jlongArray counts, jint root, jlong whole, jlong begin,
                                                                 jlong wireSeed, jlong timeoutNanos) {
  return outcomeOf(handle, [&]() -> Code {
    std::vector<int64_t> numbers;
    if (!copyLongs(env, counts, numbers)) return Code::Invalid;
    const Part part{static_cast<size_t>(whole), static_cast<size_t>(begin)};
    return engineOf(handle).runV(OperationCode::decode(operation), Choice::decode(choice), address(send), address(recv),
                                 numbers, root, timeoutNanos, part,
                                 {WireCode::decode(operation), static_cast<uint64_t>(wireSeed)});
  });
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_NativeEngine_runPointToPoint(JNIEnv* env, jclass, jlong handle,
                                                                            jlongArray tasks, jlong timeoutNanos) {
  return outcomeOf(handle, [&]() -> Code {
    std::vector<int64_t> numbers;
    if (!copyLongs(env, tasks, numbers)) return Code::Invalid;
    std::vector<PointToPointTask> list;
    if (Status status = readTasks(numbers, list); !status) {
      hostOf(handle).noteError(status);
      return status.code();
    }
    return engineOf(handle).runPointToPoint(list, timeoutNanos);
  });
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_NativeEngine_sendReceive(JNIEnv*, jclass, jlong handle, jlong send,
                                                                        jlong sendCount, jint sendType, jint to,
                                                                        jlong recv, jlong recvCount, jint recvType,
                                                                        jint from, jlong timeoutNanos) {
  return outcomeOf(handle, [&]() -> Code {
    constexpr jint kNone = JCCL_ROW(NO_PEER);
    PointToPointTask tasks[2];
    size_t count = 0;
    Status read = Status::ok();
    if (to != kNone) read = readTask(JCCL_ROW(TASK_SEND), to, sendType, send, sendCount, tasks[count++]);
    if (read && from != kNone) read = readTask(JCCL_ROW(TASK_RECV), from, recvType, recv, recvCount, tasks[count++]);
    if (!read) {
      hostOf(handle).noteError(read);
      return read.code();
    }
    return engineOf(handle).runPointToPoint({tasks, count}, timeoutNanos);
  });
}

JNIEXPORT jboolean JNICALL Java_io_jccl_nativelib_NativeEngine_pauseNext(JNIEnv*, jclass, jlong handle) {
  return guarded<jboolean>(JNI_FALSE,
                           [&]() -> jboolean { return engineOf(handle).pauseNext() ? JNI_TRUE : JNI_FALSE; });
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_NativeEngine_resume(JNIEnv*, jclass, jlong handle, jlong timeoutNanos,
                                                                   jboolean pauses) {
  return outcomeOf(handle, [&] { return engineOf(handle).resume(timeoutNanos, pauses == JNI_TRUE); });
}

JNIEXPORT void JNICALL Java_io_jccl_nativelib_NativeEngine_abort(JNIEnv*, jclass, jlong handle, jint code) {
  guarded<bool>(false, [&] {
    engineOf(handle).abort(code < 0 ? static_cast<Code>(code) : Code::Aborted);
    return true;
  });
}

JNIEXPORT void JNICALL Java_io_jccl_nativelib_NativeEngine_destroy(JNIEnv*, jclass, jlong handle) {
  guarded<bool>(false, [&] {
    const LogScope logs(hostOf(handle).logSubject());
    delete &hostOf(handle);
    return true;
  });
}

JNIEXPORT jstring JNICALL Java_io_jccl_nativelib_NativeEngine_lastError(JNIEnv* env, jclass, jlong handle) {
  return guarded<jstring>(
      nullptr, [&] { return newString(env, reasonOr(handle == 0 ? lastFailure.text() : hostOf(handle).lastError())); });
}

JNIEXPORT jlongArray JNICALL Java_io_jccl_nativelib_NativeEngine_history(JNIEnv* env, jclass, jlong handle,
                                                                         jlong sequence) {
  return guarded<jlongArray>(nullptr, [&] { return newLongs(env, historyRow(engineOf(handle).history(), sequence)); });
}

JNIEXPORT jlongArray JNICALL Java_io_jccl_nativelib_NativeEngine_transfers(JNIEnv* env, jclass, jlong handle,
                                                                           jlong number) {
  return guarded<jlongArray>(nullptr, [&] { return newLongs(env, transferRow(engineOf(handle).transfers(), number)); });
}

JNIEXPORT jlongArray JNICALL Java_io_jccl_nativelib_NativeEngine_counters(JNIEnv* env, jclass, jlong handle) {
  return guarded<jlongArray>(nullptr, [&] {
    const Engine& engine = engineOf(handle);
    std::vector<int64_t> values(kCollectiveCount * JCCL_ROW(COLLECTIVE_LENGTH) +
                                kTransportKinds * JCCL_ROW(TRANSPORT_LENGTH));
    int64_t* row = values.data();
    for (int i = 0; i < kCollectiveCount; ++i, row += JCCL_ROW(COLLECTIVE_LENGTH)) {
      const Counters::OfCollective& one = engine.counters().collectives[i];
      row[JCCL_ROW(COLLECTIVE_OPERATIONS)] = one.operations.get();
      row[JCCL_ROW(COLLECTIVE_BYTES)] = one.bytes.get();
      row[JCCL_ROW(COLLECTIVE_NANOS)] = engine.nanosOf(static_cast<Collective>(i));
      row[JCCL_ROW(COLLECTIVE_IN_PLACE)] = one.inPlace.get();
    }
    for (int i = 0; i < kTransportKinds; ++i, row += JCCL_ROW(TRANSPORT_LENGTH)) {
      const TransportUse use = engine.useOf(static_cast<TransportKind>(i));
      row[JCCL_ROW(TRANSPORT_SENT_BYTES)] = static_cast<int64_t>(use.sentBytes);
      row[JCCL_ROW(TRANSPORT_LONG_WAITS)] = use.longWaits;
      row[JCCL_ROW(TRANSPORT_WAITED)] = use.waitedNanos;
    }
    return newLongs(env, values);
  });
}

JNIEXPORT void JNICALL Java_io_jccl_nativelib_NativeEngine_tick(JNIEnv*, jclass) { setTick(); }

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_NativeEngine_lastTransfers(JNIEnv*, jclass, jlong handle) {
  return static_cast<jlong>(engineOf(handle).transfers().last());
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_NativeEngine_lastEntered(JNIEnv*, jclass, jlong handle) {
  return static_cast<jlong>(engineOf(handle).history().lastEntered());
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_NativeEngine_lastDone(JNIEnv*, jclass, jlong handle) {
  return static_cast<jlong>(engineOf(handle).history().lastDone());
}

JNIEXPORT jlongArray JNICALL Java_io_jccl_nativelib_NativeEngine_waiting(JNIEnv* env, jclass, jlong handle) {
  return guarded<jlongArray>(nullptr, [&] { return newLongs(env, waitRows(engineOf(handle).waiting())); });
}

JNIEXPORT jlongArray JNICALL Java_io_jccl_nativelib_NativeEngine_memoryUsage(JNIEnv* env, jclass, jlong handle) {
  return guarded<jlongArray>(nullptr, [&] {
    const MemoryUsage usage = hostOf(handle).memoryUsage();
    std::vector<int64_t> row(JCCL_ROW(MEMORY_LENGTH));
    row[JCCL_ROW(MEMORY_SEGMENT)] = static_cast<int64_t>(usage.segmentBytes);
    row[JCCL_ROW(MEMORY_RESIDENT)] = static_cast<int64_t>(usage.residentBytes);
    row[JCCL_ROW(MEMORY_NETWORK)] = static_cast<int64_t>(usage.networkBytes);
    return newLongs(env, row);
  });
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_NativeEngine_keepMemory(JNIEnv*, jclass, jlong handle, jlong memory,
                                                                       jlong bytes) {
  return guarded<jlong>(0, [&] {
    return static_cast<jlong>(
        HostCall(handle)->keepMemory(reinterpret_cast<void*>(address(memory)), static_cast<size_t>(bytes)));
  });
}

JNIEXPORT void JNICALL Java_io_jccl_nativelib_NativeEngine_dropMemory(JNIEnv*, jclass, jlong handle, jlong number) {
  guarded(0, [&] {
    HostCall(handle)->dropMemory(static_cast<uint64_t>(number));
    return 0;
  });
}
