// Natives of io.jccl.pxn.NativePxn.
#include <utility>
#include <vector>

#include "io_jccl_pxn_NativePxn.h"
#include "jni/host_call.h"
#include "jni/jni_support.h"
#include "jni/rows.h"
#include "pxn/pxn.h"

#define JAVA(name) io_jccl_pxn_NativePxn_##name

namespace {

using namespace jccl;
using namespace jccl::jni;

static_assert(isLayout({JAVA(FORWARDED_FROM), JAVA(FORWARDED_TO), JAVA(FORWARDED_CHANNEL), JAVA(FORWARDED_DEVICE),
                        JAVA(FORWARDED_AHEAD)},
                       JAVA(FORWARDED_LENGTH)));
static_assert(isLayout({JAVA(REQUEST_PEER), JAVA(REQUEST_CHANNEL), JAVA(REQUEST_PLACE)}, JAVA(REQUEST_LENGTH)));

}  // namespace

JNIEXPORT jint JNICALL Java_io_jccl_pxn_NativePxn_forwardFor(JNIEnv* env, jclass, jlong handle, jlong address,
                                                             jlong bytes, jint dmabuf, jintArray rows) {
  return guardedCode([&]() -> jint {
    std::vector<ForwardedConnection> connections;
    const bool whole = readRows<JAVA(FORWARDED_LENGTH)>(env, rows, [&](const int32_t* row) {
      connections.push_back({.from = row[JAVA(FORWARDED_FROM)],
                             .to = row[JAVA(FORWARDED_TO)],
                             .channel = row[JAVA(FORWARDED_CHANNEL)],
                             .adapter = row[JAVA(FORWARDED_DEVICE)],
                             .ahead = row[JAVA(FORWARDED_AHEAD)] != 0});
    });
    if (!whole) return static_cast<jint>(Code::Invalid);
    const NetDeviceMemory slots{reinterpret_cast<void*>(address), static_cast<size_t>(bytes), dmabuf};
    const HostCall host(handle);
    return host.codeOf(host->attachment<Pxn>().forwardFor(slots, std::move(connections)));
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_pxn_NativePxn_sendThrough(JNIEnv* env, jclass, jlong handle, jint forwarder,
                                                              jbyteArray info, jint connections, jlong slots,
                                                              jintArray rows) {
  return guardedCode([&]() -> jint {
    std::vector<uint8_t> bytes;
    std::vector<ForwardedSends::Request> requests;
    const bool whole = readRows<JAVA(REQUEST_LENGTH)>(env, rows, [&](const int32_t* row) {
      requests.push_back({.peer = row[JAVA(REQUEST_PEER)],
                          .channel = row[JAVA(REQUEST_CHANNEL)],
                          .index = static_cast<size_t>(row[JAVA(REQUEST_PLACE)])});
    });
    if (!whole || !copyBytes(env, info, bytes)) return static_cast<jint>(Code::Invalid);
    HostCall(handle)->attachment<Pxn>().sendThrough(forwarder, bytes, static_cast<size_t>(connections),
                                                    reinterpret_cast<uint8_t*>(slots), std::move(requests));
    return 0;
  });
}
