// Finds the engine that belongs to a handle which Java passes.
#pragma once

#include <jni.h>

#include "base/log.h"
#include "engine/communicator.h"
#include "jni/jni_support.h"

namespace jccl::jni {

inline Communicator& hostOf(jlong handle) { return *reinterpret_cast<Communicator*>(handle); }

// Text of this thread's last failure in a call other than an operation; lastError(0) returns it.
inline thread_local LastFailure lastFailure;

// A call that changes the engine. Log records during the call belong to the engine's communicator.
class HostCall {
 public:
  explicit HostCall(jlong handle) : host_(hostOf(handle)), logs_(host_.logSubject()) {}

  Communicator* operator->() const { return &host_; }

  // Returns the status as a code for Java. Keeps the text for this thread only, not in the engine, because this text
  // would not explain why a later operation fails.
  jint codeOf(const Status& status) const { return lastFailure.codeOf(status); }

 private:
  Communicator& host_;
  const LogScope logs_;
};

}  // namespace jccl::jni
