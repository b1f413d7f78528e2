// The engine behind a handle of Java.
#pragma once

#include <jni.h>

#include "base/log.h"
#include "engine/host_communicator.h"
#include "jni/jni_support.h"

namespace jccl::jni {

inline HostCommunicator& hostOf(jlong handle) { return *reinterpret_cast<HostCommunicator*>(handle); }

// The reason why this thread's last call failed that was no operation; lastError(0) returns it.
inline thread_local LastFailure lastFailure;

// A call that changes it: what is logged meanwhile is of its communicator.
class HostCall {
 public:
  explicit HostCall(jlong handle) : host_(hostOf(handle)), logs_(host_.logSubject()) {}

  HostCommunicator* operator->() const { return &host_; }

  // The status as the code that a native returns. The text is the caller's only: what one call could not do is no reason why a
  // later operation failed.
  jint codeOf(const Status& status) const { return lastFailure.codeOf(status); }

 private:
  HostCommunicator& host_;
  const LogScope logs_;
};

}  // namespace jccl::jni
