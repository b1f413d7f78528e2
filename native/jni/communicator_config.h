// From the arrays of io.jccl.nativelib.NativeCommunicator to what the engine understands.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "engine/endpoint.h"

namespace jccl::jni {

Status readConfig(const std::vector<int64_t>& values, EndpointConfig& config);

// The enums that cross the border, a line "DataType.0=int8" for each member.
std::string describeConstants();

}  // namespace jccl::jni
