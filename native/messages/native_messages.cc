// Natives of io.jccl.nativelib.NativeMessages.
#include <vector>

#include "io_jccl_nativelib_NativeMessages.h"
#include "jni/host_call.h"
#include "jni/jni_support.h"
#include "messages/messages.h"

#define JAVA(name) io_jccl_nativelib_NativeMessages_##name

namespace {

using namespace jccl;
using namespace jccl::jni;

static_assert(JAVA(ANY) == kAnyMessage);
static_assert(JAVA(DONE) == static_cast<jint>(MessageRequest::State::Done));
static_assert(JAVA(WAITING) == static_cast<jint>(MessageRequest::State::Waiting));
static_assert(JAVA(MOVING) == static_cast<jint>(MessageRequest::State::Moving));
static_assert(JAVA(TOO_LONG) == static_cast<jint>(MessageRequest::State::TooLong));
static_assert(JAVA(CANCELLED) == static_cast<jint>(MessageRequest::State::Cancelled));
static_assert(JAVA(MAX_SENDS) == Messages::kMaxSends);

Messages& messagesOf(jlong messages) { return *reinterpret_cast<Messages*>(messages); }
MessageRequest& requestOf(jlong request) { return *reinterpret_cast<MessageRequest*>(request); }
uint8_t* memoryAt(jlong address) { return reinterpret_cast<uint8_t*>(address); }

// Returns source, tag and length in one number, which saves Java an array, or 0 if they are too large.
int64_t packedStatus(const MessageRequest& request) {
  const auto source = static_cast<uint64_t>(request.peer), tag = static_cast<uint64_t>(request.messageTag);
  constexpr int kLengthBits = JAVA(PACKED_LENGTH_BITS), kTagBits = JAVA(PACKED_TAG_BITS);
  if (request.length >> kLengthBits != 0 || tag >> kTagBits != 0 || source >> JAVA(PACKED_SOURCE_BITS) != 0) return 0;
  return static_cast<int64_t>(uint64_t{1} << 63 | source << (kLengthBits + kTagBits) | tag << kLengthBits |
                              request.length);
}

void setStatus(JNIEnv* env, jlongArray status, int32_t source, int32_t tag, uint64_t bytes) {
  const jlong values[] = {source, tag, static_cast<jlong>(bytes)};
  env->SetLongArrayRegion(status, 0, 3, values);
}

}  // namespace

JNIEXPORT void JNICALL Java_io_jccl_nativelib_NativeMessages_attach(JNIEnv*, jclass, jlong engine) {
  guardedCode([&] {
    HostCall(engine)->attachment<Messages>();
    return 0;
  });
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_NativeMessages_start(JNIEnv*, jclass, jlong engine) {
  return guarded<jlong>(0, [&]() -> jlong {
    const HostCall host(engine);
    auto& messages = host->attachment<Messages>();
    return host.codeOf(messages.start()) == 0 ? reinterpret_cast<jlong>(&messages) : 0;
  });
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_NativeMessages_send(JNIEnv*, jclass, jlong messages, jint peer, jint tag,
                                                                   jlong from, jlong bytes, jboolean isOffered) {
  return guarded<jlong>(JAVA(REFUSED), [&]() -> jlong {
    MessageRequest* request = nullptr;
    const Status sent = messagesOf(messages).send(peer, tag, memoryAt(from), static_cast<uint64_t>(bytes),
                                                  isOffered == JNI_TRUE, &request);
    return lastFailure.codeOf(sent) == 0 ? reinterpret_cast<jlong>(request) : JAVA(REFUSED);
  });
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_NativeMessages_receive(JNIEnv* env, jclass, jlong messages, jint source,
                                                                      jint tag, jlong to, jlong bytes, jlong nanos,
                                                                      jlongArray status) {
  return guarded<jlong>(JAVA(REFUSED), [&]() -> jlong {
    MessageRequest* request = messagesOf(messages).receive(source, tag, memoryAt(to), static_cast<uint64_t>(bytes));
    // A failure shows in a later wait, whose caller knows the request.
    if (nanos > 0) lastFailure.codeOf(messagesOf(messages).wait(*request, nanos));
    if (status == nullptr || request->state.load(std::memory_order_acquire) != MessageRequest::State::Done) {
      return reinterpret_cast<jlong>(request);
    }
    const int64_t packed = packedStatus(*request);
    if (packed == 0) setStatus(env, status, request->peer, request->messageTag, request->length);
    Messages::free(request);
    return packed;
  });
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_NativeMessages_tryReceive(JNIEnv*, jclass, jlong messages, jint source,
                                                                         jint tag, jlong to, jlong bytes) {
  return guarded<jlong>(JAVA(REFUSED), [&]() -> jlong {
    return reinterpret_cast<jlong>(
        messagesOf(messages).tryReceive(source, tag, memoryAt(to), static_cast<uint64_t>(bytes)));
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_NativeMessages_probe(JNIEnv* env, jclass, jlong messages, jint source,
                                                                   jint tag, jlong nanos, jlongArray status) {
  return guardedCode([&] {
    MessageStatus found;
    const Status probed = messagesOf(messages).probe(source, tag, nanos, &found);
    if (probed) setStatus(env, status, found.source, found.tag, found.bytes);
    return lastFailure.codeOf(probed);
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_NativeMessages_wait(JNIEnv*, jclass, jlong messages, jlong request,
                                                                  jlong nanos) {
  return guardedCode([&] { return lastFailure.codeOf(messagesOf(messages).wait(requestOf(request), nanos)); });
}

JNIEXPORT jboolean JNICALL Java_io_jccl_nativelib_NativeMessages_test(JNIEnv*, jclass, jlong messages, jlong request) {
  return guarded<jboolean>(
      JNI_FALSE, [&]() -> jboolean { return messagesOf(messages).test(requestOf(request)) ? JNI_TRUE : JNI_FALSE; });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_NativeMessages_state(JNIEnv* env, jclass, jlong request,
                                                                   jlongArray status) {
  return guardedCode([&] {
    const MessageRequest& asked = requestOf(request);
    const auto state = asked.state.load(std::memory_order_acquire);
    if (status != nullptr && asked.isOver()) setStatus(env, status, asked.peer, asked.messageTag, asked.length);
    return static_cast<jint>(state);
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_NativeMessages_finish(JNIEnv* env, jclass, jlong request,
                                                                    jlongArray status) {
  return guardedCode([&] {
    MessageRequest* ended = &requestOf(request);
    const auto state = ended->state.load(std::memory_order_acquire);
    if (!ended->isOver()) return static_cast<jint>(state);
    setStatus(env, status, ended->peer, ended->messageTag, ended->length);
    Messages::free(ended);
    return static_cast<jint>(state);
  });
}

JNIEXPORT void JNICALL Java_io_jccl_nativelib_NativeMessages_free(JNIEnv*, jclass, jlong request) {
  guardedCode([&] {
    Messages::free(&requestOf(request));
    return 0;
  });
}

JNIEXPORT jboolean JNICALL Java_io_jccl_nativelib_NativeMessages_cancel(JNIEnv*, jclass, jlong messages,
                                                                        jlong request) {
  return guarded<jboolean>(
      JNI_FALSE, [&]() -> jboolean { return messagesOf(messages).cancel(requestOf(request)) ? JNI_TRUE : JNI_FALSE; });
}

JNIEXPORT jstring JNICALL Java_io_jccl_nativelib_NativeMessages_describe(JNIEnv* env, jclass, jlong messages,
                                                                         jlong request) {
  return guarded<jstring>(nullptr, [&] { return newString(env, messagesOf(messages).describe(requestOf(request))); });
}

JNIEXPORT void JNICALL Java_io_jccl_nativelib_NativeMessages_serve(JNIEnv*, jclass, jlong messages, jlong nanos,
                                                                   jboolean isAwaited) {
  guardedCode([&] {
    messagesOf(messages).serve(nanos, isAwaited == JNI_TRUE);
    return 0;
  });
}

JNIEXPORT void JNICALL Java_io_jccl_nativelib_NativeMessages_wake(JNIEnv*, jclass, jlong messages) {
  messagesOf(messages).wake();
}

JNIEXPORT void JNICALL Java_io_jccl_nativelib_NativeMessages_end(JNIEnv*, jclass, jlong messages) {
  messagesOf(messages).stop();
}
