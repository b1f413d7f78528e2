// The management library, opened at run time.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "nvml/nvml_api.h"

namespace jccl::nvml {

// An initialised library. Functions that a version lacks are null; those that every version has are not. The library is
// shut down with this object, but stays mapped: it may have left things behind that point into it.
class Library {
 public:
  // A name that the loader resolves, or a path.
  static Status open(const std::string& name, std::unique_ptr<Library>* library);

  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  // "call: code=N (text)"
  std::string failure(const char* call, Return code) const;

  // One field of a device; an error of the call and one of the field are the same here.
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
