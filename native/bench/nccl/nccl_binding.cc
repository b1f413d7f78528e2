// Natives of io.jccl.cli.perf.Nccl: opens NCCL and calls it, so that jccl perf compares both libraries in one process.
// This library is no part of JCCL: bundles for GPU hosts have it, releases do not.
#include <dlfcn.h>
#include <jni.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "bench/nccl/nccl_api.h"

#define NATIVE(result, name) extern "C" JNIEXPORT result JNICALL Java_io_jccl_cli_perf_Nccl_##name

namespace {

using namespace jccl::nccl;

Calls calls;
thread_local char failure[512];

void fail(const std::string& text) {
  const size_t length = text.copy(failure, sizeof failure - 1);
  failure[length] = 0;
}

// Keeps the text of a failed call; returns true if the call succeeded.
bool isFine(const char* name, Result result) {
  if (result == kSuccess) return true;
  fail(std::string(name) + ": " + calls.errorString(result) + " (" + std::to_string(result) + ")");
  return false;
}

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  if (function == nullptr) fail(std::string("has no ") + name);
  return function != nullptr;
}

enum class Kind { AllReduce, Reduce, Broadcast, AllGather, ReduceScatter, AllToAll, Gather, Scatter, SendRecv };

struct Named {
  std::string_view name;
  int number;
};

// Returns the number of a name; -1 if it is not in the table.
template <size_t N>
int numberOf(const Named (&table)[N], std::string_view name) {
  for (const Named& one : table) {
    if (one.name == name) return one.number;
  }
  return -1;
}

constexpr Named kKinds[] = {
    {"all_reduce", static_cast<int>(Kind::AllReduce)}, {"reduce", static_cast<int>(Kind::Reduce)},
    {"broadcast", static_cast<int>(Kind::Broadcast)},  {"all_gather", static_cast<int>(Kind::AllGather)},
    {"all_to_all", static_cast<int>(Kind::AllToAll)},  {"reduce_scatter", static_cast<int>(Kind::ReduceScatter)},
    {"gather", static_cast<int>(Kind::Gather)},        {"scatter", static_cast<int>(Kind::Scatter)},
    {"send_recv", static_cast<int>(Kind::SendRecv)}};

struct Type {
  std::string_view name;
  DataType number;
  size_t bytes;
};
constexpr Type kTypes[] = {{"int8", 0, 1},    {"uint8", 1, 1},    {"int32", 2, 4},        {"uint32", 3, 4},
                           {"int64", 4, 8},   {"uint64", 5, 8},   {"float16", 6, 2},      {"float32", 7, 4},
                           {"float64", 8, 8}, {"bfloat16", 9, 2}, {"float8_e4m3", 10, 1}, {"float8_e5m2", 11, 1}};
constexpr Named kReductions[] = {{"sum", 0}, {"prod", 1}, {"max", 2}, {"min", 3}, {"avg", 4}};

// One operation with its arguments, which is called again and again.
struct Call {
  Kind kind;
  Type type;
  Reduction op;
  char* send;
  char* recv;
  size_t count;  // as the call of the collective counts
  int root, ranks, rank;
  Comm comm;
  Stream stream;

  char* blockOf(char* buffer, int peer) const { return buffer + static_cast<size_t>(peer) * count * type.bytes; }

  Result put() const {
    switch (kind) {
      case Kind::AllReduce:
        return calls.allReduce(send, recv, count, type.number, op, comm, stream);
      case Kind::Reduce:
        return calls.reduce(send, recv, count, type.number, op, root, comm, stream);
      case Kind::Broadcast:
        return calls.broadcast(send, recv, count, type.number, root, comm, stream);
      case Kind::AllGather:
        return calls.allGather(send, recv, count, type.number, comm, stream);
      case Kind::ReduceScatter:
        return calls.reduceScatter(send, recv, count, type.number, op, comm, stream);
      default:
        break;
    }
    // NCCL before 2.28 has no calls for the others, which its users compose of sends and receives in a group.
    Result result = calls.groupStart();
    const auto sendTo = [&](int peer, char* from) {
      if (result == kSuccess) result = calls.send(from, count, type.number, peer, comm, stream);
    };
    const auto receiveFrom = [&](int peer, char* to) {
      if (result == kSuccess) result = calls.recv(to, count, type.number, peer, comm, stream);
    };
    if (kind == Kind::SendRecv) {
      sendTo((rank + 1) % ranks, send);
      receiveFrom((rank + ranks - 1) % ranks, recv);
    }
    if (kind == Kind::Gather) sendTo(root, send);
    if (kind == Kind::Scatter) receiveFrom(root, recv);
    for (int peer = 0; peer < ranks; ++peer) {
      if (kind == Kind::AllToAll || (kind == Kind::Scatter && rank == root)) sendTo(peer, blockOf(send, peer));
      if (kind == Kind::AllToAll || (kind == Kind::Gather && rank == root)) receiveFrom(peer, blockOf(recv, peer));
    }
    const Result ended = calls.groupEnd();
    return result == kSuccess ? ended : result;
  }
};

std::string textOf(JNIEnv* env, jstring string) {
  const char* chars = env->GetStringUTFChars(string, nullptr);
  if (chars == nullptr) return {};
  std::string text = chars;
  env->ReleaseStringUTFChars(string, chars);
  return text;
}

// Variables with which NCCL runs several ranks of a GPU. NCCL reads them when it is first used. Variables of the user
// take precedence.
void setVariables(int ranksOfGpu) {
  if (ranksOfGpu < 2) return;
  constexpr int kBlocksOfAllRanks = 64;  // less than the multiprocessors of any GPU for which ranks would share it
  const auto set = [](const char* name, const std::string& value) {
    (void)::setenv(name, value.c_str(), 0);  // NOLINT(concurrency-mt-unsafe): before any thread of NCCL exists
  };
  set("NCCL_MULTI_RANK_GPU_ENABLE", "1");
  set("NCCL_NVLS_ENABLE", "2");
  set("NCCL_MAX_CTAS", std::to_string(kBlocksOfAllRanks / ranksOfGpu < 1 ? 1 : kBlocksOfAllRanks / ranksOfGpu));
}

}  // namespace

// Returns why the calling thread's last call failed.
NATIVE(jstring, lastError)(JNIEnv* env, jclass) { return env->NewStringUTF(failure); }

// Opens a library; returns its version, or -1.
NATIVE(jint, open)(JNIEnv* env, jclass, jstring file, jint ranksOfGpu) {
  setVariables(ranksOfGpu);
  void* library = ::dlopen(textOf(env, file).c_str(), RTLD_NOW | RTLD_LOCAL);  // stays open: NCCL has threads
  if (library == nullptr) {
    const char* text = ::dlerror();  // NOLINT(concurrency-mt-unsafe): glibc keeps one per thread
    fail(text == nullptr ? "unknown" : text);
    return -1;
  }
#define JCCL_FIND_NCCL(member, name, parameters) \
  if (!find(library, name, calls.member)) return -1;
  JCCL_NCCL_CALLS(JCCL_FIND_NCCL)
#undef JCCL_FIND_NCCL
  if (!find(library, "ncclGetErrorString", calls.errorString)) return -1;
  int version = 0;
  return isFine("ncclGetVersion", calls.getVersion(&version)) ? version : -1;
}

// Writes an id for ranks to meet, as long as the array; returns false if that failed.
NATIVE(jboolean, createId)(JNIEnv* env, jclass, jlongArray id) {
  UniqueId made{};
  if (!isFine("ncclGetUniqueId", calls.getUniqueId(&made))) return JNI_FALSE;
  jlong words[sizeof made / sizeof(jlong)];
  std::memcpy(words, made.bytes, sizeof made);
  env->SetLongArrayRegion(id, 0, static_cast<jsize>(std::size(words)), words);
  return env->ExceptionCheck() ? JNI_FALSE : JNI_TRUE;
}

// Makes this rank's communicator on the current device; returns 0 if that failed.
NATIVE(jlong, init)(JNIEnv* env, jclass, jlongArray id, jint ranks, jint rank) {
  UniqueId given{};
  jlong words[sizeof given / sizeof(jlong)];
  env->GetLongArrayRegion(id, 0, static_cast<jsize>(std::size(words)), words);
  if (env->ExceptionCheck()) return 0;
  std::memcpy(given.bytes, words, sizeof given);
  Comm comm = nullptr;
  return isFine("ncclCommInitRank", calls.initRank(&comm, ranks, given, rank)) ? reinterpret_cast<jlong>(comm) : 0;
}

NATIVE(jboolean, destroy)(JNIEnv*, jclass, jlong comm) {
  return isFine("ncclCommDestroy", calls.destroy(reinterpret_cast<Comm>(comm))) ? JNI_TRUE : JNI_FALSE;
}

// Returns false if an operation of the communicator has failed.
NATIVE(jboolean, isWell)(JNIEnv*, jclass, jlong comm) {
  Result error = kSuccess;
  return isFine("ncclCommGetAsyncError", calls.asyncError(reinterpret_cast<Comm>(comm), &error)) &&
                 isFine("an operation", error)
             ? JNI_TRUE
             : JNI_FALSE;
}

// Returns an operation for put(), which freeCall() frees; 0 if NCCL has no such operation.
NATIVE(jlong, newCall)
(JNIEnv* env, jclass, jlong comm, jint ranks, jint rank, jstring collective, jstring type, jstring op, jint root,
 jlong send, jlong recv, jlong count, jlong stream) {
  const int kind = numberOf(kKinds, textOf(env, collective));
  const int reduction = numberOf(kReductions, textOf(env, op));
  const std::string typeName = textOf(env, type);
  for (const Type& known : kTypes) {
    if (known.name != typeName || kind < 0 || reduction < 0) continue;
    return reinterpret_cast<jlong>(new Call{static_cast<Kind>(kind), known, reduction, reinterpret_cast<char*>(send),
                                            reinterpret_cast<char*>(recv), static_cast<size_t>(count), root, ranks,
                                            rank, reinterpret_cast<Comm>(comm), reinterpret_cast<Stream>(stream)});
  }
  fail("no such operation");
  return 0;
}

// Puts an operation on its stream; returns false if that failed.
NATIVE(jboolean, put)(JNIEnv*, jclass, jlong call) {
  return isFine("an operation", reinterpret_cast<const Call*>(call)->put()) ? JNI_TRUE : JNI_FALSE;
}

NATIVE(void, freeCall)(JNIEnv*, jclass, jlong call) { delete reinterpret_cast<Call*>(call); }
