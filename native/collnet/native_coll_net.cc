// Natives of io.jccl.collnet.NativeCollNet.
#include "collnet/coll_net_member.h"
#include "io_jccl_collnet_NativeCollNet.h"
#include "jni/host_call.h"
#include "jni/jni_support.h"
#include "jni/rows.h"

#define JAVA(name) io_jccl_collnet_NativeCollNet_##name

namespace {

using namespace jccl;
using namespace jccl::jni;

static_assert(isLayout({JAVA(COMMON_GROUPS), JAVA(COMMON_GATHERS), JAVA(COMMON_MEGABITS), JAVA(COMMON_LATENCY_NANOS)},
                       JAVA(COMMON_LENGTH)));

CollNetMember& collNetOf(const HostCall& host) { return host->attachment<CollNetMember>(); }

// Copies arrays of bytes; a null array becomes an empty one. Returns false if an exception is pending.
bool copyAll(JNIEnv* env, jobjectArray array, std::vector<std::vector<uint8_t>>& out) {
  const jsize count = array == nullptr ? 0 : env->GetArrayLength(array);
  out.resize(static_cast<size_t>(count));
  for (jsize i = 0; i < count; ++i) {
    auto* element = static_cast<jbyteArray>(env->GetObjectArrayElement(array, i));
    const bool copied = copyBytes(env, element, out[static_cast<size_t>(i)]);
    env->DeleteLocalRef(element);
    if (!copied) return false;
  }
  return true;
}

}  // namespace

JNIEXPORT jbyteArray JNICALL Java_io_jccl_collnet_NativeCollNet_offer(JNIEnv* env, jclass, jlong handle,
                                                                      jstring plugin) {
  return guarded<jbyteArray>(nullptr, [&]() -> jbyteArray {
    std::string name;
    std::vector<uint8_t> offer;
    const HostCall host(handle);
    if (!copyString(env, plugin, name) || host.codeOf(collNetOf(host).offer(name, &offer)) != 0) return nullptr;
    return newBytes(env, offer.data(), offer.size());
  });
}

JNIEXPORT jlongArray JNICALL Java_io_jccl_collnet_NativeCollNet_common(JNIEnv* env, jclass, jlong handle,
                                                                       jobjectArray offers) {
  return guarded<jlongArray>(nullptr, [&]() -> jlongArray {
    std::vector<std::vector<uint8_t>> all;
    CollNetOffer common;
    if (!copyAll(env, offers, all)) return nullptr;
    const HostCall host(handle);
    if (host.codeOf(CollNetOffer::common(all, &common)) != 0) return nullptr;
    std::vector<int64_t> row(JAVA(COMMON_LENGTH));
    row[JAVA(COMMON_GROUPS)] = common.devices;
    row[JAVA(COMMON_GATHERS)] = common.gathers ? 1 : 0;
    row[JAVA(COMMON_MEGABITS)] = static_cast<int64_t>(common.speedMbps);
    row[JAVA(COMMON_LATENCY_NANOS)] = static_cast<int64_t>(common.latencyMicros * 1000);
    return newLongs(env, row);
  });
}

JNIEXPORT jbyteArray JNICALL Java_io_jccl_collnet_NativeCollNet_listen(JNIEnv* env, jclass, jlong handle, jint group) {
  return guarded<jbyteArray>(nullptr, [&]() -> jbyteArray {
    std::vector<uint8_t> made;
    const HostCall host(handle);
    if (host.codeOf(collNetOf(host).listen(group, &made)) != 0) return nullptr;
    return newBytes(env, made.data(), made.size());
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_collnet_NativeCollNet_connect(JNIEnv* env, jclass, jlong handle, jint group,
                                                                  jobjectArray handles, jint member,
                                                                  jlong timeoutNanos) {
  return guardedCode([&]() -> jint {
    std::vector<std::vector<uint8_t>> all;
    if (!copyAll(env, handles, all)) return static_cast<jint>(Code::Invalid);
    const HostCall host(handle);
    return host.codeOf(collNetOf(host).connect(group, all, member, timeoutNanos));
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_collnet_NativeCollNet_use(JNIEnv* env, jclass, jlong handle, jintArray leaders,
                                                              jint groups, jobjectArray offers) {
  return guardedCode([&]() -> jint {
    std::vector<int32_t> ranks;
    std::vector<std::vector<uint8_t>> all;
    if (!copyInts(env, leaders, ranks) || !copyAll(env, offers, all)) return static_cast<jint>(Code::Invalid);
    if (groups < 1 || ranks.size() % static_cast<size_t>(groups) != 0) return static_cast<jint>(Code::Invalid);
    const auto hosts = static_cast<ptrdiff_t>(ranks.size()) / groups;
    std::vector<std::vector<int>> byGroup;
    for (auto at = ranks.begin(); at != ranks.end(); at += hosts) byGroup.emplace_back(at, at + hosts);
    CollNetOffer common;
    const HostCall host(handle);
    if (const jint code = host.codeOf(CollNetOffer::common(all, &common)); code != 0) return code;
    return host.codeOf(collNetOf(host).use(byGroup, common));
  });
}

JNIEXPORT jlongArray JNICALL Java_io_jccl_collnet_NativeCollNet_stage(JNIEnv* env, jclass, jlong handle, jint groups,
                                                                      jobjectArray offers, jint ranksOfHost) {
  return guarded<jlongArray>(nullptr, [&]() -> jlongArray {
    std::vector<std::vector<uint8_t>> all;
    CollNetOffer common;
    std::vector<StagedEnds> ends;
    const HostCall host(handle);
    if (!copyAll(env, offers, all) || host.codeOf(CollNetOffer::common(all, &common)) != 0) return nullptr;
    if (host.codeOf(collNetOf(host).stage(groups, common, ranksOfHost, ends)) != 0) return nullptr;
    std::vector<int64_t> rows = {reinterpret_cast<int64_t>(&collNetOf(host).staged())};
    appendStaged(ends, rows);
    return newLongs(env, rows);
  });
}

JNIEXPORT void JNICALL Java_io_jccl_collnet_NativeCollNet_drop(JNIEnv*, jclass, jlong handle) {
  guarded(0, [&] {
    collNetOf(HostCall(handle)).drop();
    return 0;
  });
}

JNIEXPORT jstring JNICALL Java_io_jccl_collnet_NativeCollNet_devices(JNIEnv* env, jclass, jstring plugin,
                                                                     jlong limitNanos) {
  return guarded<jstring>(nullptr, [&]() -> jstring {
    std::string name;
    std::unique_ptr<CollNet> opened;
    if (!copyString(env, plugin, name)) return nullptr;
    if (!CollNet::open(name, 0, {limitNanos, limitNanos}, &opened)) return nullptr;
    std::string lines;
    for (const plugin::DeviceProperties& one : opened->devices()) lines += lineOf(one.name) + lineOf(one.pciPath);
    return newString(env, lines);
  });
}
