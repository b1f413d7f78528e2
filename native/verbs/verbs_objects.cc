#include "verbs/verbs_objects.h"

#include <fcntl.h>

#include "base/log.h"

namespace jccl::verbs {
namespace {

bool makeNonBlocking(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  return flags >= 0 && ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

// Returns errno, or EIO if the library has failed without setting errno.
int lastError() { return errno == 0 ? EIO : errno; }

}  // namespace

Status OpenDevice::failed(const char* call, const std::string& what, int error) const {
  return Status::system(call, "device=" + name_ + (what.empty() ? "" : " " + what), error);
}

Status OpenDevice::open(std::shared_ptr<const Library> library, Device* device, std::shared_ptr<OpenDevice>* opened) {
  std::shared_ptr<OpenDevice> made(new OpenDevice);
  const Library& api = *library;
  made->library_ = std::move(library);
  const char* name = api.getDeviceName(device);
  made->name_ = name == nullptr ? "?" : name;
  errno = 0;
  made->context_ = Owned<Context>(api.openDevice(device), [&api](Context* context) { api.closeDevice(context); });
  if (made->context_ == nullptr) {
    return made->failed("ibv_open_device", "may this process use /dev/infiniband?", lastError());
  }
  if (!makeNonBlocking(made->context()->asyncFd)) return made->failed("fcntl", "events");
  if (const Return code = api.queryDevice(made->context(), &made->attributes_); code != 0) {
    return made->failed("ibv_query_device", "", code);
  }
  errno = 0;
  made->pd_ =
      Owned<ProtectionDomain>(api.allocPd(made->context()), [&api](ProtectionDomain* pd) { api.deallocPd(pd); });
  if (made->pd_ == nullptr) return made->failed("ibv_alloc_pd", "", lastError());
  *opened = std::move(made);
  return Status::ok();
}

Region::Region(const std::shared_ptr<OpenDevice>& device, MemoryRegion* region, int access)
    : access_(access), region_(region, [device](MemoryRegion* one) { device->library().deregMr(one); }) {}

Status Region::make(const std::shared_ptr<OpenDevice>& device, void* address, size_t bytes, int access, bool relaxed,
                    std::unique_ptr<Region>* region) {
  const Library& api = device->library();
  MemoryRegion* made = nullptr;
  errno = 0;
  if (relaxed && api.regMrIova2 != nullptr) {
    made = api.regMrIova2(device->pd(), address, bytes, reinterpret_cast<uintptr_t>(address),
                          access | kAccessRelaxedOrdering);
  }
  if (made == nullptr) made = api.regMr(device->pd(), address, bytes, access);
  if (made == nullptr) {
    const int error = lastError();
    return device->failed(
        "ibv_reg_mr",
        "bytes=" + std::to_string(bytes) +
            (error == ENOMEM ? ": the limit of locked memory is too low; raise it (ulimit -l unlimited, "
                               "or LimitMEMLOCK=infinity of the service)"
                             : ""),
        error);
  }
  region->reset(new Region(device, made, access));
  return Status::ok();
}

Status Region::makeOnDevice(const std::shared_ptr<OpenDevice>& device, void* address, size_t bytes, int dmabuf,
                            bool relaxed, std::unique_ptr<Region>* region) {
  constexpr int kAccess = kAccessLocalWrite | kAccessRemoteWrite | kAccessRemoteRead;
  const Library& api = device->library();
  MemoryRegion* made = nullptr;
  std::string refused = "ibv_reg_dmabuf_mr: ";
  if (dmabuf < 0) {
    refused += "the GPU's driver makes no dma-buf";
  } else if (api.regDmabufMr == nullptr) {
    refused += "this libibverbs has none (rdma-core 34 or later does)";
  } else {
    errno = 0;
    const auto iova = reinterpret_cast<uintptr_t>(address);
    made = api.regDmabufMr(device->pd(), 0, bytes, iova, dmabuf, kAccess | (relaxed ? kAccessRelaxedOrdering : 0));
    const int error = lastError();
    if (made == nullptr) refused += "errno=" + std::to_string(error) + " (" + errorText(error) + ")";
  }
  const bool byDmabuf = made != nullptr;
  if (!byDmabuf) {
    std::unique_ptr<Region> plain;
    if (Status status = make(device, address, bytes, kAccess, relaxed, &plain); !status) {
      return Status::transport(refused + "; " + status.message() + "; is the module nvidia_peermem loaded?");
    }
    *region = std::move(plain);
  } else {
    region->reset(new Region(device, made, kAccess));
  }
  logMessage(LogLevel::Info, "net",
             "ib: device=" + device->name() + " reaches memory of the GPU, bytes=" + std::to_string(bytes) + ", by " +
                 (byDmabuf ? "its dma-buf" : "its address (" + refused + ")"));
  return Status::ok();
}

Status Completions::make(const std::shared_ptr<OpenDevice>& device, int entries,
                         std::unique_ptr<Completions>* completions) {
  std::unique_ptr<Completions> made(new Completions(device));
  const Library& api = device->library();
  errno = 0;
  made->channel_ = Owned<CompletionChannel>(api.createChannel(device->context()), [device](CompletionChannel* one) {
    device->library().destroyChannel(one);
  });
  if (made->channel_ == nullptr) return device->failed("ibv_create_comp_channel", "", lastError());
  if (!makeNonBlocking(made->fd())) return device->failed("fcntl", "completion channel");
  errno = 0;
  made->queue_ = Owned<CompletionQueue>(api.createCq(device->context(), entries, nullptr, made->channel_.get(), 0),
                                        [device](CompletionQueue* one) { device->library().destroyCq(one); });
  if (made->queue_ == nullptr) {
    return device->failed("ibv_create_cq", "entries=" + std::to_string(entries), lastError());
  }
  *completions = std::move(made);
  return Status::ok();
}

Status Completions::poll(std::span<WorkCompletion> completions, size_t* taken) {
  const int got =
      device_->context()->ops.pollCq(queue_.get(), static_cast<int>(completions.size()), completions.data());
  *taken = got < 0 ? 0 : static_cast<size_t>(got);
  return got < 0 ? device_->failed("ibv_poll_cq", "", -got) : Status::ok();
}

Status Completions::requestEvent() {
  const int code = device_->context()->ops.requestNotify(queue_.get(), 0);
  return code == 0 ? Status::ok() : device_->failed("ibv_req_notify_cq", "", code);
}

void Completions::drainEvents() {
  CompletionQueue* queue = nullptr;
  void* cookie = nullptr;
  unsigned events = 0;
  while (device_->library().getCqEvent(channel_.get(), &queue, &cookie) == 0) ++events;
  // A queue with unacknowledged events cannot be destroyed.
  if (events > 0) device_->library().ackCqEvents(queue_.get(), events);
}

}  // namespace jccl::verbs
