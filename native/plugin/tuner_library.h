// A tuner plug-in for NCCL, whatever version of the interface it speaks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/status.h"
#include "plugin/tuner_abi.h"

namespace jccl::plugin {

// What a tuner learns of a communicator.
struct TunerCommunicator {
  uint64_t id = 0;
  size_t ranks = 1;
  size_t hosts = 1;
  int minLocalRanks = 1;
  int maxLocalRanks = 1;
};

// A tuner of one communicator. Errors name the plug-in, the function and what it returned. One thread at a time calls it.
class TunerPlugin {
 public:
  virtual ~TunerPlugin() = default;

  const std::string& name() const { return name_; }
  int version() const { return version_; }
  const std::string& file() const { return file_; }

  // Once, before everything else.
  virtual Status init(const TunerCommunicator& communicator) = 0;

  // Lets it change the costs of an operation's algorithms and protocols. The number of channels is 0 where it says none.
  // Code::Invalid: what it answers makes no sense.
  virtual Status ask(int function, size_t bytes, std::span<float, kTunerCosts> costs, int* channels) = 0;

  // Lets it change the bytes of a step; those of versions that cannot leave them.
  virtual Status askChunk(int function, size_t bytes, int algorithm, int protocol, int channels,
                          size_t* chunkBytes) = 0;

  // Also when it is destroyed.
  virtual void finalize() = 0;

 protected:
  TunerPlugin(std::string name, int version, std::string file)
      : name_(std::move(name)), version_(version), file_(std::move(file)) {}

 private:
  const std::string name_;
  const int version_;
  const std::string file_;
};

// Opens a plug-in and chooses the newest version that both sides speak. `name` is as JCCL_TUNER_PLUGIN has it: a path, the name
// of a library, or NAME of libnccl-tuner-NAME.so; empty: libnccl-tuner.so. The library stays mapped for ever.
Status openTunerPlugin(const std::string& name, std::shared_ptr<TunerPlugin>* tuner);

// The same of a network plug-in's library, which may have a tuner as well; `name` is as JCCL_NET_PLUGIN has it.
Status openTunerPluginOfNetwork(const std::string& name, std::shared_ptr<TunerPlugin>* tuner);

}  // namespace jccl::plugin
