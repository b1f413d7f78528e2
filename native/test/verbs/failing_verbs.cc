// The machine's own libibverbs, but that adapters whose port goes down can be told to report their own failure instead, as
// adapters do that are pulled out or whose firmware dies; Soft-RoCE never does. Whatever is not defined here is found in the
// real library, which this one is linked with.
#include <dlfcn.h>

#include <atomic>

#include "verbs/verbs_api.h"

#define SHIM extern "C" __attribute__((visibility("default")))

namespace jccl::verbs {
namespace {

std::atomic<bool> armed{false};
std::atomic<int> told{0};

}  // namespace

SHIM Return ibv_get_async_event(Context* context, AsyncEvent* event) {
  const auto real = reinterpret_cast<GetAsyncEventFn>(::dlsym(RTLD_NEXT, "ibv_get_async_event"));
  const Return code = real(context, event);
  if (code == 0 && event->type == kEventPortError && armed) {
    event->type = kEventDeviceFatal;
    ++told;
  }
  return code;
}

// For the test: from now on.
SHIM void failing_verbs_arm() { armed = true; }

// For the test: how many failures have been told.
SHIM int failing_verbs_told() { return told; }

}  // namespace jccl::verbs
