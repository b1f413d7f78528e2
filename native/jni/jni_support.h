// Common functions of the files with natives: guards that keep C++ exceptions out of the JVM, and checked copies
// between Java arrays and native memory.
#pragma once

#include <jni.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/thrown.h"

namespace jccl::jni {

// Text of the last failure of natives that have no object to query. Each file that defines such natives has a
// thread_local of this class. The class has no destructor, because a thread_local with one would keep the library
// mapped (see base/log.h). So the text has a fixed size, and a longer one is cut.
class LastFailure {
 public:
  const char* text() const { return text_; }

  // Keeps the text of the status, even if it is empty.
  void set(const Status& status) {
    const std::string& message = status.message();
    const size_t length = std::min(message.size(), sizeof text_ - 1);
    std::memcpy(text_, message.data(), length);
    text_[length] = 0;
  }

  // Returns the status as a code for Java. Keeps the text of a failure.
  jint codeOf(const Status& status) {
    if (!status) set(status);
    return static_cast<jint>(status.code());
  }

 private:
  char text_[2048] = {};
};

// Text of the C++ exception that made this thread's last native method fail; empty if the method failed for another
// reason.
inline thread_local LastFailure stoppedException;

// Keeps the text of the exception that is being handled; returns its code.
inline Code noteException() noexcept {
  const Status thrown = thrownStatus();
  stoppedException.set(thrown);
  return thrown.code();
}

// Returns the reason why a native method failed: the text of the exception that it threw, else `noted`, the text of a
// call that returned an error.
inline std::string reasonOr(std::string noted) {
  return *stoppedException.text() == 0 ? std::move(noted) : std::string(stoppedException.text());
}

// Runs the body of a native method. Returns `failure` if the body throws; then reasonOr returns the exception's text.
// No exception passes into the JVM.
template <typename Result, typename Body>
Result guarded(Result failure, Body&& body) noexcept {
  try {
    const Result result = body();
    if (result == failure) stoppedException.set({});
    return result;
  } catch (...) {
    noteException();
    return failure;
  }
}

// Like guarded, for methods that return a code of base/code.h.
template <typename Body>
jint guardedCode(Body&& body) noexcept {
  try {
    const auto code = static_cast<jint>(body());
    if (code != 0) stoppedException.set({});
    return code;
  } catch (...) {
    return static_cast<jint>(noteException());
  }
}

// Copies the elements of an array; none for null. Returns false if the JVM has a pending exception; then the caller
// must return at once.
inline bool copyLongs(JNIEnv* env, jlongArray array, std::vector<std::int64_t>& out) {
  static_assert(sizeof(jlong) == sizeof(std::int64_t));
  out.clear();
  if (array == nullptr) return true;
  out.resize(static_cast<std::size_t>(env->GetArrayLength(array)));
  env->GetLongArrayRegion(array, 0, static_cast<jsize>(out.size()), reinterpret_cast<jlong*>(out.data()));
  return !env->ExceptionCheck();
}

inline bool copyInts(JNIEnv* env, jintArray array, std::vector<std::int32_t>& out) {
  static_assert(sizeof(jint) == sizeof(std::int32_t));
  out.clear();
  if (array == nullptr) return true;
  out.resize(static_cast<std::size_t>(env->GetArrayLength(array)));
  env->GetIntArrayRegion(array, 0, static_cast<jsize>(out.size()), reinterpret_cast<jint*>(out.data()));
  return !env->ExceptionCheck();
}

inline bool copyBytes(JNIEnv* env, jbyteArray array, std::vector<std::uint8_t>& out) {
  out.clear();
  if (array == nullptr) return true;
  out.resize(static_cast<std::size_t>(env->GetArrayLength(array)));
  env->GetByteArrayRegion(array, 0, static_cast<jsize>(out.size()), reinterpret_cast<jbyte*>(out.data()));
  return !env->ExceptionCheck();
}

// Copies a string as modified UTF-8, which is ASCII for all strings that Java passes here. Returns false for null, or
// if an exception is pending.
inline bool copyString(JNIEnv* env, jstring string, std::string& out) {
  out.clear();
  if (string == nullptr) return false;
  const jsize bytes = env->GetStringUTFLength(string);
  const jsize chars = env->GetStringLength(string);
  out.resize(static_cast<std::size_t>(bytes) + 1);  // the JVM writes a terminating zero
  env->GetStringUTFRegion(string, 0, chars, out.data());
  out.resize(static_cast<std::size_t>(bytes));
  return !env->ExceptionCheck();
}

// Copies the strings of an array; none for null. Returns false if an element is null or an exception is pending.
inline bool copyStrings(JNIEnv* env, jobjectArray array, std::vector<std::string>& out) {
  out.clear();
  const jsize count = array == nullptr ? 0 : env->GetArrayLength(array);
  for (jsize i = 0; i < count; ++i) {
    auto* element = static_cast<jstring>(env->GetObjectArrayElement(array, i));
    std::string text;
    const bool copied = copyString(env, element, text);
    env->DeleteLocalRef(element);
    if (!copied) return false;
    out.push_back(std::move(text));
  }
  return true;
}

// Makes a Java array. Returns null with a pending OutOfMemoryError if the JVM has no memory.
inline jlongArray newLongs(JNIEnv* env, const std::vector<std::int64_t>& values) {
  jlongArray array = env->NewLongArray(static_cast<jsize>(values.size()));
  if (array == nullptr) return nullptr;
  env->SetLongArrayRegion(array, 0, static_cast<jsize>(values.size()), reinterpret_cast<const jlong*>(values.data()));
  return array;
}

inline jintArray newInts(JNIEnv* env, const std::vector<std::int32_t>& values) {
  jintArray array = env->NewIntArray(static_cast<jsize>(values.size()));
  if (array == nullptr) return nullptr;
  env->SetIntArrayRegion(array, 0, static_cast<jsize>(values.size()), values.data());
  return array;
}

inline jbyteArray newBytes(JNIEnv* env, const void* data, std::size_t bytes) {
  jbyteArray array = env->NewByteArray(static_cast<jsize>(bytes));
  if (array == nullptr) return nullptr;
  env->SetByteArrayRegion(array, 0, static_cast<jsize>(bytes), static_cast<const jbyte*>(data));
  return array;
}

// Returns the text as a line of an answer. Replaces all bytes except printable ASCII, because texts of plug-ins can
// contain any bytes.
inline std::string lineOf(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return text + '\n';
}

// Makes a Java string. NewStringUTF expects modified UTF-8, but messages of system calls and file names may contain
// other bytes. So every byte except printable ASCII and the new line becomes a question mark.
inline jstring newString(JNIEnv* env, std::string text) {
  for (char& c : text) {
    if ((c < ' ' || c > '~') && c != '\n') c = '?';
  }
  return env->NewStringUTF(text.c_str());
}

}  // namespace jccl::jni
