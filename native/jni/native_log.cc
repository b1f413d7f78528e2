// Natives of io.jccl.nativelib.NativeLog.
#include "base/log.h"

#include "io_jccl_nativelib_LogDrain.h"
#include "io_jccl_nativelib_NativeLog.h"
#include "jni/jni_support.h"

using jccl::LogLevel;

#define LEVEL(name) io_jccl_nativelib_LogDrain_##name

static_assert(LEVEL(TRACE) == static_cast<int>(LogLevel::Trace) && LEVEL(DEBUG) == static_cast<int>(LogLevel::Debug));
static_assert(LEVEL(INFO) == static_cast<int>(LogLevel::Info) && LEVEL(WARN) == static_cast<int>(LogLevel::Warn));
static_assert(LEVEL(ERROR) == static_cast<int>(LogLevel::Error));

JNIEXPORT jstring JNICALL Java_io_jccl_nativelib_NativeLog_take(JNIEnv* env, jclass) {
  return jccl::jni::guarded<jstring>(nullptr, [&]() -> jstring {
    jccl::LogRecord record;
    if (!jccl::takeLogRecord(&record)) return nullptr;
    std::string text = std::to_string(static_cast<int>(record.level)) + ' ' + record.subsystem + ' ';
    const jccl::LogSubject* const subject = record.subject.get();
    text += subject == nullptr ? " " : std::to_string(subject->rank) + ' ' + subject->communicator;
    return jccl::jni::newString(env, text + ' ' + record.text);
  });
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_NativeLog_dropped(JNIEnv*, jclass) {
  return jccl::jni::guarded<jlong>(0, [] { return static_cast<jlong>(jccl::droppedLogRecords()); });
}

JNIEXPORT void JNICALL Java_io_jccl_nativelib_NativeLog_setLevel(JNIEnv*, jclass, jint level) {
  jccl::setLogLevel(static_cast<LogLevel>(level));
}
