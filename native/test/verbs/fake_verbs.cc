// A libibverbs with three fake InfiniBand adapters: "fake0" has two ports, "fake1" has one, and no process can open
// "fake2". Queue pairs of one process reach each other, no matter to which adapter they belong (fake_transfers.cc).
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>

#include "test/verbs/fake_transfers.h"
#include "verbs/verbs_api.h"

#define FAKE extern "C" __attribute__((visibility("default")))

namespace jccl::verbs {

struct Device {
  const char* name;
  uint8_t ports;
  int openError;
};

namespace {
std::array<Device, 3> devices = {{{"fake0", 2, 0}, {"fake1", 1, 0}, {"fake2", 1, EACCES}}};
// Threads of several ranks of a test ask for events while another rank opens or closes its device.
std::atomic<Context*> firstOpened{nullptr};
std::atomic<int> portThatFails{0};
}  // namespace

FAKE Device** ibv_get_device_list(int* count) {
  *count = static_cast<int>(devices.size());
  return new Device* [] { &devices[0], &devices[1], &devices[2], nullptr };
}
FAKE void ibv_free_device_list(Device** list) { delete[] list; }
FAKE const char* ibv_get_device_name(Device* device) { return device->name; }

FAKE Context* ibv_open_device(Device* device) {
  if (device->openError != 0) {
    errno = device->openError;
    return nullptr;
  }
  auto* context = new Context{};
  context->device = device;
  context->ops = fakeOperations();
  context->asyncFd = ::eventfd(0, EFD_CLOEXEC);
  Context* none = nullptr;
  firstOpened.compare_exchange_strong(none, context);
  return context;
}
FAKE Return ibv_close_device(Context* context) {
  Context* first = context;
  firstOpened.compare_exchange_strong(first, nullptr);
  ::close(context->asyncFd);
  delete context;
  return 0;
}

FAKE Return ibv_query_device(Context* context, DeviceAttributes* attributes) {
  *attributes = {};
  attributes->maxQueuePairs = 1024;
  attributes->maxPkeys = 1;
  attributes->ports = context->device->ports;
  return 0;
}
FAKE Return ibv_query_port(Context*, uint8_t, PortAttributes* attributes) {
  *attributes = {};
  attributes->state = kPortActive;
  attributes->activeMtu = kMaxMtu;
  attributes->gidTableLength = 1;
  attributes->lid = 7;
  attributes->linkLayer = LinkLayer::InfiniBand;
  return 0;
}
FAKE Return ibv_query_gid(Context*, uint8_t, int, Gid* gid) {
  *gid = {};
  return 0;
}
FAKE ProtectionDomain* ibv_alloc_pd(Context* context) { return new ProtectionDomain{context, 0}; }
FAKE Return ibv_dealloc_pd(ProtectionDomain* pd) {
  delete pd;
  return 0;
}
FAKE Return ibv_get_async_event(Context* context, AsyncEvent* event) {
  if (context != firstOpened || portThatFails == 0) {
    errno = EAGAIN;
    return -1;
  }
  event->port = portThatFails.exchange(0);
  event->type = kEventPortError;
  return 0;
}
FAKE void ibv_ack_async_event(AsyncEvent*) {}
// For tests: makes the context that was opened first report that a port is down.
FAKE void fake_verbs_take_down(int port) {
  portThatFails = port;
  const uint64_t one = 1;
  if (::write(firstOpened.load()->asyncFd, &one, sizeof one) < 0) portThatFails = 0;
}
FAKE const char* ibv_event_type_str(int) { return "fake"; }

FAKE Return ibv_query_pkey(Context*, uint8_t, int, uint16_t*) { return EOPNOTSUPP; }

}  // namespace jccl::verbs
