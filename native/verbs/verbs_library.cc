#include "verbs/verbs_library.h"

#include <dlfcn.h>

namespace jccl::verbs {
namespace {

std::string lastLoaderError() {
  const char* text = dlerror();  // NOLINT(concurrency-mt-unsafe): glibc keeps one error text per thread
  return text == nullptr ? "unknown" : text;
}

// Finds functions and remembers the name of the first one that is missing.
class Finder {
 public:
  explicit Finder(void* handle) : handle_(handle) {}

  template <typename Function>
  void optional(const char* name, Function* function) {
    *function = reinterpret_cast<Function>(dlsym(handle_, name));
  }

  template <typename Function>
  void required(const char* name, Function* function) {
    optional(name, function);
    if (*function == nullptr && missing_ == nullptr) missing_ = name;
  }

  const char* missing() const { return missing_; }

 private:
  void* handle_;
  const char* missing_ = nullptr;
};

}  // namespace

Status Library::open(const std::string& name, std::shared_ptr<const Library>* library) {
  void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return {Code::System, "cannot be loaded: " + lastLoaderError() + "; install rdma-core (Debian: libibverbs1)"};
  }
  std::shared_ptr<Library> opened(new Library);
  Finder find(handle);
  find.required("ibv_get_device_list", &opened->getDeviceList);
  find.required("ibv_free_device_list", &opened->freeDeviceList);
  find.required("ibv_get_device_name", &opened->getDeviceName);
  find.required("ibv_open_device", &opened->openDevice);
  find.required("ibv_close_device", &opened->closeDevice);
  find.required("ibv_query_device", &opened->queryDevice);
  find.required("ibv_query_port", &opened->queryPort);
  find.required("ibv_query_gid", &opened->queryGid);
  find.required("ibv_query_pkey", &opened->queryPkey);
  find.required("ibv_alloc_pd", &opened->allocPd);
  find.required("ibv_dealloc_pd", &opened->deallocPd);
  find.required("ibv_reg_mr", &opened->regMr);
  find.optional("ibv_reg_mr_iova2", &opened->regMrIova2);
  find.optional("ibv_reg_dmabuf_mr", &opened->regDmabufMr);
  find.required("ibv_dereg_mr", &opened->deregMr);
  find.required("ibv_create_comp_channel", &opened->createChannel);
  find.required("ibv_destroy_comp_channel", &opened->destroyChannel);
  find.required("ibv_create_cq", &opened->createCq);
  find.required("ibv_destroy_cq", &opened->destroyCq);
  find.required("ibv_get_cq_event", &opened->getCqEvent);
  find.required("ibv_ack_cq_events", &opened->ackCqEvents);
  find.required("ibv_create_qp", &opened->createQp);
  find.required("ibv_modify_qp", &opened->modifyQp);
  find.required("ibv_query_qp", &opened->queryQp);
  find.required("ibv_destroy_qp", &opened->destroyQp);
  find.required("ibv_get_async_event", &opened->getAsyncEvent);
  find.required("ibv_ack_async_event", &opened->ackAsyncEvent);
  find.required("ibv_event_type_str", &opened->eventText);
  if (find.missing() != nullptr) {
    dlclose(handle);
    return {Code::System, std::string("is no libibverbs, or one older than 1.1: it has no ") + find.missing()};
  }
  // Prevents a process that the application forks from taking pages away from the adapter. Newer kernels ensure this
  // themselves.
  ForkInitFn forkInit = nullptr;
  find.optional("ibv_fork_init", &forkInit);
  if (forkInit != nullptr) forkInit();
  *library = std::move(opened);
  return Status::ok();
}

}  // namespace jccl::verbs
