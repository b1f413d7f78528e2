// Reads the configuration of an engine, in the layout of io.jccl.nativelib.EngineConfig.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "engine/communicator.h"

namespace jccl::jni {

Status readConfig(const std::vector<int64_t>& values, const std::vector<std::string>& texts,
                  CommunicatorConfig& config);

}  // namespace jccl::jni
