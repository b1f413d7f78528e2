// NVIDIA's management library (NVML), opened at run time.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "nvml/nvml_api.h"

namespace jccl::nvml {

// An initialised library. Functions that old versions of the library lack may be null; all others are not null. The
// library is shut down with this object, but stays mapped, because other code may still have pointers into the library.
class Library {
 public:
  // Opens the library by a name that the loader resolves, or by a path.
  static Status open(const std::string& name, std::unique_ptr<Library>* library);

  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  // Returns "call: code=N (text)".
  std::string failure(const char* call, Return code) const;

  // Reads one field of a device. Returns the error of the call or of the field.
  Return field(Device device, unsigned field, unsigned scope, unsigned* value) const;

  CountFn count = nullptr;
  HandleFn handle = nullptr;
  PciInfoFn pciInfo = nullptr;
  CapabilityFn capability = nullptr;
  MigModeFn migMode = nullptr;
  LinkCapabilityFn linkCapability = nullptr;
  LinkStateFn linkState = nullptr;
  LinkRemotePciFn linkRemotePci = nullptr;
  LinkRemoteTypeFn linkRemoteType = nullptr;
  P2PStatusFn p2pStatus = nullptr;

 private:
  Library() = default;

  ErrorStringFn errorString_ = nullptr;
  FieldValuesFn fieldValues_ = nullptr;
  ShutdownFn shutdown_ = nullptr;
};

}  // namespace jccl::nvml
