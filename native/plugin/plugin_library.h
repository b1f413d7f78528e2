// A network plug-in for NCCL, whatever version of the interface it speaks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/call_watch.h"
#include "base/status.h"

namespace jccl::plugin {

// What a plug-in says of one of its devices. Texts and numbers are checked, and what old versions do not say has the value
// that NCCL takes then.
struct DeviceProperties {
  int number = 0;  // of the device, as the plug-in counts
  std::string name;
  std::string pciPath;  // in sysfs; empty: none
  uint64_t guid = 0;
  bool reachesHost = false;
  bool reachesCuda = false;
  bool takesDmaBuf = false;
  bool registrationIsGlobal = false;
  bool forceFlush = false;
  int speedMbps = 0;
  int port = 1;
  float latencyMicros = 0;
  int maxComms = 0;
  int maxRecvs = 1;
  size_t maxMessageBytes = 0;
  size_t maxCollectiveBytes = 0;
};

// What was asked for and not yet done: a plug-in's functions never wait, and are called again. Handles, communicators,
// memory and requests are the plug-in's own pointers.
//
// Errors name the plug-in, the function and what it returned. All functions are called by one thread at a time.
class NetPlugin {
 public:
  virtual ~NetPlugin() = default;

  const std::string& name() const { return name_; }
  int version() const { return version_; }
  const std::string& file() const { return file_; }

  // Before everything else; `commId` distinguishes communicators for those that care.
  virtual Status init(uint64_t commId) = 0;
  virtual Status devices(int* count) = 0;
  virtual Status properties(int device, DeviceProperties* properties) = 0;

  // `handle` has kHandleBytes.
  virtual Status listen(int device, void* handle, void** listenComm) = 0;
  // Null while it is not done.
  virtual Status connect(int device, void* handle, void** sendComm) = 0;
  virtual Status accept(void* listenComm, void** recvComm) = 0;

  virtual Status registerMemory(void* comm, void* data, size_t bytes, int type, void** memory) = 0;
  virtual Status registerDmaBuf(void* comm, void* data, size_t bytes, int descriptor, void** memory) = 0;
  virtual Status deregister(void* comm, void* memory) = 0;

  // The request is null where there is no space for it now.
  virtual Status send(void* comm, void* data, size_t bytes, int tag, void* memory, void** request) = 0;
  // Up to maxRecvs messages at once, each with the tag of its sender.
  virtual Status receive(void* comm, int n, void** data, size_t* bytes, int* tags, void** memory, void** request) = 0;
  virtual Status flush(void* comm, void* data, int bytes, void* memory, void** request) = 0;
  // Once done, the request is the plug-in's again, and *bytes is what it says of the (first) message: anything.
  virtual Status test(void* request, bool* done, int* bytes) = 0;

  virtual Status closeSend(void* comm) = 0;
  virtual Status closeReceive(void* comm) = 0;
  virtual Status closeListen(void* comm) = 0;
  // The last call, for those that init made something for.
  virtual Status finalize() = 0;

  // Every call is made under it: whether one of them returns.
  CallWatch& watch() { return watch_; }
  const CallWatch& watch() const { return watch_; }

 protected:
  NetPlugin(std::string name, int version, std::string file)
      : name_(std::move(name)),
        version_(version),
        file_(std::move(file)),
        watch_("net plug-in " + name_ + " (" + file_ + ", version " + std::to_string(version) + ")") {}

 private:
  const std::string name_;
  const int version_;
  const std::string file_;
  CallWatch watch_;
};

// Opens a plug-in and chooses the newest version that both sides speak. `name` is as JCCL_NET_PLUGIN has it: a path, the
// name of a library, or NAME of libnccl-net-NAME.so; empty: libnccl-net.so. The library stays mapped for ever. An error says
// in one sentence what is missing.
Status openNetPlugin(const std::string& name, std::shared_ptr<NetPlugin>* plugin);

}  // namespace jccl::plugin
