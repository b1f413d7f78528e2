// Natives of io.jccl.nativelib.NativeDescriptors.
#include <memory>
#include <string>
#include <vector>

#include "io_jccl_nativelib_NativeDescriptors.h"
#include "jni/jni_support.h"
#include "transport/descriptor_offer.h"

namespace {

using namespace jccl;
using namespace jccl::jni;

thread_local LastFailure lastFailure;

DescriptorOffer* offerOf(jlong handle) { return reinterpret_cast<DescriptorOffer*>(handle); }

}  // namespace

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_NativeDescriptors_offer(JNIEnv*, jclass, jint descriptor) {
  UniqueFd owned(descriptor);
  return guarded<jlong>(0, [&]() -> jlong {
    std::unique_ptr<DescriptorOffer> offer;
    return lastFailure.codeOf(DescriptorOffer::make(std::move(owned), offer)) == 0
               ? reinterpret_cast<jlong>(offer.release())
               : 0;
  });
}

JNIEXPORT jbyteArray JNICALL Java_io_jccl_nativelib_NativeDescriptors_wire(JNIEnv* env, jclass, jlong offer) {
  return guarded<jbyteArray>(nullptr, [&] {
    const DescriptorOffer::Wire wire = offerOf(offer)->wire();
    return newBytes(env, wire.data(), wire.size());
  });
}

JNIEXPORT void JNICALL Java_io_jccl_nativelib_NativeDescriptors_withdraw(JNIEnv*, jclass, jlong offer) {
  guardedCode([&]() -> jint {
    delete offerOf(offer);
    return 0;
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_NativeDescriptors_fetch(JNIEnv* env, jclass, jbyteArray wire) {
  return guardedCode([&]() -> jint {
    std::vector<uint8_t> bytes;
    if (!copyBytes(env, wire, bytes)) return static_cast<jint>(Code::Invalid);
    UniqueFd descriptor;
    const jint code = lastFailure.codeOf(DescriptorOffer::fetch(bytes, descriptor));
    return code == 0 ? descriptor.release() : code;
  });
}

JNIEXPORT jstring JNICALL Java_io_jccl_nativelib_NativeDescriptors_lastError(JNIEnv* env, jclass) {
  return guarded<jstring>(nullptr, [&] { return newString(env, reasonOr(lastFailure.text())); });
}
