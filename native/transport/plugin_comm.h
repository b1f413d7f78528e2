// A communicator of a network plug-in, which carries messages in one direction, and the memory that such communicators
// use.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/status.h"
#include "plugin/plugin_library.h"
#include "transport/net.h"

namespace jccl {

class PluginMemory;

// The destructor closes the communicator if it is open. Before closing, the memory that is registered with the
// communicator is released.
class PluginComm {
 public:
  enum class Direction : uint8_t { Send, Receive };

  PluginComm(std::shared_ptr<plugin::NetPlugin> plugin, Direction direction, void* raw)
      : plugin_(std::move(plugin)), direction_(direction), raw_(raw) {}
  ~PluginComm() { close(); }
  PluginComm(const PluginComm&) = delete;
  PluginComm& operator=(const PluginComm&) = delete;

  void* raw() const { return raw_; }

  // Sets *handle to the plug-in's handle of the memory, which is registered at its first use.
  Status memory(PluginMemory& memory, void** handle);

  void close();

 private:
  friend class PluginMemory;
  void forget(PluginMemory* memory);

  const std::shared_ptr<plugin::NetPlugin> plugin_;
  const Direction direction_;
  void* raw_;
  std::map<PluginMemory*, void*> registered_;
};

// Memory that communicators of a plug-in use. Memory and communicators may be destroyed in any order: the first one
// that is destroyed ends the registration.
class PluginMemory final : public NetMemory {
 public:
  PluginMemory(void* address, size_t bytes) : address_(address), bytes_(bytes) {}
  // GPU memory. `dmabuf` refers to the whole memory, and is empty if the plug-in does not register it by a dma-buf.
  PluginMemory(void* address, size_t bytes, UniqueFd dmabuf)
      : address_(address), bytes_(bytes), onDevice_(true), dmabuf_(std::move(dmabuf)) {}
  ~PluginMemory() override;
  PluginMemory(const PluginMemory&) = delete;
  PluginMemory& operator=(const PluginMemory&) = delete;

  // Returns true for GPU memory, which the CPU cannot access.
  bool onDevice() const { return onDevice_; }

 private:
  friend class PluginComm;

  Status registerWith(plugin::NetPlugin& plugin, void* comm, void** handle) const;

  void* const address_;
  const size_t bytes_;
  const bool onDevice_ = false;
  const UniqueFd dmabuf_;
  std::vector<PluginComm*> users_;
};

}  // namespace jccl
