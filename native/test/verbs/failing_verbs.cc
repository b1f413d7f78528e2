// Wraps the host's libibverbs so that tests can inject failures that Soft-RoCE never reports. When armed, turns the
// event that a port is down into the failure of the device, as adapters report when they are pulled out or their
// firmware dies. Also counts RDMA reads, and makes a chosen one fail. Functions that are not defined here come from the
// real library, which this one is linked with.
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

// Keeps one postSend for all devices: the devices of a process share one driver.
SHIM Context* ibv_open_device(Device* device) {
  const auto real = reinterpret_cast<OpenDeviceFn>(::dlsym(RTLD_NEXT, "ibv_open_device"));
  Context* context = real(device);
  if (context != nullptr) {
    realPostSend = context->ops.postSend;
    context->ops.postSend = postSend;
  }
  return context;
}

// For tests: the number of RDMA writes whose data was inlined into the request.
SHIM int failing_verbs_inlined() { return inlined; }

// For tests: the number of RDMA reads that were posted.
SHIM int failing_verbs_reads() { return reads; }
// For tests: makes one of the following RDMA reads fail, counted from 0; with a negative number none fails.
SHIM void failing_verbs_fail_read(int number) { readThatFails = number < 0 ? -1 : reads + number; }

// For tests: from now on, reports the failure of the device when a port goes down.
SHIM void failing_verbs_arm() { armed = true; }

// For tests: the number of device failures that were reported.
SHIM int failing_verbs_reported() { return reported; }

}  // namespace jccl::verbs
