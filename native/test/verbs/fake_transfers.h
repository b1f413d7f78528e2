// Memory regions, completion queues and queue pairs of the fake adapters (fake_verbs.cc).
#pragma once

#include "verbs/verbs_api.h"

namespace jccl::verbs {

// The functions that a driver puts into a context: polling and posting.
ContextOps fakeOperations();

}  // namespace jccl::verbs
