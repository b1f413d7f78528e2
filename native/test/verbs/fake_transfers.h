// Memory regions, completion queues and queue pairs of the fake adapters (fake_verbs.cc).
#pragma once

#include "verbs/verbs_api.h"

namespace jccl::verbs {

// Returns the functions for polling and posting that a driver puts into a context.
ContextOps fakeOperations();

}  // namespace jccl::verbs
