// Natives of io.jccl.nativelib.NativeMemory.
#include <algorithm>
#include <cstring>

#include "engine/operation.h"
#include "engine/shared_heap.h"
#include "io_jccl_nativelib_NativeMemory.h"
#include "jni/jni_support.h"
#include "primitives/reduce.h"

namespace {

using namespace jccl;
using namespace jccl::jni;

thread_local LastFailure lastFailure;

constexpr jlong kFreed = 1;

using Fold = void (*)(const void* next, void* accumulator, int64_t bytes, void* context);

template <class T>
T pointer(jlong address) {
  return reinterpret_cast<T>(static_cast<intptr_t>(address));
}

}  // namespace

JNIEXPORT void JNICALL Java_io_jccl_nativelib_NativeMemory_copy(JNIEnv*, jclass, jlong from, jlong to, jlong bytes) {
  std::memcpy(pointer<void*>(to), pointer<const void*>(from), static_cast<size_t>(bytes));
}

JNIEXPORT void JNICALL Java_io_jccl_nativelib_NativeMemory_fold(JNIEnv*, jclass, jlong function, jlong context,
                                                                jlong next, jlong accumulator, jlong bytes) {
  pointer<Fold>(function)(pointer<const void*>(next), pointer<void*>(accumulator), bytes, pointer<void*>(context));
}

JNIEXPORT void JNICALL Java_io_jccl_nativelib_NativeMemory_reduce(JNIEnv*, jclass, jint type, jint op, jlong next,
                                                                  jlong accumulator, jlong count) {
  const ReduceCopyFn kernel = reduceCopyKernel(static_cast<DataType>(type), static_cast<ReduceOp>(op));
  if (kernel == nullptr) return;
  void* to = pointer<void*>(accumulator);
  const void* from[] = {to, pointer<const void*>(next)};
  kernel(&to, 1, from, 2, static_cast<size_t>(count), PostOp{}, 0);
}

JNIEXPORT void JNICALL Java_io_jccl_nativelib_NativeMemory_round(JNIEnv*, jclass, jint format, jlong seed,
                                                                 jlong address, jlong position, jlong count) {
  constexpr size_t kTile = 8 * kWireBlock;
  const WireCode code{static_cast<uint8_t>(format)};
  const WireCodec codec = wireCodec(code.format(), code.stochastic(), DataType::Float32);
  if (codec.narrow == nullptr) return;
  auto* elements = pointer<float*>(address);
  const auto begin = static_cast<size_t>(position);
  const auto end = begin + static_cast<size_t>(count);
  uint8_t wire[2 * kTile];  // the widest format has 2 bytes for each element
  for (size_t at = begin; at < end;) {
    const size_t n = std::min(end - at, kTile - at % kTile);
    codec.narrow(elements + (at - begin), wire, at, n, static_cast<uint64_t>(seed));
    codec.widen(wire, elements + (at - begin), at, n);
    at += n;
  }
}

JNIEXPORT jobject JNICALL Java_io_jccl_nativelib_NativeMemory_newDirectBuffer(JNIEnv* env, jclass, jlong address,
                                                                              jlong bytes) {
  return jccl::jni::guarded<jobject>(nullptr, [&] { return env->NewDirectByteBuffer(pointer<void*>(address), bytes); });
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_NativeMemory_addressOf(JNIEnv* env, jclass, jobject buffer) {
  return buffer == nullptr ? 0 : reinterpret_cast<jlong>(env->GetDirectBufferAddress(buffer));
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_NativeMemory_allocateShared(JNIEnv*, jclass, jlong bytes) {
  return guarded<jlong>(0, [&]() -> jlong {
    void* memory = nullptr;
    const Status status = bytes < 0 ? Status::invalid("bytes=" + std::to_string(bytes) + ", expected at least 0")
                                    : SharedHeap::ofThisProcess().allocate(static_cast<size_t>(bytes), memory);
    lastFailure.set(status);
    return reinterpret_cast<jlong>(memory);
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_NativeMemory_retireShared(JNIEnv*, jclass, jlong memory) {
  return guardedCode([&] {
    const Status status = SharedHeap::ofThisProcess().retire(reinterpret_cast<void*>(memory));
    return lastFailure.codeOf(status);
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_NativeMemory_freeShared(JNIEnv*, jclass, jlong memory) {
  return guardedCode([&] {
    const Status status = SharedHeap::ofThisProcess().free(reinterpret_cast<void*>(memory));
    return lastFailure.codeOf(status);
  });
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_NativeMemory_register(JNIEnv*, jclass, jlong address, jlong bytes) {
  return guarded<jlong>(0, [&]() -> jlong {
    uint64_t id = 0;
    const Status adopted =
        SharedHeap::ofThisProcess().adopt(pointer<const void*>(address), static_cast<size_t>(bytes), id);
    return lastFailure.codeOf(adopted) == 0 ? static_cast<jlong>(id) : 0;
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_NativeMemory_unregister(JNIEnv*, jclass, jlong registration) {
  return guardedCode([&]() -> jint {
    bool freed = false;
    const jint code =
        lastFailure.codeOf(SharedHeap::ofThisProcess().giveBack(static_cast<uint64_t>(registration), freed));
    return code == 0 && freed ? kFreed : code;
  });
}

JNIEXPORT jstring JNICALL Java_io_jccl_nativelib_NativeMemory_lastError(JNIEnv* env, jclass) {
  return guarded<jstring>(nullptr, [&] { return newString(env, reasonOr(lastFailure.text())); });
}
