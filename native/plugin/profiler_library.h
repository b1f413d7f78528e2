// A profiler plug-in for NCCL, whatever version of the interface it speaks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/status.h"
#include "plugin/profiler_abi.h"

namespace jccl::plugin {

// What a profiler learns of a communicator.
struct ProfilerCommunicator {
  uint64_t id = 0;
  std::string name;
  int hosts = 1;
  int ranks = 1;
  int rank = 0;
};

// A collective, a send or a receive. Texts are NCCL's and last for ever: plug-ins keep their addresses.
struct ProfiledOperation {
  bool isTransfer = false;
  const char* function = "";
  uint8_t functionNumber = 0;  // of NCCL, as the next three; 255: it has none
  uint8_t typeNumber = 0;
  uint8_t algorithmNumber = 0;
  uint8_t protocolNumber = 0;
  const char* type = "";
  const char* algorithm = "";
  const char* protocol = "";
  uint32_t op = 0;
  int channels = 0;
  uint64_t sequence = 0;
  size_t count = 0;
  size_t bytes = 0;
  int root = 0;  // or the peer
  const void* send = nullptr;
  void* recv = nullptr;
};

// The profiler of one communicator. Any thread may call it, finalize only after everything else.
class ProfilerPlugin {
 public:
  // What the plug-in has made of an operation, or of a group.
  struct Events;

  virtual ~ProfilerPlugin() = default;

  const std::string& name() const { return name_; }
  int version() const { return version_; }
  const std::string& file() const { return file_; }

  // Once, before everything else. The plug-in says which events it asks for, and may change its mind at any time.
  virtual Status init(const ProfilerCommunicator& communicator) = 0;

  // The events that it asks for.
  virtual int mask() const = 0;

  // An operation begins, or several as a group; null where it asks for none of its events.
  virtual Events* start(std::span<const ProfiledOperation> operations) = 0;
  // It has ended. The events are no more.
  virtual void stop(Events* events) = 0;

  // Ends the events of what is not over; also when it is destroyed.
  virtual void finalize() = 0;

 protected:
  ProfilerPlugin(std::string name, int version, std::string file)
      : name_(std::move(name)), version_(version), file_(std::move(file)) {}

 private:
  const std::string name_;
  const int version_;
  const std::string file_;
};

// Opens a plug-in and chooses the newest version that both sides speak. `name` is as JCCL_PROFILER_PLUGIN has it: a path, the
// name of a library, or NAME of libnccl-profiler-NAME.so; empty: libnccl-profiler.so. The library stays mapped for ever.
Status openProfilerPlugin(const std::string& name, std::shared_ptr<ProfilerPlugin>* profiler);

// The same of a network plug-in's library, which may have a profiler as well; `name` is as JCCL_NET_PLUGIN has it.
Status openProfilerPluginOfNetwork(const std::string& name, std::shared_ptr<ProfilerPlugin>* profiler);

}  // namespace jccl::plugin
