// Natives of io.jccl.nativelib.DeviceEngine and DeviceSlots.
#include "cuda/jni/device_handle.h"
#include "cuda/runtime/device_communicator.h"
#include "io_jccl_nativelib_DeviceConfig.h"
#include "io_jccl_nativelib_DeviceEngine.h"
#include "io_jccl_nativelib_DeviceSlots.h"
#include "io_jccl_nativelib_LaunchReport.h"
#include "jni/jni_support.h"
#include "jni/point_to_point_tasks.h"
#include "jni/rows.h"

#define JAVA(name) io_jccl_nativelib_DeviceEngine_##name
#define CONFIG(name) io_jccl_nativelib_DeviceConfig_##name

namespace {

using namespace jccl;
using namespace jccl::jni;
using device::DeviceCommunicator;
using device::Issued;

// The last failure of this thread to create a communicator. It is kept here because there is no communicator that could
// keep it.
thread_local LastFailure createError;

static_assert(isLayout({JCCL_ROW(ISSUED_CHOICE), JCCL_ROW(ISSUED_SEQUENCE), JCCL_ROW(ISSUED_CAPTURED)},
                       JCCL_ROW(ISSUED_LENGTH)));
static_assert(offsetof(device::LaunchReport, ended) == io_jccl_nativelib_LaunchReport_ENDED &&
              offsetof(device::LaunchReport, failed) == io_jccl_nativelib_LaunchReport_FAILED &&
              sizeof(device::LaunchReport) == io_jccl_nativelib_LaunchReport_BYTES);

// Issues an operation by `body`. Returns the operation's number, with the bit NOTICE if there is a notice, or the code
// of the failure. Writes further facts about the operation into `row`, so that an operation needs only one call.
template <typename Body>
jlong issue(JNIEnv* env, jlong handle, jlongArray row, Body&& body) {
  Issued issued;
  const jint code = guardedCode([&] {
    issued = body();
    return issued.code;
  });
  if (code != 0) return code;
  if (issued.number != 0) {
    jlong values[JCCL_ROW(ISSUED_LENGTH)];
    values[JCCL_ROW(ISSUED_CHOICE)] = issued.choice.encode();
    values[JCCL_ROW(ISSUED_SEQUENCE)] = static_cast<jlong>(issued.sequence);
    values[JCCL_ROW(ISSUED_CAPTURED)] = issued.captured ? 1 : 0;
    env->SetLongArrayRegion(row, 0, JCCL_ROW(ISSUED_LENGTH), values);
  }
  return static_cast<jlong>(issued.number) | (communicatorOf(handle).hasNotice() ? JAVA(NOTICE) : 0);
}

static_assert(isLayout({JCCL_ROW(SLOTS_HANDLE), JCCL_ROW(SLOTS_ADDRESS), JCCL_ROW(SLOTS_BYTES), JCCL_ROW(SLOTS_DMABUF)},
                       JCCL_ROW(SLOTS_LENGTH)));

// Allocates slots with make(slots), and returns their handle, address and size as a row of numbers; null if make fails.
template <typename Make>
jlongArray slotsOf(JNIEnv* env, Make&& make) {
  return guarded<jlongArray>(nullptr, [&]() -> jlongArray {
    auto slots = std::make_unique<std::shared_ptr<device::AdapterMemory>>();
    if (!make(*slots)) return nullptr;
    const device::AdapterMemory& memory = **slots;
    std::vector<int64_t> row(JCCL_ROW(SLOTS_LENGTH));
    row[JCCL_ROW(SLOTS_HANDLE)] = reinterpret_cast<int64_t>(slots.get());
    row[JCCL_ROW(SLOTS_ADDRESS)] = reinterpret_cast<int64_t>(memory.base());
    row[JCCL_ROW(SLOTS_BYTES)] = static_cast<int64_t>(memory.bytes());
    row[JCCL_ROW(SLOTS_DMABUF)] = memory.dmabuf();
    jlongArray array = newLongs(env, row);
    if (array != nullptr) (void)slots.release();
    return array;
  });
}

device::Stream streamOf(jlong handle) { return reinterpret_cast<device::Stream>(handle); }

static_assert(isLayout({CONFIG(RANK), CONFIG(SIZE), CONFIG(CHANNELS), CONFIG(DEVICE), CONFIG(THREADS),
                        CONFIG(SIMPLE_SLOT_BYTES), CONFIG(LL_SLOT_BYTES), CONFIG(LL128_SLOT_BYTES), CONFIG(COMM_ID_HI),
                        CONFIG(COMM_ID_LO), CONFIG(DESCRIPTORS), CONFIG(RECORDED_OPERATIONS), CONFIG(HANDLES),
                        CONFIG(ONE_SHOT_BYTES)},
                       CONFIG(LENGTH)));

static_assert(CONFIG(MAX_THREADS) == device::kMaxBlockThreads);
static_assert(CONFIG(DIRECT_CHANNELS) == device::DevicePlan::kOpenChannels);
static_assert(CONFIG(MAX_ONE_SHOT_BYTES) == device::kMaxOneShotBytes);
static_assert(CONFIG(DIRECT_RANKS) == device::kMaxDirectRanks && CONFIG(MAX_RANKS) == device::kMaxRanks);

Status readConfig(const std::vector<int64_t>& values, device::DeviceCommunicatorConfig& config) {
  if (values.size() != CONFIG(LENGTH)) {
    return Status::invalid("configLength=" + std::to_string(values.size()) + ", expected " +
                           std::to_string(CONFIG(LENGTH)));
  }
  config.rank = static_cast<int>(values[CONFIG(RANK)]);
  config.size = static_cast<int>(values[CONFIG(SIZE)]);
  config.channels = static_cast<int>(values[CONFIG(CHANNELS)]);
  config.device = static_cast<int>(values[CONFIG(DEVICE)]);
  config.threads = static_cast<int>(values[CONFIG(THREADS)]);
  config.simpleSlotBytes = static_cast<uint32_t>(values[CONFIG(SIMPLE_SLOT_BYTES)]);
  config.llSlotBytes = static_cast<uint32_t>(values[CONFIG(LL_SLOT_BYTES)]);
  config.ll128SlotBytes = static_cast<uint32_t>(values[CONFIG(LL128_SLOT_BYTES)]);
  config.token[0] = static_cast<uint64_t>(values[CONFIG(COMM_ID_HI)]);
  config.token[1] = static_cast<uint64_t>(values[CONFIG(COMM_ID_LO)]);
  config.descriptors = values[CONFIG(DESCRIPTORS)] != 0;
  config.recordedOperations = static_cast<uint64_t>(values[CONFIG(RECORDED_OPERATIONS)]);
  config.handles = values[CONFIG(HANDLES)] != 0;
  config.oneShotBytes = static_cast<uint64_t>(values[CONFIG(ONE_SHOT_BYTES)]);
  return Status::ok();
}

}  // namespace

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_DeviceEngine_create(JNIEnv* env, jclass, jlongArray values) {
  return guarded<jlong>(0, [&]() -> jlong {
    std::vector<int64_t> numbers;
    if (!copyLongs(env, values, numbers)) return 0;
    device::DeviceCommunicatorConfig config;
    std::unique_ptr<DeviceCommunicator> communicator;
    Status status = readConfig(numbers, config);
    if (status) status = DeviceCommunicator::create(config, communicator);
    createError.set(status);
    return reinterpret_cast<jlong>(communicator.release());
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_DeviceEngine_setRing(JNIEnv* env, jclass, jlong handle, jint channel,
                                                                   jintArray order) {
  return guardedCode([&]() -> jint {
    std::vector<int32_t> ranks;
    if (!copyInts(env, order, ranks)) return static_cast<jint>(Code::Invalid);
    return codeOf(communicatorOf(handle).setRing(channel, ranks));
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_DeviceEngine_setTree(JNIEnv* env, jclass, jlong handle, jint channel,
                                                                   jint up, jintArray down) {
  return guardedCode([&]() -> jint {
    std::vector<int32_t> children;
    if (!copyInts(env, down, children)) return static_cast<jint>(Code::Invalid);
    return codeOf(communicatorOf(handle).setTree(channel, up, children));
  });
}

JNIEXPORT jbyteArray JNICALL Java_io_jccl_nativelib_DeviceEngine_connectInfo(JNIEnv* env, jclass, jlong handle) {
  return guarded<jbyteArray>(nullptr, [&]() -> jbyteArray {
    std::vector<uint8_t> info;
    if (!communicatorOf(handle).connectInfo(info)) return nullptr;
    return newBytes(env, info.data(), info.size());
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_DeviceEngine_connect(JNIEnv* env, jclass, jlong handle, jint peer,
                                                                   jbyteArray info, jint descriptor) {
  UniqueFd owned(descriptor);
  return guardedCode([&]() -> jint {
    std::vector<uint8_t> bytes;
    if (!copyBytes(env, info, bytes)) return static_cast<jint>(Code::Invalid);
    return codeOf(communicatorOf(handle).connect(peer, bytes, owned.release()));
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_DeviceEngine_takeDescriptor(JNIEnv*, jclass, jlong handle) {
  return communicatorOf(handle).takeDescriptor();
}

JNIEXPORT jboolean JNICALL Java_io_jccl_nativelib_DeviceEngine_refusedDescriptor(JNIEnv*, jclass, jlong handle) {
  return communicatorOf(handle).refusedDescriptor() ? JNI_TRUE : JNI_FALSE;
}

JNIEXPORT void JNICALL Java_io_jccl_nativelib_DeviceEngine_renounceDescriptors(JNIEnv* env, jclass, jlong handle,
                                                                               jstring why) {
  guardedCode([&]() -> jint {
    std::string reason;
    if (!copyString(env, why, reason)) return static_cast<jint>(Code::Invalid);
    communicatorOf(handle).renounceDescriptors(reason);
    return 0;
  });
}

JNIEXPORT jstring JNICALL Java_io_jccl_nativelib_DeviceEngine_handleExchange(JNIEnv* env, jclass, jlong handle) {
  return guarded<jstring>(nullptr, [&] { return newString(env, communicatorOf(handle).handleExchange()); });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_DeviceEngine_setStaged(JNIEnv*, jclass, jlong handle, jint peer) {
  return guardedCode([&] { return codeOf(communicatorOf(handle).setStaged(peer)); });
}

JNIEXPORT jintArray JNICALL Java_io_jccl_nativelib_DeviceEngine_stagedChannels(JNIEnv* env, jclass, jlong handle,
                                                                               jint peer) {
  return guarded<jintArray>(nullptr, [&] { return newInts(env, communicatorOf(handle).stagedChannels(peer)); });
}

JNIEXPORT jintArray JNICALL Java_io_jccl_nativelib_DeviceEngine_exchangeOnlyChannels(JNIEnv* env, jclass, jlong handle,
                                                                                     jint peer) {
  return guarded<jintArray>(nullptr, [&] { return newInts(env, communicatorOf(handle).exchangeOnlyChannels(peer)); });
}

JNIEXPORT jlongArray JNICALL Java_io_jccl_nativelib_DeviceEngine_makeDeviceSlots(JNIEnv* env, jclass, jlong handle,
                                                                                 jint connections) {
  return slotsOf(env, [&](auto& slots) { return communicatorOf(handle).makeDeviceSlots(connections, slots); });
}

JNIEXPORT void JNICALL Java_io_jccl_nativelib_DeviceEngine_setForwarded(JNIEnv*, jclass, jlong handle,
                                                                        jint connections) {
  communicatorOf(handle).setForwarded(connections);
}

JNIEXPORT jlongArray JNICALL Java_io_jccl_nativelib_DeviceEngine_forwardedSlots(JNIEnv* env, jclass, jlong handle) {
  return slotsOf(env, [&](auto& slots) { return communicatorOf(handle).forwardedSlots(slots); });
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_DeviceEngine_forwardedSlotsOf(JNIEnv*, jclass, jlong handle, jint peer) {
  return reinterpret_cast<jlong>(communicatorOf(handle).forwardedSlotsOf(peer));
}

JNIEXPORT void JNICALL Java_io_jccl_nativelib_DeviceSlots_release(JNIEnv*, jclass, jlong slots) {
  delete reinterpret_cast<std::shared_ptr<device::AdapterMemory>*>(slots);
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_DeviceEngine_connectStaged(JNIEnv* env, jclass, jlong handle, jint peer,
                                                                         jint transport, jlongArray rows,
                                                                         jlong memory) {
  const std::unique_ptr<std::shared_ptr<const void>> shared(reinterpret_cast<std::shared_ptr<const void>*>(memory));
  return guardedCode([&]() -> jint {
    std::vector<int64_t> numbers;
    if (!copyLongs(env, rows, numbers)) return static_cast<jint>(Code::Invalid);
    return codeOf(communicatorOf(handle).connectStaged(peer, static_cast<TransportKind>(transport), stagedEnds(numbers),
                                                       std::move(*shared)));
  });
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_DeviceEngine_controls(JNIEnv*, jclass, jlong handle) {
  return reinterpret_cast<jlong>(&communicatorOf(handle).controls());
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_DeviceEngine_prepare(JNIEnv*, jclass, jlong handle, jboolean inPlace,
                                                                   jlong activity) {
  return guardedCode(
      [&] { return codeOf(communicatorOf(handle).prepare(inPlace, reinterpret_cast<StagingActivity*>(activity))); });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_DeviceEngine_selfTest(JNIEnv*, jclass, jlong handle, jint protocol,
                                                                    jlong timeoutNanos) {
  return guardedCode(
      [&] { return codeOf(communicatorOf(handle).selfTest(static_cast<Protocol>(protocol), timeoutNanos)); });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_DeviceEngine_testInPlace(JNIEnv*, jclass, jlong handle,
                                                                       jlong timeoutNanos) {
  return guardedCode([&] { return codeOf(communicatorOf(handle).testInPlace(timeoutNanos)); });
}

JNIEXPORT void JNICALL Java_io_jccl_nativelib_DeviceEngine_renounceInPlace(JNIEnv*, jclass, jlong handle) {
  communicatorOf(handle).renounceInPlace();
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_DeviceEngine_run(JNIEnv* env, jclass, jlong handle, jint operation,
                                                                jlong choice, jlong send, jlong recv, jlong count,
                                                                jint root, jlong timeoutNanos, jlong stream,
                                                                jlongArray issued) {
  return issue(env, handle, issued, [&] {
    return communicatorOf(handle).run(OperationCode::decode(operation), Choice::decode(choice),
                                      reinterpret_cast<const void*>(send), reinterpret_cast<void*>(recv), count, root,
                                      timeoutNanos, streamOf(stream));
  });
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_DeviceEngine_runV(JNIEnv* env, jclass, jlong handle, jint operation,
                                                                 jlong choice, jlong send, jlong recv,
                                                                 jlongArray counts, jint root, jlong timeoutNanos,
                                                                 jlong stream, jlongArray issued) {
  return issue(env, handle, issued, [&]() -> Issued {
    std::vector<int64_t> numbers;
    if (!copyLongs(env, counts, numbers)) return {Code::Invalid};
    return communicatorOf(handle).runV(OperationCode::decode(operation), Choice::decode(choice),
                                       reinterpret_cast<const void*>(send), reinterpret_cast<void*>(recv), numbers,
                                       root, timeoutNanos, streamOf(stream));
  });
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_DeviceEngine_runPointToPoint(JNIEnv* env, jclass, jlong handle,
                                                                            jlong choice, jlongArray tasks,
                                                                            jlong timeoutNanos, jlong stream,
                                                                            jlongArray issued) {
  return issue(env, handle, issued, [&]() -> Issued {
    std::vector<int64_t> numbers;
    std::vector<PointToPointTask> list;
    if (!copyLongs(env, tasks, numbers) || !readTasks(numbers, list)) return {Code::Invalid};
    return communicatorOf(handle).runPointToPoint(Choice::decode(choice), std::move(list), timeoutNanos,
                                                  streamOf(stream));
  });
}

JNIEXPORT void JNICALL Java_io_jccl_nativelib_DeviceEngine_beginGroup(JNIEnv*, jclass, jlong handle) {
  communicatorOf(handle).beginGroup();
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_DeviceEngine_endGroup(JNIEnv* env, jclass, jlong handle,
                                                                     jlong timeoutNanos, jlong stream,
                                                                     jlongArray issued) {
  return issue(env, handle, issued, [&] { return communicatorOf(handle).endGroup(timeoutNanos, streamOf(stream)); });
}

JNIEXPORT void JNICALL Java_io_jccl_nativelib_DeviceEngine_dropGroup(JNIEnv*, jclass, jlong handle) {
  communicatorOf(handle).dropGroup();
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_DeviceEngine_query(JNIEnv*, jclass, jlong handle, jlong number) {
  return guardedCode([&]() -> jint {
    bool done = false;
    const Code code = communicatorOf(handle).query(static_cast<uint64_t>(number), done);
    return !done ? JAVA(PENDING) : code == Code::Ok ? JAVA(DONE) : static_cast<jint>(code);
  });
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_DeviceEngine_report(JNIEnv*, jclass, jlong handle) {
  return reinterpret_cast<jlong>(communicatorOf(handle).report());
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_DeviceEngine_adjustChoice(JNIEnv*, jclass, jlong handle, jint operation,
                                                                         jlong choice) {
  return communicatorOf(handle).adjustChoice(Choice::decode(choice), OperationCode::decode(operation)).encode();
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_DeviceEngine_ownStream(JNIEnv*, jclass, jlong handle) {
  return reinterpret_cast<jlong>(communicatorOf(handle).ownStream());
}

JNIEXPORT jstring JNICALL Java_io_jccl_nativelib_DeviceEngine_crowding(JNIEnv* env, jclass, jlong handle) {
  return guarded<jstring>(nullptr, [&]() -> jstring {
    const std::string crowding = communicatorOf(handle).crowding();
    return crowding.empty() ? nullptr : newString(env, crowding);
  });
}

JNIEXPORT jstring JNICALL Java_io_jccl_nativelib_DeviceEngine_takeNotice(JNIEnv* env, jclass, jlong handle) {
  return guarded<jstring>(nullptr, [&] { return newString(env, communicatorOf(handle).takeNotice()); });
}

JNIEXPORT void JNICALL Java_io_jccl_nativelib_DeviceEngine_abort(JNIEnv*, jclass, jlong handle, jint code) {
  communicatorOf(handle).abort(code < 0 ? static_cast<Code>(code) : Code::Aborted);
}

JNIEXPORT void JNICALL Java_io_jccl_nativelib_DeviceEngine_destroy(JNIEnv*, jclass, jlong handle) {
  guarded<bool>(false, [&] {
    delete reinterpret_cast<DeviceCommunicator*>(handle);
    return true;
  });
}

JNIEXPORT jstring JNICALL Java_io_jccl_nativelib_DeviceEngine_lastError(JNIEnv* env, jclass, jlong handle) {
  return guarded<jstring>(nullptr, [&] {
    return newString(env, reasonOr(handle == 0 ? createError.text() : communicatorOf(handle).lastError()));
  });
}

JNIEXPORT jlongArray JNICALL Java_io_jccl_nativelib_DeviceEngine_waiting(JNIEnv* env, jclass, jlong handle) {
  return guarded<jlongArray>(nullptr, [&] { return newLongs(env, waitRows(communicatorOf(handle).waiting())); });
}

JNIEXPORT jlongArray JNICALL Java_io_jccl_nativelib_DeviceEngine_history(JNIEnv* env, jclass, jlong handle,
                                                                         jlong sequence) {
  return guarded<jlongArray>(nullptr, [&] {
    communicatorOf(handle).refresh();
    return newLongs(env, historyRow(communicatorOf(handle).history(), sequence));
  });
}

JNIEXPORT jlongArray JNICALL Java_io_jccl_nativelib_DeviceEngine_transfers(JNIEnv* env, jclass, jlong handle,
                                                                           jlong number) {
  return guarded<jlongArray>(nullptr, [&] {
    communicatorOf(handle).refresh();
    return newLongs(env, transferRow(communicatorOf(handle).transfers(), number));
  });
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_DeviceEngine_lastTransfers(JNIEnv*, jclass, jlong handle) {
  return static_cast<jlong>(communicatorOf(handle).transfers().last());
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_DeviceEngine_lastEntered(JNIEnv*, jclass, jlong handle) {
  return static_cast<jlong>(communicatorOf(handle).history().lastEntered());
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_DeviceEngine_lastDone(JNIEnv*, jclass, jlong handle) {
  return guarded<jlong>(0, [&] { return static_cast<jlong>(communicatorOf(handle).lastDone()); });
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_DeviceEngine_failedSequence(JNIEnv*, jclass, jlong handle) {
  return static_cast<jlong>(communicatorOf(handle).failedSequence());
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_DeviceEngine_deviceBytes(JNIEnv*, jclass, jlong handle) {
  return static_cast<jlong>(communicatorOf(handle).deviceBytes());
}
