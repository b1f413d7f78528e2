// Owners of contexts, protection domains, completion queues and memory regions.
#pragma once

#include <cerrno>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/status.h"
#include "verbs/verbs_library.h"

namespace jccl::verbs {

// A pointer whose deleter keeps the library, and what the object was made from, until the object itself is gone.
template <typename T>
using Owned = std::unique_ptr<T, std::function<void(T*)>>;

// An opened adapter with its protection domain.
class OpenDevice {
 public:
  static Status open(std::shared_ptr<const Library> library, Device* device, std::shared_ptr<OpenDevice>* opened);

  const Library& library() const { return *library_; }
  Context* context() const { return context_.get(); }
  ProtectionDomain* pd() const { return pd_.get(); }
  const std::string& name() const { return name_; }
  const DeviceAttributes& attributes() const { return attributes_; }

  // Returns Status::system with the adapter's name: "ibv_reg_mr: device=mlx5_0 ..., errno=12 (...)".
  Status failed(const char* call, const std::string& what, int error = errno) const;

 private:
  OpenDevice() = default;

  std::shared_ptr<const Library> library_;
  std::string name_;
  Owned<Context> context_;
  Owned<ProtectionDomain> pd_;
  DeviceAttributes attributes_{};
};

// Memory of this process that is registered for an adapter. Deregistered with the object.
class Region {
 public:
  // `access`: ibv_access_flags; 0: the adapter only reads the memory, which suffices for sending. `relaxed`: if the
  // adapter supports it, writes of the payload may overtake each other on the way to memory. A completion still becomes
  // visible only after the whole payload.
  static Status make(const std::shared_ptr<OpenDevice>& device, void* address, size_t bytes, int access, bool relaxed,
                     std::unique_ptr<Region>* region);

  // Registers GPU memory that other ends write and a flush reads: by its dma-buf, or by its address if there is no
  // dma-buf (-1) or the adapter refuses it. The address works if the GPU's driver has registered its memory with the
  // kernel's InfiniBand core (nvidia_peermem).
  static Status makeOnDevice(const std::shared_ptr<OpenDevice>& device, void* address, size_t bytes, int dmabuf,
                             bool relaxed, std::unique_ptr<Region>* region);

  uint32_t lkey() const { return region_->lkey; }
  uint32_t rkey() const { return region_->rkey; }
  uint8_t* address() const { return static_cast<uint8_t*>(region_->address); }
  size_t bytes() const { return region_->bytes; }
  // Returns true if other ends may write the region.
  bool writable() const { return (access_ & kAccessRemoteWrite) != 0; }

 private:
  Region(const std::shared_ptr<OpenDevice>& device, MemoryRegion* region, int access);

  const int access_;
  Owned<MemoryRegion> region_;
};

// Completion queue to which an adapter reports finished requests, with a descriptor that becomes readable for new ones.
class Completions {
 public:
  static Status make(const std::shared_ptr<OpenDevice>& device, int entries, std::unique_ptr<Completions>* completions);

  CompletionQueue* queue() const { return queue_.get(); }
  int fd() const { return channel_->fd; }

  // Takes up to completions.size() completions and sets *taken to their number.
  Status poll(std::span<WorkCompletion> completions, size_t* taken);
  // Requests an event: the next completion makes the descriptor readable. Completions that came before this call do
  // not, so poll again after it.
  Status requestEvent();
  // Consumes all events of the descriptor.
  void drainEvents();

 private:
  explicit Completions(std::shared_ptr<OpenDevice> device) : device_(std::move(device)) {}

  std::shared_ptr<OpenDevice> device_;
  Owned<CompletionChannel> channel_;
  Owned<CompletionQueue> queue_;
};

}  // namespace jccl::verbs
