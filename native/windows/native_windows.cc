// Natives of io.jccl.nativelib.NativeWindow.
#include <vector>

#include "io_jccl_nativelib_NativeWindow.h"
#include "jni/host_call.h"
#include "jni/jni_support.h"
#include "windows/windows.h"

#define JAVA(name) io_jccl_nativelib_NativeWindow_##name

namespace {

using namespace jccl;
using namespace jccl::jni;

static_assert(JAVA(SIGNALS) == WindowMemory::kSignals);
static_assert(JAVA(NO_SIGNAL) == static_cast<jint>(WindowFrame::kNoSignal));

Window& windowOf(jlong window) { return *reinterpret_cast<Window*>(window); }

}  // namespace

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_NativeWindow_totalBytes(JNIEnv*, jclass, jlong bytes, jint size) {
  return static_cast<jlong>(WindowMemory::totalBytes(static_cast<size_t>(bytes), size));
}

JNIEXPORT void JNICALL Java_io_jccl_nativelib_NativeWindow_attach(JNIEnv*, jclass, jlong engine) {
  guardedCode([&] {
    HostCall(engine)->attachment<Windows>();
    return 0;
  });
}

JNIEXPORT jboolean JNICALL Java_io_jccl_nativelib_NativeWindow_hasNetworkFailed(JNIEnv*, jclass, jlong engine) {
  return guarded<jboolean>(JNI_FALSE, [&]() -> jboolean {
    const NetTransport* network = HostCall(engine)->networkInUse();
    return network != nullptr && network->failed() ? JNI_TRUE : JNI_FALSE;
  });
}

JNIEXPORT jbyteArray JNICALL Java_io_jccl_nativelib_NativeWindow_describe(JNIEnv* env, jclass, jlong engine,
                                                                          jlong address, jlong totalBytes) {
  return guarded<jbyteArray>(nullptr, [&]() -> jbyteArray {
    const HostCall host(engine);
    std::vector<uint8_t> place;
    const Status described = host->attachment<Windows>().describe(reinterpret_cast<uint8_t*>(address),
                                                                  static_cast<size_t>(totalBytes), &place);
    return host.codeOf(described) == 0 ? newBytes(env, place.data(), place.size()) : nullptr;
  });
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_NativeWindow_open(JNIEnv* env, jclass, jlong engine, jint number,
                                                                 jlong address, jlong bytes, jbyteArray places) {
  return guarded<jlong>(0, [&]() -> jlong {
    const HostCall host(engine);
    std::vector<uint8_t> all;
    if (!copyBytes(env, places, all)) return 0;
    Window* window = nullptr;
    const Status opened = host->attachment<Windows>().open(
        static_cast<uint32_t>(number), reinterpret_cast<uint8_t*>(address), static_cast<size_t>(bytes), all, &window);
    return host.codeOf(opened) == 0 ? reinterpret_cast<jlong>(window) : 0;
  });
}

JNIEXPORT jboolean JNICALL Java_io_jccl_nativelib_NativeWindow_isMapped(JNIEnv*, jclass, jlong window, jint peer) {
  return windowOf(window).peers[peer] ? JNI_TRUE : JNI_FALSE;
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_NativeWindow_put(JNIEnv*, jclass, jlong window, jint peer, jlong offset,
                                                               jlong from, jlong bytes, jint signal,
                                                               jlong timeoutNanos) {
  return guardedCode([&] {
    return lastFailure.codeOf(windowOf(window).owner.put(
        windowOf(window), peer, static_cast<uint64_t>(offset), reinterpret_cast<const uint8_t*>(from),
        static_cast<uint64_t>(bytes), static_cast<uint32_t>(signal), timeoutNanos));
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_NativeWindow_get(JNIEnv*, jclass, jlong window, jint peer, jlong offset,
                                                               jlong to, jlong bytes, jlong timeoutNanos) {
  return guardedCode([&] {
    return lastFailure.codeOf(windowOf(window).owner.get(windowOf(window), peer, static_cast<uint64_t>(offset),
                                                         reinterpret_cast<uint8_t*>(to), static_cast<uint64_t>(bytes),
                                                         timeoutNanos));
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_NativeWindow_add(JNIEnv*, jclass, jlong window, jint peer, jlong offset,
                                                               jlong addend, jlong before, jlong timeoutNanos) {
  return guardedCode([&] {
    return lastFailure.codeOf(windowOf(window).owner.add(windowOf(window), peer, static_cast<uint64_t>(offset),
                                                         static_cast<uint64_t>(addend),
                                                         reinterpret_cast<uint64_t*>(before), timeoutNanos));
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_NativeWindow_waitSignal(JNIEnv*, jclass, jlong window, jint peer, jint id,
                                                                      jlong count, jlong timeoutNanos) {
  return guardedCode([&] {
    return lastFailure.codeOf(windowOf(window).owner.waitSignal(windowOf(window), peer, static_cast<uint32_t>(id),
                                                                static_cast<uint64_t>(count), timeoutNanos));
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_NativeWindow_flush(JNIEnv*, jclass, jlong window, jint peer,
                                                                 jlong timeoutNanos) {
  return guardedCode(
      [&] { return lastFailure.codeOf(windowOf(window).owner.flush(windowOf(window), peer, timeoutNanos)); });
}

JNIEXPORT void JNICALL Java_io_jccl_nativelib_NativeWindow_endUse(JNIEnv*, jclass, jlong window) {
  guardedCode([&] {
    windowOf(window).owner.endUse(windowOf(window));
    return 0;
  });
}

JNIEXPORT void JNICALL Java_io_jccl_nativelib_NativeWindow_close(JNIEnv*, jclass, jlong window) {
  guardedCode([&] {
    windowOf(window).owner.close(windowOf(window));
    return 0;
  });
}
