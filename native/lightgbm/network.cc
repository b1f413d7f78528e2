// Native methods of io.jccl.lightgbm.NativeNetwork: the functions that LightGBM calls instead of its own network.
//
// LightGBM 3.3 keeps its network in thread-local variables and calls the functions on the thread that trains. This
// library therefore holds one Java object LightGbmOperations per thread and passes the calls to it. A failure leaves as
// a C++ exception, which LightGBM's API turns into an error. For that, this library shares libstdc++.so.6 and
// libgcc_s.so.1 with LightGBM.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>

#include "io_jccl_lightgbm_NativeNetwork.h"

namespace {

// As in LightGBM's meta.h; sizes are in bytes.
using CommSize = std::int32_t;
using Reducer = void (*)(const char* input, char* output, int typeBytes, CommSize bytes);

// LightGBM reports the text as its last error.
class CommunicationFailure final : public std::exception {
 public:
  explicit CommunicationFailure(const char* text) noexcept { std::strncpy(text_, text, sizeof text_ - 1); }
  const char* what() const noexcept override { return text_; }

 private:
  char text_[512] = {};
};

struct Network {
  JNIEnv* env;         // null: this thread has no network
  jobject operations;  // io.jccl.lightgbm.LightGbmOperations
  jlongArray lengths;  // shared with the operations, written before each call
  jmethodID reduceScatter;
  jmethodID allGather;
  jint rank;
};

thread_local Network network{};

template <typename T>
T pointer(jlong address) {
  return reinterpret_cast<T>(static_cast<std::intptr_t>(address));
}

template <typename T>
jlong address(T pointer) {
  return static_cast<jlong>(reinterpret_cast<std::intptr_t>(pointer));
}

// Stores the size of each rank's block in network.lengths, where LightGbmOperations reads it. Throws unless there is
// one block per rank, without gaps.
void setBlocks(const CommSize* starts, const CommSize* lengths, int count) {
  if (network.env == nullptr) {
    throw CommunicationFailure(
        "LightGBM communicates on a thread that has no LightGbmNetwork: train on the thread that "
        "called LightGbmNetwork.over");
  }
  bool contiguous = count == network.env->GetArrayLength(network.lengths);
  for (int block = 1; contiguous && block < count; ++block) {
    contiguous = starts[block] == starts[block - 1] + lengths[block - 1];
  }
  if (!contiguous || starts[0] != 0) {
    throw CommunicationFailure("LightGBM's blocks are not one for each rank without gaps: expected LightGBM 3.3");
  }
  auto* target = static_cast<jlong*>(network.env->GetPrimitiveArrayCritical(network.lengths, nullptr));
  if (target == nullptr) throw CommunicationFailure("the JVM has no memory for an array");
  std::copy(lengths, lengths + count, target);
  network.env->ReleasePrimitiveArrayCritical(network.lengths, target, 0);
}

// Calls a method that returns null, or a text that says what failed. Throws that text.
template <typename... Arguments>
void call(jmethodID method, Arguments... arguments) {
  JNIEnv* env = network.env;
  auto* failure = static_cast<jstring>(env->CallObjectMethod(network.operations, method, arguments...));
  if (env->ExceptionCheck()) {
    env->ExceptionClear();
    throw CommunicationFailure("the JVM has no memory to say what failed");
  }
  if (failure == nullptr) return;
  const char* text = env->GetStringUTFChars(failure, nullptr);
  CommunicationFailure thrown(text == nullptr ? "the JVM has no memory to say what failed" : text);
  if (text != nullptr) env->ReleaseStringUTFChars(failure, text);
  env->ExceptionClear();
  env->DeleteLocalRef(failure);
  throw thrown;
}

void reduceScatter(char* input, CommSize, int typeBytes, const CommSize* starts, const CommSize* lengths, int blocks,
                   char* output, CommSize, const Reducer& reducer) {
  setBlocks(starts, lengths, blocks);
  call(network.reduceScatter, address(input), static_cast<jint>(typeBytes), address(output), address(reducer));
}

// `input` may overlap `output` in any way.
void allGather(char* input, CommSize, const CommSize* starts, const CommSize* lengths, int blocks, char* output,
               CommSize) {
  setBlocks(starts, lengths, blocks);
  std::memmove(output + starts[network.rank], input, static_cast<std::size_t>(lengths[network.rank]));
  call(network.allGather, address(output));
}

// Returns a double of either sign, with an exponent that makes most sums inexact.
double sample(std::uint64_t index) {
  std::uint64_t bits = (index + 1) * 0x9e3779b97f4a7c15U;
  bits ^= bits >> 29;
  bits *= 0xbf58476d1ce4e5b9U;
  bits ^= bits >> 32;
  const std::uint64_t exponent = 1023 - 32 + bits % 64;
  bits = (bits & ~(std::uint64_t{0x7ff} << 52)) | exponent << 52;
  double value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// Returns true if a reducer over elements of 8 bytes computes the same 128 sums as an addition of doubles.
bool addsDoubles(Reducer reducer) {
  constexpr int count = 128;
  double terms[count];
  double sums[count];
  double expected[count];
  for (int i = 0; i < count; ++i) {
    terms[i] = sample(2 * i);
    sums[i] = sample(2 * i + 1);
    expected[i] = sums[i] + terms[i];
  }
  reducer(reinterpret_cast<const char*>(terms), reinterpret_cast<char*>(sums), sizeof(double), sizeof sums);
  return std::equal(sums, sums + count, expected);
}

}  // namespace

JNIEXPORT jboolean JNICALL Java_io_jccl_lightgbm_NativeNetwork_open(JNIEnv* env, jclass, jobject operations,
                                                                    jlongArray lengths, jint rank) {
  if (network.env != nullptr) return JNI_FALSE;
  jclass type = env->GetObjectClass(operations);
  jmethodID reduceScatter = env->GetMethodID(type, "reduceScatter", "(JIJJ)Ljava/lang/String;");
  jmethodID allGather =
      reduceScatter == nullptr ? nullptr : env->GetMethodID(type, "allGather", "(J)Ljava/lang/String;");
  if (allGather == nullptr) return JNI_FALSE;  // the JVM throws
  network = {
      env, env->NewGlobalRef(operations), static_cast<jlongArray>(env->NewGlobalRef(lengths)), reduceScatter, allGather,
      rank};
  return JNI_TRUE;
}

JNIEXPORT void JNICALL Java_io_jccl_lightgbm_NativeNetwork_close(JNIEnv* env, jclass) {
  env->DeleteGlobalRef(network.operations);
  env->DeleteGlobalRef(network.lengths);
  network = {};
}

JNIEXPORT jlong JNICALL Java_io_jccl_lightgbm_NativeNetwork_reduceScatterFunction(JNIEnv*, jclass) {
  return address(&reduceScatter);
}

JNIEXPORT jlong JNICALL Java_io_jccl_lightgbm_NativeNetwork_allGatherFunction(JNIEnv*, jclass) {
  return address(&allGather);
}

JNIEXPORT jboolean JNICALL Java_io_jccl_lightgbm_NativeNetwork_addsDoubles(JNIEnv*, jclass, jlong reducer) {
  return addsDoubles(pointer<Reducer>(reducer)) ? JNI_TRUE : JNI_FALSE;
}

// Performs all steps on one part of the blocks before the next part, so that a part stays in a cache between steps.
JNIEXPORT void JNICALL Java_io_jccl_lightgbm_NativeNetwork_fold(JNIEnv* env, jclass, jlong reducer, jint typeBytes,
                                                                jlongArray blocks, jintArray steps, jlong bytes) {
  constexpr jlong targetBytes = 32 * 1024;
  const jlong partBytes = std::max(targetBytes / typeBytes, jlong{1}) * typeBytes;
  const jsize count = env->GetArrayLength(steps);
  jlong* addresses = env->GetLongArrayElements(blocks, nullptr);
  jint* step = env->GetIntArrayElements(steps, nullptr);
  for (jlong done = 0; done < bytes && addresses != nullptr && step != nullptr; done += partBytes) {
    const auto part = static_cast<CommSize>(std::min(partBytes, bytes - done));
    for (jsize i = 0; i < count; i += 2) {
      pointer<Reducer>(reducer)(pointer<const char*>(addresses[step[i + 1]] + done),
                                pointer<char*>(addresses[step[i]] + done), typeBytes, part);
    }
  }
  if (step != nullptr) env->ReleaseIntArrayElements(steps, step, JNI_ABORT);
  if (addresses != nullptr) env->ReleaseLongArrayElements(blocks, addresses, JNI_ABORT);
}

JNIEXPORT void JNICALL Java_io_jccl_lightgbm_NativeNetwork_move(JNIEnv*, jclass, jlong from, jlong to, jlong bytes) {
  std::memmove(pointer<void*>(to), pointer<const void*>(from), static_cast<std::size_t>(bytes));
}
