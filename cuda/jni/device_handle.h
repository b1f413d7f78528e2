// The handle of io.jccl.nativelib.DeviceEngine, for all natives that take it.
#pragma once

#include "cuda/runtime/device_communicator.h"
#include "jni/jni_support.h"

namespace jccl::jni {

inline device::DeviceCommunicator& communicatorOf(jlong handle) {
  return *reinterpret_cast<device::DeviceCommunicator*>(handle);
}

inline jint codeOf(const Status& status) { return static_cast<jint>(status.code()); }

}  // namespace jccl::jni
