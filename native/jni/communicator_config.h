// From the arrays of io.jccl.nativelib.NativeCommunicator to what the engine understands.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "engine/host_communicator.h"

namespace jccl::jni {

Status readConfig(const std::vector<int64_t>& values, const std::vector<std::string>& texts,
                  HostCommunicatorConfig& config);

// TransportKind as Java numbers it: there verbs and sockets are two kinds. None for a number that is none.
TransportKind transportOf(int64_t java);
int64_t javaTransportOf(TransportKind kind);

// The enums that cross the border, a line "DataType.0=int8" for each member.
std::string describeConstants();

}  // namespace jccl::jni
