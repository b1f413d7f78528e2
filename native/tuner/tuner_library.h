// A tuner plug-in for NCCL. Hides which version of the interface the plug-in supports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/status.h"
#include "tuner/tuner_abi.h"

namespace jccl::plugin {

// The facts about a communicator that a tuner receives.
struct TunerCommunicator {
  uint64_t id = 0;
  size_t ranks = 1;
  size_t hosts = 1;
  int minLocalRanks = 1;
  int maxLocalRanks = 1;
};

// A tuner of one communicator. Errors name the plug-in, the function and its result. Only one thread at a time may call
// it.
class TunerPlugin {
 public:
  virtual ~TunerPlugin() = default;

  const std::string& name() const { return name_; }
  int version() const { return version_; }
  const std::string& file() const { return file_; }

  // Must be called once, before all other functions.
  virtual Status init(const TunerCommunicator& communicator) = 0;

  // Lets the tuner change the costs of an operation's algorithms and protocols. *channels is 0 if the tuner chooses no
  // number of channels. Returns Code::Invalid if the answer makes no sense.
  virtual Status ask(int function, size_t bytes, std::span<float, kTunerCosts> costs, int* channels) = 0;

  // Lets the tuner change the bytes of a step. Older versions of the plug-in leave this value unchanged.
  virtual Status askChunk(int function, size_t bytes, int algorithm, int protocol, int channels,
                          size_t* chunkBytes) = 0;

  // Ends the tuner. The destructor does so, too.
  virtual void finalize() = 0;

 protected:
  TunerPlugin(std::string name, int version, std::string file)
      : name_(std::move(name)), version_(version), file_(std::move(file)) {}

 private:
  const std::string name_;
  const int version_;
  const std::string file_;
};

// Opens a plug-in and chooses the newest version that both sides support. `name` is the value of JCCL_TUNER_PLUGIN: a
// path, the name of a library, or NAME for libnccl-tuner-NAME.so; empty: libnccl-tuner.so. The library stays mapped for
// ever.
Status openTunerPlugin(const std::string& name, std::shared_ptr<TunerPlugin>* tuner);

// Opens the tuner that a network plug-in's library may contain. `name` is the value of JCCL_NET_PLUGIN.
Status openTunerPluginOfNetwork(const std::string& name, std::shared_ptr<TunerPlugin>* tuner);

}  // namespace jccl::plugin
