// The host's own libibverbs, but that adapters whose port goes down can be made to report their own failure instead, as
// adapters do that are pulled out or whose firmware dies; Soft-RoCE never does. RDMA reads are counted, and one can be
// made to fail. Whatever is not defined here is found in the real library, which this one is linked with.
#include <dlfcn.h>

#include <atomic>

#include "verbs/verbs_api.h"

#define SHIM extern "C" __attribute__((visibility("default")))

namespace jccl::verbs {
namespace {

std::atomic<bool> armed{false};
std::atomic<int> reported{0};
std::atomic<int> inlined{0};
std::atomic<int> reads{0};
std::atomic<int> readThatFails{-1};
std::atomic<decltype(ContextOps::postSend)> realPostSend{nullptr};

int postSend(QueuePair* qp, SendRequest* requests, SendRequest** bad) {
  for (SendRequest* one = requests; one != nullptr; one = one->next) {
    if (one->opcode == kWrRdmaWrite && (one->flags & kSendInline) != 0) ++inlined;
    if (one->opcode == kWrRdmaRead && reads++ == readThatFails) one->rdma.rkey = ~one->rdma.rkey;
  }
  return realPostSend.load()(qp, requests, bad);
}

}  // namespace

SHIM Return ibv_get_async_event(Context* context, AsyncEvent* event) {
  const auto real = reinterpret_cast<GetAsyncEventFn>(::dlsym(RTLD_NEXT, "ibv_get_async_event"));
  const Return code = real(context, event);
  if (code == 0 && event->type == kEventPortError && armed) {
    event->type = kEventDeviceFatal;
    ++reported;
  }
  return code;
}

// All devices of a process have one driver.
SHIM Context* ibv_open_device(Device* device) {
  const auto real = reinterpret_cast<OpenDeviceFn>(::dlsym(RTLD_NEXT, "ibv_open_device"));
  Context* context = real(device);
  if (context != nullptr) {
    realPostSend = context->ops.postSend;
    context->ops.postSend = postSend;
  }
  return context;
}

// For the test: how many writes of data the processor has passed inline.
SHIM int failing_verbs_inlined() { return inlined; }

// For the test: how many RDMA reads have been posted; which of those from now on fails, counted from 0.
SHIM int failing_verbs_reads() { return reads; }
SHIM void failing_verbs_fail_read(int number) { readThatFails = number < 0 ? -1 : reads + number; }

// For the test: from now on.
SHIM void failing_verbs_arm() { armed = true; }

// For the test: how many failures have been reported.
SHIM int failing_verbs_reported() { return reported; }

}  // namespace jccl::verbs
