// A plug-in for NCCL whose network reduces (CollNet), whatever version of the interface it speaks.
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

// The functions of one communicator's groups: by one thread at a time for each group. Handles, communicators, memory and
// requests are the plug-in's own pointers. A request is null where there is no space for it now.
//
// Errors name the plug-in, the function and what it returned.
class CollNetPlugin {
 public:
  virtual ~CollNetPlugin() = default;

  const std::string& name() const { return name_; }
  int version() const { return version_; }
  const std::string& file() const { return file_; }

  virtual Status init(uint64_t commId) = 0;
  virtual Status devices(int* count) = 0;
  virtual Status properties(int device, DeviceProperties* properties) = 0;

  // `handle` has kHandleBytes.
  virtual Status listen(int device, void* handle, void** listenComm) = 0;
  // May block for as long as the others take, and for ever.
  virtual Status connect(const std::vector<void*>& handles, int rank, void* listenComm, void** collComm) = 0;

  // Whether the network reduces; an average is a sum here, and what the interface has no number for is not supported.
  virtual Status supports(DataType type, ReduceOp op, bool* supported) = 0;
  // Whether it gathers and scatters, too.
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
  // `bytes` of each of `ranks` members.
  virtual Status allGather(void* comm, const Data& send, const Data& recv, size_t bytes, int ranks, void** request) = 0;
  virtual Status reduceScatter(void* comm, const Data& send, const Data& recv, size_t bytes, int ranks, DataType type,
                               ReduceOp op, void** request) = 0;
  // Once done, the request is the plug-in's again.
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

// Opens the library that openNetPlugin would, and chooses the newest version that both sides speak.
Status openCollNetPlugin(const std::string& name, std::shared_ptr<CollNetPlugin>* plugin);

}  // namespace jccl::plugin
