// The configuration of streams in tests that use no network.
#pragma once

#include "transport/net_config.h"

namespace jccl::test {

// Returns a configuration whose streams are polled this number of times after they have delivered data.
inline NetConfig configWithPolls(int polls) {
  NetConfig config;
  config.pollsAfterData = polls;
  return config;
}

}  // namespace jccl::test
