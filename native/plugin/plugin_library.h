// A network plug-in for NCCL. Hides which version of the interface the plug-in supports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/call_watch.h"
#include "base/status.h"

namespace jccl::plugin {

// Properties that a plug-in reports for one of its devices. Texts and numbers are checked. A property that an old
// version does not report has the value that NCCL assumes.
struct DeviceProperties {
  int number = 0;  // number of the device in the plug-in
  std::string name;
  std::string pciPath;  // path of the device in sysfs; empty: the plug-in reports none
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

// The functions of a plug-in never wait: connect and accept must be called again until they are done, and transfers
// return requests to test. Handles, communicators, memory and requests are the plug-in's own pointers.
//
// Errors name the plug-in, the function and its result. Only one thread at a time may call the functions.
class NetPlugin {
 public:
  virtual ~NetPlugin() = default;

  const std::string& name() const { return name_; }
  int version() const { return version_; }
  const std::string& file() const { return file_; }

  // Must be called before all other functions. `commId` identifies the communicator, for plug-ins that distinguish
  // them.
  virtual Status init(uint64_t commId) = 0;
  virtual Status devices(int* count) = 0;
  virtual Status properties(int device, DeviceProperties* properties) = 0;

  // `handle` must have kHandleBytes.
  virtual Status listen(int device, void* handle, void** listenComm) = 0;
  // *sendComm and *recvComm are null while the connection is not established.
  virtual Status connect(int device, void* handle, void** sendComm) = 0;
  virtual Status accept(void* listenComm, void** recvComm) = 0;

  virtual Status registerMemory(void* comm, void* data, size_t bytes, int type, void** memory) = 0;
  virtual Status registerDmaBuf(void* comm, void* data, size_t bytes, int descriptor, void** memory) = 0;
  virtual Status deregister(void* comm, void* memory) = 0;

  // *request is null if the plug-in has no space for the request now; the caller must then try again.
  virtual Status send(void* comm, void* data, size_t bytes, int tag, void* memory, void** request) = 0;
  // Receives up to maxRecvs messages at once, each with the tag of its sender.
  virtual Status receive(void* comm, int n, void** data, size_t* bytes, int* tags, void** memory, void** request) = 0;
  virtual Status flush(void* comm, void* data, int bytes, void* memory, void** request) = 0;
  // Once *done is true, the request belongs to the plug-in again, and *bytes is the size that the plug-in reports for
  // the (first) message. That size is unchecked and may be any number.
  virtual Status test(void* request, bool* done, int* bytes) = 0;

  virtual Status closeSend(void* comm) = 0;
  virtual Status closeReceive(void* comm) = 0;
  virtual Status closeListen(void* comm) = 0;
  // The last call. Since version 11 it ends the context that init created.
  virtual Status finalize() = 0;

  // Watches every call, to tell whether it returns.
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

// Opens a plug-in and chooses the newest version that both sides support. `name` is the value of JCCL_NET_PLUGIN: a
// path, the name of a library, or NAME for libnccl-net-NAME.so; empty: libnccl-net.so. The library stays mapped for
// ever. An error says in one sentence what is missing.
Status openNetPlugin(const std::string& name, std::shared_ptr<NetPlugin>* plugin);

}  // namespace jccl::plugin
