// Natives of io.jccl.nativelib.NativeCommunicator: check, convert, call, translate.
#include "base/clock.h"
#include "engine/shared_heap.h"
#include "io_jccl_nativelib_NativeCommunicator.h"
#include "jni/communicator_config.h"
#include "jni/history_row.h"
#include "jni/host_call.h"
#include "jni/jni_support.h"
#include "jni/point_to_point_tasks.h"

namespace {

using namespace jccl;
using namespace jccl::jni;

Communicator& communicatorOf(jlong handle) { return hostOf(handle).communicator(); }

// What an operation returns to Java: the choice that was used, which is never negative, or the code of its failure. One
// number, because a second call into native code would cost a small operation a tenth of its time.
template <typename Body>
jlong outcomeOf(jlong handle, Body&& body) {
  const jint code = guardedCode(body);
  return code == static_cast<jint>(Code::Ok) ? communicatorOf(handle).lastChoice().encode() : code;
}

uint64_t address(jlong value) { return static_cast<uint64_t>(value); }

}  // namespace

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_NativeCommunicator_create(JNIEnv* env, jclass, jlongArray values,
                                                                         jobjectArray strings) {
  return guarded<jlong>(0, [&]() -> jlong {
    std::vector<int64_t> numbers;
    std::vector<std::string> texts;
    if (!copyLongs(env, values, numbers) || !copyStrings(env, strings, texts)) return 0;
    HostCommunicatorConfig config;
    std::unique_ptr<HostCommunicator> host;
    Status status = readConfig(numbers, texts, config);
    const LogScope logs(config.logSubject);
    if (status) status = HostCommunicator::create(config, host);
    lastFailure.set(status);
    return reinterpret_cast<jlong>(host.release());
  });
}

JNIEXPORT jbyteArray JNICALL Java_io_jccl_nativelib_NativeCommunicator_connectInfo(JNIEnv* env, jclass, jlong handle,
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

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_NativeCommunicator_connect(JNIEnv* env, jclass, jlong handle, jint peer,
                                                                         jint transport, jbyteArray info) {
  return guardedCode([&]() -> jint {
    std::vector<uint8_t> bytes;
    if (!copyBytes(env, info, bytes)) return static_cast<jint>(Code::Invalid);
    const HostCall host(handle);
    return host.codeOf(host->connect(peer, transportOf(transport), bytes));
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_NativeCommunicator_probe(JNIEnv* env, jclass, jlong handle, jint,
                                                                       jint transport, jbyteArray info) {
  return guardedCode([&]() -> jint {
    std::vector<uint8_t> bytes;
    if (!copyBytes(env, info, bytes)) return static_cast<jint>(Code::Invalid);
    const HostCall host(handle);
    return host.codeOf(host->probe(transportOf(transport), bytes));
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_NativeCommunicator_setRing(JNIEnv* env, jclass, jlong handle,
                                                                         jint channel, jintArray order) {
  return guardedCode([&]() -> jint {
    std::vector<int32_t> ranks;
    if (!copyInts(env, order, ranks)) return static_cast<jint>(Code::Invalid);
    const HostCall host(handle);
    return host.codeOf(host->communicator().setRing(channel, ranks));
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_NativeCommunicator_setTree(JNIEnv* env, jclass, jlong handle,
                                                                         jint channel, jint up, jintArray down) {
  return guardedCode([&]() -> jint {
    std::vector<int32_t> children;
    if (!copyInts(env, down, children)) return static_cast<jint>(Code::Invalid);
    const HostCall host(handle);
    return host.codeOf(host->communicator().setTree(channel, up, children));
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_NativeCommunicator_setHosts(JNIEnv* env, jclass, jlong handle,
                                                                          jintArray byRank) {
  return guardedCode([&]() -> jint {
    std::vector<int32_t> hosts;
    if (!copyInts(env, byRank, hosts)) return static_cast<jint>(Code::Invalid);
    const HostCall host(handle);
    return host.codeOf(host->communicator().setHosts(hosts));
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_NativeCommunicator_setPaths(JNIEnv* env, jclass, jlong handle,
                                                                          jintArray rows) {
  return guardedCode([&]() -> jint {
    constexpr size_t kRow = io_jccl_nativelib_NativeCommunicator_PATH_LENGTH;
    static_assert(kRow == 5);
    std::vector<int32_t> numbers;
    if (!copyInts(env, rows, numbers) || numbers.size() % kRow != 0) return static_cast<jint>(Code::Invalid);
    std::vector<NetPath> paths;
    for (size_t i = 0; i < numbers.size(); i += kRow) {
      paths.push_back({numbers[i], numbers[i + 1], numbers[i + 2], numbers[i + 3], numbers[i + 4]});
    }
    const HostCall host(handle);
    return host.codeOf(host->setPaths(paths));
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_NativeCommunicator_prepare(JNIEnv*, jclass, jlong handle) {
  return guardedCode([&]() -> jint {
    const HostCall host(handle);
    return host.codeOf(host->prepare());
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_NativeCommunicator_useDeviceSlots(JNIEnv* env, jclass, jlong handle,
                                                                                jlong address, jlong bytes, jint dmabuf,
                                                                                jintArray rows) {
  return guardedCode([&]() -> jint {
    constexpr size_t kRow = io_jccl_nativelib_NativeCommunicator_SLOT_USE_LENGTH;
    static_assert(kRow == 4);
    std::vector<int32_t> numbers;
    if (!copyInts(env, rows, numbers) || numbers.size() % kRow != 0) return static_cast<jint>(Code::Invalid);
    DeviceSlots slots{{reinterpret_cast<void*>(address), static_cast<size_t>(bytes), dmabuf}, {}};
    for (size_t i = 0; i < numbers.size(); i += kRow) {
      slots.uses.push_back({numbers[i], numbers[i + 1], numbers[i + 2] != 0, numbers[i + 3]});
    }
    const HostCall host(handle);
    return host.codeOf(host->useDeviceSlots(std::move(slots)));
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_NativeCommunicator_forwardFor(JNIEnv* env, jclass, jlong handle,
                                                                            jlong address, jlong bytes, jint dmabuf,
                                                                            jintArray rows) {
  return guardedCode([&]() -> jint {
    constexpr size_t kRow = io_jccl_nativelib_NativeCommunicator_FORWARDED_LENGTH;
    static_assert(kRow == 5);
    std::vector<int32_t> numbers;
    if (!copyInts(env, rows, numbers) || numbers.size() % kRow != 0) return static_cast<jint>(Code::Invalid);
    std::vector<ForwardedConnection> connections;
    for (size_t i = 0; i < numbers.size(); i += kRow) {
      connections.push_back({numbers[i], numbers[i + 1], numbers[i + 2], numbers[i + 3], numbers[i + 4] != 0});
    }
    const NetDeviceMemory slots{reinterpret_cast<void*>(address), static_cast<size_t>(bytes), dmabuf};
    const HostCall host(handle);
    return host.codeOf(host->forwardFor(slots, std::move(connections)));
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_NativeCommunicator_sendThrough(JNIEnv* env, jclass, jlong handle,
                                                                             jint forwarder, jbyteArray info,
                                                                             jint connections, jlong slots,
                                                                             jintArray rows) {
  return guardedCode([&]() -> jint {
    constexpr size_t kRow = io_jccl_nativelib_NativeCommunicator_REQUEST_LENGTH;
    static_assert(kRow == 3);
    std::vector<uint8_t> bytes;
    std::vector<int32_t> numbers;
    if (!copyBytes(env, info, bytes) || !copyInts(env, rows, numbers) || numbers.size() % kRow != 0) {
      return static_cast<jint>(Code::Invalid);
    }
    std::vector<ForwardedSends::Request> requests;
    for (size_t i = 0; i < numbers.size(); i += kRow) {
      requests.push_back({numbers[i], numbers[i + 1], static_cast<size_t>(numbers[i + 2])});
    }
    HostCall(handle)->sendThrough(forwarder, bytes, static_cast<size_t>(connections), reinterpret_cast<uint8_t*>(slots),
                                  requests);
    return 0;
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_NativeCommunicator_senders(JNIEnv*, jclass, jlong handle) {
  return guarded<jint>(0, [&] { return static_cast<jint>(hostOf(handle).senders()); });
}

JNIEXPORT jlongArray JNICALL Java_io_jccl_nativelib_NativeCommunicator_stage(JNIEnv* env, jclass, jlong handle,
                                                                             jint peer, jintArray channels) {
  return guarded<jlongArray>(nullptr, [&]() -> jlongArray {
    std::vector<int32_t> numbers;
    if (!copyInts(env, channels, numbers)) return nullptr;
    std::vector<StagedEnds> ends;
    const HostCall host(handle);
    if (host.codeOf(host->stage(peer, numbers, ends)) != 0) return nullptr;
    std::vector<int64_t> rows;
    for (const StagedEnds& end : ends) {
      for (const void* place : {static_cast<const void*>(end.sendBlock), static_cast<const void*>(end.sendHead),
                                static_cast<const void*>(end.sendSlots), static_cast<const void*>(end.recvBlock),
                                static_cast<const void*>(end.recvHead), static_cast<const void*>(end.recvSlots)}) {
        rows.push_back(reinterpret_cast<int64_t>(place));
      }
    }
    return newLongs(env, rows);
  });
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_NativeCommunicator_shareMemory(JNIEnv*, jclass, jlong handle) {
  return guarded<jlong>(
      0, [&] { return reinterpret_cast<jlong>(new std::shared_ptr<const void>(hostOf(handle).memory())); });
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_NativeCommunicator_startStaging(JNIEnv*, jclass, jlong handle,
                                                                               jlong controls) {
  return guarded<jlong>(-1, [&]() -> jlong {
    StagingActivity* activity = nullptr;
    const HostCall host(handle);
    const Status started = host->startStaging(*reinterpret_cast<const ChannelControls*>(controls), &activity);
    return host.codeOf(started) == 0 ? reinterpret_cast<jlong>(activity) : -1;
  });
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_NativeCommunicator_run(JNIEnv*, jclass, jlong handle, jint operation,
                                                                      jlong choice, jlong send, jlong recv, jlong count,
                                                                      jint root, jlong timeoutNanos) {
  return outcomeOf(handle, [&] {
    return communicatorOf(handle).run(OperationCode::decode(operation), Choice::decode(choice), address(send),
                                      address(recv), count, root, timeoutNanos);
  });
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_NativeCommunicator_runV(JNIEnv* env, jclass, jlong handle,
                                                                       jint operation, jlong choice, jlong send,
                                                                       jlong recv, jlongArray counts, jint root,
                                                                       jlong timeoutNanos) {
  return outcomeOf(handle, [&]() -> Code {
    std::vector<int64_t> numbers;
    if (!copyLongs(env, counts, numbers)) return Code::Invalid;
    return communicatorOf(handle).runV(OperationCode::decode(operation), Choice::decode(choice), address(send),
                                       address(recv), numbers, root, timeoutNanos);
  });
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_NativeCommunicator_runPart(JNIEnv*, jclass, jlong handle, jint operation,
                                                                          jlong choice, jlong send, jlong recv,
                                                                          jlong count, jint root, jlong whole,
                                                                          jlong begin, jlong timeoutNanos) {
  return outcomeOf(handle, [&] {
    const Part part{static_cast<size_t>(whole), static_cast<size_t>(begin)};
    return communicatorOf(handle).run(OperationCode::decode(operation), Choice::decode(choice), address(send),
                                      address(recv), count, root, timeoutNanos, part);
  });
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_NativeCommunicator_runVPart(JNIEnv* env, jclass, jlong handle,
                                                                           jint operation, jlong choice, jlong send,
                                                                           jlong recv, jlongArray counts, jint root,
                                                                           jlong whole, jlong begin,
                                                                           jlong timeoutNanos) {
  return outcomeOf(handle, [&]() -> Code {
    std::vector<int64_t> numbers;
    if (!copyLongs(env, counts, numbers)) return Code::Invalid;
    const Part part{static_cast<size_t>(whole), static_cast<size_t>(begin)};
    return communicatorOf(handle).runV(OperationCode::decode(operation), Choice::decode(choice), address(send),
                                       address(recv), numbers, root, timeoutNanos, part);
  });
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_NativeCommunicator_runPointToPoint(JNIEnv* env, jclass, jlong handle,
                                                                                  jlongArray tasks,
                                                                                  jlong timeoutNanos) {
  return outcomeOf(handle, [&]() -> Code {
    std::vector<int64_t> numbers;
    if (!copyLongs(env, tasks, numbers)) return Code::Invalid;
    std::vector<PointToPointTask> list;
    if (Status status = readTasks(numbers, list); !status) {
      hostOf(handle).noteError(status);
      return status.code();
    }
    return communicatorOf(handle).runPointToPoint(list, timeoutNanos);
  });
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_NativeCommunicator_sendReceive(JNIEnv*, jclass, jlong handle, jlong send,
                                                                              jlong sendCount, jint sendType, jint to,
                                                                              jlong recv, jlong recvCount,
                                                                              jint recvType, jint from,
                                                                              jlong timeoutNanos) {
  return outcomeOf(handle, [&]() -> Code {
    constexpr jint kNone = io_jccl_nativelib_NativeCommunicator_NO_PEER;
    PointToPointTask tasks[2];
    size_t count = 0;
    Status read = Status::ok();
    if (to != kNone)
      read = readTask(io_jccl_nativelib_NativeCommunicator_TASK_SEND, to, sendType, send, sendCount, tasks[count++]);
    if (read && from != kNone)
      read = readTask(io_jccl_nativelib_NativeCommunicator_TASK_RECV, from, recvType, recv, recvCount, tasks[count++]);
    if (!read) {
      hostOf(handle).noteError(read);
      return read.code();
    }
    return communicatorOf(handle).runPointToPoint({tasks, count}, timeoutNanos);
  });
}

JNIEXPORT void JNICALL Java_io_jccl_nativelib_NativeCommunicator_abort(JNIEnv*, jclass, jlong handle, jint code) {
  guarded<bool>(false, [&] {
    communicatorOf(handle).abort(code < 0 ? static_cast<Code>(code) : Code::Aborted);
    return true;
  });
}

JNIEXPORT void JNICALL Java_io_jccl_nativelib_NativeCommunicator_destroy(JNIEnv*, jclass, jlong handle) {
  guarded<bool>(false, [&] {
    const LogScope logs(hostOf(handle).logSubject());
    delete &hostOf(handle);
    return true;
  });
}

JNIEXPORT jstring JNICALL Java_io_jccl_nativelib_NativeCommunicator_lastError(JNIEnv* env, jclass, jlong handle) {
  return guarded<jstring>(
      nullptr, [&] { return newString(env, reasonOr(handle == 0 ? lastFailure.text() : hostOf(handle).lastError())); });
}

JNIEXPORT jlongArray JNICALL Java_io_jccl_nativelib_NativeCommunicator_history(JNIEnv* env, jclass, jlong handle,
                                                                               jlong sequence) {
  return guarded<jlongArray>(nullptr,
                             [&] { return newLongs(env, historyRow(communicatorOf(handle).history(), sequence)); });
}

JNIEXPORT jlongArray JNICALL Java_io_jccl_nativelib_NativeCommunicator_transfers(JNIEnv* env, jclass, jlong handle,
                                                                                 jlong number) {
  return guarded<jlongArray>(nullptr,
                             [&] { return newLongs(env, transferRow(communicatorOf(handle).transfers(), number)); });
}

JNIEXPORT jlongArray JNICALL Java_io_jccl_nativelib_NativeCommunicator_counters(JNIEnv* env, jclass, jlong handle) {
  return guarded<jlongArray>(nullptr, [&] {
    const Communicator& communicator = communicatorOf(handle);
    std::vector<int64_t> values;
    for (int i = 0; i < kCollectiveCount; ++i) {
      const Counters::OfCollective& one = communicator.counters().collectives[i];
      values.insert(values.end(), {one.operations.get(), one.bytes.get(),
                                   communicator.nanosOf(static_cast<Collective>(i)), one.inPlace.get()});
    }
    const TransportKind network = hostOf(handle).network();
    for (int java = 0; java < kTransportKinds; ++java) {
      TransportUse use;
      const TransportKind kind = transportOf(java);
      const bool isNet = Networks::isNetwork(kind);
      if (!isNet || javaTransportOf(network) == java) use = communicator.useOf(isNet ? TransportKind::Net : kind);
      values.insert(values.end(), {static_cast<int64_t>(use.sentBytes), use.longWaits, use.waitedNanos});
    }
    return newLongs(env, values);
  });
}

JNIEXPORT void JNICALL Java_io_jccl_nativelib_NativeCommunicator_tick(JNIEnv*, jclass) { setTick(); }

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_NativeCommunicator_lastTransfers(JNIEnv*, jclass, jlong handle) {
  return static_cast<jlong>(communicatorOf(handle).transfers().last());
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_NativeCommunicator_lastEntered(JNIEnv*, jclass, jlong handle) {
  return static_cast<jlong>(communicatorOf(handle).history().lastEntered());
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_NativeCommunicator_lastDone(JNIEnv*, jclass, jlong handle) {
  return static_cast<jlong>(communicatorOf(handle).history().lastDone());
}

JNIEXPORT jlongArray JNICALL Java_io_jccl_nativelib_NativeCommunicator_waiting(JNIEnv* env, jclass, jlong handle) {
  return guarded<jlongArray>(nullptr, [&] {
    std::vector<int64_t> rows;
    for (const ChannelWait& wait : communicatorOf(handle).waiting()) {
      const WaitPlace& place = wait.place;
      const bool isNet = place.transport == TransportKind::Net;
      const TransportKind kind = isNet ? hostOf(handle).network() : place.transport;
      rows.insert(rows.end(), {wait.channel, place.peer, javaTransportOf(kind), static_cast<int64_t>(place.waitFor),
                               static_cast<int64_t>(place.protocol), static_cast<int64_t>(place.step),
                               static_cast<int64_t>(wait.sequence), wait.waitedNanos});
    }
    return newLongs(env, rows);
  });
}

JNIEXPORT jlongArray JNICALL Java_io_jccl_nativelib_NativeCommunicator_memoryUsage(JNIEnv* env, jclass, jlong handle) {
  return guarded<jlongArray>(nullptr, [&] {
    const MemoryUsage usage = hostOf(handle).memoryUsage();
    return newLongs(env, {static_cast<int64_t>(usage.segmentBytes), static_cast<int64_t>(usage.residentBytes),
                          static_cast<int64_t>(usage.networkBytes)});
  });
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_NativeCommunicator_keepMemory(JNIEnv*, jclass, jlong handle,
                                                                             jlong memory, jlong bytes) {
  return guarded<jlong>(0, [&] {
    return static_cast<jlong>(
        HostCall(handle)->keepMemory(reinterpret_cast<void*>(address(memory)), static_cast<size_t>(bytes)));
  });
}

JNIEXPORT void JNICALL Java_io_jccl_nativelib_NativeCommunicator_dropMemory(JNIEnv*, jclass, jlong handle,
                                                                            jlong number) {
  guarded(0, [&] {
    HostCall(handle)->dropMemory(static_cast<uint64_t>(number));
    return 0;
  });
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_NativeCommunicator_directAddress(JNIEnv* env, jclass, jobject buffer) {
  return buffer == nullptr ? 0 : reinterpret_cast<jlong>(env->GetDirectBufferAddress(buffer));
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_NativeCommunicator_sharedAlloc(JNIEnv*, jclass, jlong bytes) {
  return guarded<jlong>(0, [&]() -> jlong {
    void* memory = nullptr;
    const Status status = bytes < 0 ? Status::invalid("bytes=" + std::to_string(bytes) + ", expected at least 0")
                                    : SharedHeap::ofThisProcess().allocate(static_cast<size_t>(bytes), memory);
    lastFailure.set(status);
    return reinterpret_cast<jlong>(memory);
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_NativeCommunicator_sharedRetire(JNIEnv*, jclass, jlong memory) {
  return guardedCode([&] {
    const Status status = SharedHeap::ofThisProcess().retire(reinterpret_cast<void*>(memory));
    lastFailure.set(status);
    return status.code();
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_NativeCommunicator_sharedFree(JNIEnv*, jclass, jlong memory) {
  return guardedCode([&] {
    const Status status = SharedHeap::ofThisProcess().free(reinterpret_cast<void*>(memory));
    lastFailure.set(status);
    return status.code();
  });
}

JNIEXPORT jstring JNICALL Java_io_jccl_nativelib_NativeCommunicator_constants(JNIEnv* env, jclass) {
  return guarded<jstring>(nullptr, [&] { return newString(env, describeConstants()); });
}
