// A profiler plug-in for NCCL. Hides which version of the interface the plug-in supports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/status.h"
#include "profiler/profiler_abi.h"

namespace jccl::plugin {

// The facts about a communicator that a profiler receives.
struct ProfilerCommunicator {
  uint64_t id = 0;
  std::string name;
  int hosts = 1;
  int ranks = 1;
  int rank = 0;
};

// A collective, a send or a receive. Texts are NCCL's and must live as long as the process: plug-ins keep their
// addresses.
struct ProfiledOperation {
  bool isTransfer = false;
  const char* function = "";
  uint8_t functionNumber = 0;  // this member and the next three are NCCL's numbers; 255: NCCL has none
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
  int root = 0;  // root of a collective; peer of a send or receive
  const void* send = nullptr;
  void* recv = nullptr;
};

// The profiler of one communicator. Any thread may call it. finalize must be the last call.
class ProfilerPlugin {
 public:
  // The plug-in's events of an operation or of a group.
  struct Events;

  virtual ~ProfilerPlugin() = default;

  const std::string& name() const { return name_; }
  int version() const { return version_; }
  const std::string& file() const { return file_; }

  // Must be called once, before all other functions. The plug-in chooses the events for which it asks, and may change
  // this choice at any time.
  virtual Status init(const ProfilerCommunicator& communicator) = 0;

  // Returns the bits of the events for which the plug-in asks now.
  virtual int mask() const = 0;

  // Starts the events of an operation, or of several operations as a group. Returns null if the plug-in asks for none
  // of them.
  virtual Events* start(std::span<const ProfiledOperation> operations) = 0;
  // Ends and deletes the events of an operation, or of a group, that has ended.
  virtual void stop(Events* events) = 0;

  // Ends all events that are still open, then the profiler. The destructor does so, too.
  virtual void finalize() = 0;

 protected:
  ProfilerPlugin(std::string name, int version, std::string file)
      : name_(std::move(name)), version_(version), file_(std::move(file)) {}

 private:
  const std::string name_;
  const int version_;
  const std::string file_;
};

// Opens a plug-in and chooses the newest version that both sides support. `name` is the value of JCCL_PROFILER_PLUGIN:
// a path, the name of a library, or NAME for libnccl-profiler-NAME.so; empty: libnccl-profiler.so. The library stays
// mapped for ever.
Status openProfilerPlugin(const std::string& name, std::shared_ptr<ProfilerPlugin>* profiler);

// Opens the profiler that a network plug-in's library may contain. `name` is the value of JCCL_NET_PLUGIN.
Status openProfilerPluginOfNetwork(const std::string& name, std::shared_ptr<ProfilerPlugin>* profiler);

}  // namespace jccl::plugin
