// libibverbs, opened at run time.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "verbs/verbs_api.h"

namespace jccl::verbs {

// The functions of a loaded library. Only functions that old versions of the library lack may be null, as noted. The
// library stays mapped for ever, because its drivers leave pointers into the library behind.
class Library {
 public:
  // Opens the library by a name that the loader resolves ("libibverbs.so.1"), or by a path.
  static Status open(const std::string& name, std::shared_ptr<const Library>* library);

  GetDeviceListFn getDeviceList = nullptr;
  FreeDeviceListFn freeDeviceList = nullptr;
  GetDeviceNameFn getDeviceName = nullptr;
  OpenDeviceFn openDevice = nullptr;
  CloseDeviceFn closeDevice = nullptr;
  QueryDeviceFn queryDevice = nullptr;
  QueryPortFn queryPort = nullptr;
  QueryGidFn queryGid = nullptr;
  QueryPkeyFn queryPkey = nullptr;
  AllocPdFn allocPd = nullptr;
  DeallocPdFn deallocPd = nullptr;
  RegMrFn regMr = nullptr;
  RegMrIova2Fn regMrIova2 = nullptr;    // may be null; needed for relaxed ordering
  RegDmabufMrFn regDmabufMr = nullptr;  // may be null; GPU memory is then registered by its address
  DeregMrFn deregMr = nullptr;
  CreateChannelFn createChannel = nullptr;
  DestroyChannelFn destroyChannel = nullptr;
  CreateCqFn createCq = nullptr;
  DestroyCqFn destroyCq = nullptr;
  GetCqEventFn getCqEvent = nullptr;
  AckCqEventsFn ackCqEvents = nullptr;
  CreateQpFn createQp = nullptr;
  ModifyQpFn modifyQp = nullptr;
  QueryQpFn queryQp = nullptr;
  DestroyQpFn destroyQp = nullptr;
  GetAsyncEventFn getAsyncEvent = nullptr;
  AckAsyncEventFn ackAsyncEvent = nullptr;
  EventTextFn eventText = nullptr;

 private:
  Library() = default;
};

inline constexpr const char* kDefaultLibrary = "libibverbs.so.1";

}  // namespace jccl::verbs
