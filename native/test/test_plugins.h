// Paths of the network plug-ins for tests: one library for each version of the interface (plugin/socket_plugin.cc).
#pragma once

#include <array>

#include "plugin/net_abi.h"

namespace jccl::test {

inline const char* pluginOf(int version) {
  static constexpr std::array<const char*, 7> kPlugins = {
      JCCL_TEST_PLUGIN_V6,  JCCL_TEST_PLUGIN_V7,  JCCL_TEST_PLUGIN_V8, JCCL_TEST_PLUGIN_V9,
      JCCL_TEST_PLUGIN_V10, JCCL_TEST_PLUGIN_V11, JCCL_TEST_PLUGIN_V12};
  return kPlugins[static_cast<size_t>(version - plugin::kOldestVersion)];
}

}  // namespace jccl::test
