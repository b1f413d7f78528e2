// A plug-in for NCCL whose network reduces (CollNet). Hides which version of the interface the plug-in supports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/types.h"
#include "plugin/plugin_library.h"

namespace jccl::plugin {

// The functions for the groups of one communicator. One thread at a time may call them for each group. Handles,
// communicators, memory and requests are the plug-in's own pointers. A request is null if the plug-in has no space for
// it now; the caller must then try again.
//
// Errors name the plug-in, the function and its result.
class CollNetPlugin {
 public:
  virtual ~CollNetPlugin() = default;

  const std::string& name() const { return name_; }
  int version() const { return version_; }
  const std::string& file() const { return file_; }

  virtual Status init(uint64_t commId) = 0;
  virtual Status devices(int* count) = 0;
  virtual Status properties(int device, DeviceProperties* properties) = 0;

  // `handle` must have kHandleBytes.
  virtual Status listen(int device, void* handle, void** listenComm) = 0;
  // Blocks until the other members connect, perhaps for ever.
  virtual Status connect(const std::vector<void*>& handles, int rank, void* listenComm, void** collComm) = 0;

  // Sets *supported to true if the network reduces this type with this operation. An average counts as a sum.
  // Operations for which the interface has no number are not supported.
  virtual Status supports(DataType type, ReduceOp op, bool* supported) = 0;
  // Returns true if the plug-in also gathers and scatters.
  virtual bool gathers() const = 0;

  virtual Status registerMemory(void* comm, void* data, size_t bytes, void** memory) = 0;
  virtual Status deregister(void* comm, void* memory) = 0;

  // Data in registered memory.
  struct Data {
    void* address;
    void* memory;
  };
  virtual Status allReduce(void* comm, const Data& send, const Data& recv, size_t count, DataType type, ReduceOp op,
                           void** request) = 0;
  // `bytes` is the size of one member's part; `ranks` is the number of members.
  virtual Status allGather(void* comm, const Data& send, const Data& recv, size_t bytes, int ranks, void** request) = 0;
  virtual Status reduceScatter(void* comm, const Data& send, const Data& recv, size_t bytes, int ranks, DataType type,
                               ReduceOp op, void** request) = 0;
  // Once *done is true, the request belongs to the plug-in again.
  virtual Status test(void* request, bool* done) = 0;

  virtual Status closeColl(void* comm) = 0;
  virtual Status closeListen(void* comm) = 0;
  virtual void finalize() = 0;

 protected:
  CollNetPlugin(std::string name, int version, std::string file)
      : name_(std::move(name)), version_(version), file_(std::move(file)) {}

 private:
  const std::string name_;
  const int version_;
  const std::string file_;
};

// Opens the library that openNetPlugin would open, and chooses the newest version that both sides support.
Status openCollNetPlugin(const std::string& name, std::shared_ptr<CollNetPlugin>* plugin);

}  // namespace jccl::plugin
