// The engine behind a handle of Java.
#pragma once

#include <jni.h>

#include "base/log.h"
#include "engine/host_communicator.h"

namespace jccl::jni {

inline HostCommunicator& hostOf(jlong handle) { return *reinterpret_cast<HostCommunicator*>(handle); }

// A call that changes it: what is logged meanwhile is of its communicator.
class HostCall {
 public:
  explicit HostCall(jlong handle) : host_(hostOf(handle)), logs_(host_.logSubject()) {}

  HostCommunicator* operator->() const { return &host_; }

  // The status as the code that a native returns; lastError has the text.
  jint codeOf(const Status& status) const {
    if (!status) host_.noteError(status);
    return static_cast<jint>(status.code());
  }

 private:
  HostCommunicator& host_;
  const LogScope logs_;
};

}  // namespace jccl::jni
