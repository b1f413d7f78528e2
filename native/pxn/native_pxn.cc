// Natives of io.jccl.nativelib.NativeEngine for PXN.
#include <vector>

#include "io_jccl_nativelib_NativeEngine.h"
#include "jni/host_call.h"
#include "jni/jni_support.h"
#include "jni/rows.h"
#include "pxn/pxn.h"

namespace {

using namespace jccl;
using namespace jccl::jni;

static_assert(isLayout({JCCL_ROW(FORWARDED_FROM), JCCL_ROW(FORWARDED_TO), JCCL_ROW(FORWARDED_CHANNEL),
                        JCCL_ROW(FORWARDED_DEVICE), JCCL_ROW(FORWARDED_AHEAD)},
                       JCCL_ROW(FORWARDED_LENGTH)));
static_assert(isLayout({JCCL_ROW(REQUEST_PEER), JCCL_ROW(REQUEST_CHANNEL), JCCL_ROW(REQUEST_PLACE)},
                       JCCL_ROW(REQUEST_LENGTH)));

}  // namespace

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_NativeEngine_forwardFor(JNIEnv* env, jclass, jlong handle, jlong address,
                                                                      jlong bytes, jint dmabuf, jintArray rows) {
  return guardedCode([&]() -> jint {
    std::vector<ForwardedConnection> connections;
    const bool whole = readRows<JCCL_ROW(FORWARDED_LENGTH)>(env, rows, [&](const int32_t* row) {
      connections.push_back({.from = row[JCCL_ROW(FORWARDED_FROM)],
                             .to = row[JCCL_ROW(FORWARDED_TO)],
                             .channel = row[JCCL_ROW(FORWARDED_CHANNEL)],
                             .adapter = row[JCCL_ROW(FORWARDED_DEVICE)],
                             .ahead = row[JCCL_ROW(FORWARDED_AHEAD)] != 0});
    });
    if (!whole) return static_cast<jint>(Code::Invalid);
    const NetDeviceMemory slots{reinterpret_cast<void*>(address), static_cast<size_t>(bytes), dmabuf};
    const HostCall host(handle);
    return host.codeOf(host->attachment<Pxn>().forwardFor(slots, std::move(connections)));
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_NativeEngine_sendThrough(JNIEnv* env, jclass, jlong handle,
                                                                       jint forwarder, jbyteArray info,
                                                                       jint connections, jlong slots, jintArray rows) {
  return guardedCode([&]() -> jint {
    std::vector<uint8_t> bytes;
    std::vector<ForwardedSends::Request> requests;
    const bool whole = readRows<JCCL_ROW(REQUEST_LENGTH)>(env, rows, [&](const int32_t* row) {
      requests.push_back({.peer = row[JCCL_ROW(REQUEST_PEER)],
                          .channel = row[JCCL_ROW(REQUEST_CHANNEL)],
                          .index = static_cast<size_t>(row[JCCL_ROW(REQUEST_PLACE)])});
    });
    if (!whole || !copyBytes(env, info, bytes)) return static_cast<jint>(Code::Invalid);
    HostCall(handle)->attachment<Pxn>().sendThrough(forwarder, bytes, static_cast<size_t>(connections),
                                                    reinterpret_cast<uint8_t*>(slots), requests);
    return 0;
  });
}
