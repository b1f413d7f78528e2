#include "nvml/nvml_library.h"

#include <dlfcn.h>

namespace jccl::nvml {

namespace {

template <typename Function>
void find(void* handle, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(handle, name));
}

std::string lastLoaderError() {
  const char* text = dlerror();  // NOLINT(concurrency-mt-unsafe): glibc keeps one error text per thread
  return text == nullptr ? "unknown" : text;
}

}  // namespace

Status Library::open(const std::string& name, std::unique_ptr<Library>* library) {
  void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return {Code::System, "cannot be loaded: " + lastLoaderError()};
  std::unique_ptr<Library> opened(new Library);
  InitFn init = nullptr;
  find(handle, "nvmlInit_v2", &init);
  find(handle, "nvmlDeviceGetCount_v2", &opened->count);
  find(handle, "nvmlDeviceGetHandleByIndex_v2", &opened->handle);
  find(handle, "nvmlDeviceGetPciInfo_v3", &opened->pciInfo);
  if (opened->pciInfo == nullptr) find(handle, "nvmlDeviceGetPciInfo_v2", &opened->pciInfo);
  if (init == nullptr || opened->count == nullptr || opened->handle == nullptr || opened->pciInfo == nullptr) {
    dlclose(handle);
    return {Code::System, "is no management library, or one older than its version 2"};
  }
  find(handle, "nvmlErrorString", &opened->errorString_);
  find(handle, "nvmlDeviceGetCudaComputeCapability", &opened->capability);
  find(handle, "nvmlDeviceGetMigMode", &opened->migMode);
  find(handle, "nvmlDeviceGetNvLinkCapability", &opened->linkCapability);
  find(handle, "nvmlDeviceGetNvLinkState", &opened->linkState);
  find(handle, "nvmlDeviceGetNvLinkRemotePciInfo_v2", &opened->linkRemotePci);
  find(handle, "nvmlDeviceGetNvLinkRemoteDeviceType", &opened->linkRemoteType);
  find(handle, "nvmlDeviceGetP2PStatus", &opened->p2pStatus);
  find(handle, "nvmlDeviceGetFieldValues", &opened->fieldValues_);
  const Return code = init();
  if (code != kSuccess) return {Code::System, opened->failure("nvmlInit_v2", code)};
  find(handle, "nvmlShutdown", &opened->shutdown_);
  *library = std::move(opened);
  return Status::ok();
}

Library::~Library() {
  if (shutdown_ != nullptr) shutdown_();
}

std::string Library::failure(const char* call, Return code) const {
  const char* text = errorString_ == nullptr ? nullptr : errorString_(code);
  return std::string(call) + ": code=" + std::to_string(code) + (text == nullptr ? "" : " (" + std::string(text) + ")");
}

Return Library::field(Device device, unsigned field, unsigned scope, unsigned* value) const {
  if (fieldValues_ == nullptr) return kNotSupported;
  FieldValue request = {};
  request.fieldId = field;
  request.scopeId = scope;
  const Return code = fieldValues_(device, 1, &request);
  if (code != kSuccess) return code;
  if (request.result == kSuccess) *value = request.asUnsigned;
  return request.result;
}

}  // namespace jccl::nvml
