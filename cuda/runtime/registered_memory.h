// Host memory, allocated elsewhere, that kernels use. It is registered with the driver once for all ranks of the
// process.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "cuda/runtime/device_api.h"
#include "engine/staging.h"

namespace jccl::device {

class RegisteredMemory {
 public:
  RegisteredMemory() = default;
  ~RegisteredMemory() { reset(); }
  RegisteredMemory(RegisteredMemory&& other) noexcept : memory_(std::exchange(other.memory_, nullptr)) {}
  RegisteredMemory& operator=(RegisteredMemory&& other) noexcept {
    if (this != &other) {
      reset();
      memory_ = std::exchange(other.memory_, nullptr);
    }
    return *this;
  }

  // Registers `memory`. `registered` must be empty; the same memory is always registered with the same size.
  static Status of(void* memory, size_t bytes, RegisteredMemory& registered) {
    Users& users = usersOfThisProcess();
    const std::lock_guard lock(users.mutex);
    int& count = users.counts[memory];
    if (count == 0) {
      if (Status status = registerHost(memory, bytes); !status) {
        users.counts.erase(memory);
        return status;
      }
    }
    ++count;
    registered.memory_ = memory;
    return Status::ok();
  }

  // Keeps the memory registered for good, because a kernel may still use it.
  void leak() { memory_ = nullptr; }

 private:
  struct Users {
    std::mutex mutex;
    std::map<void*, int> counts;
  };
  static Users& usersOfThisProcess() {
    static auto* users = new Users();
    return *users;
  }

  void reset() {
    if (memory_ == nullptr) return;
    Users& users = usersOfThisProcess();
    const std::lock_guard lock(users.mutex);
    if (--users.counts[memory_] == 0) {
      users.counts.erase(memory_);
      (void)unregisterHost(memory_);
    }
    memory_ = nullptr;
  }

  void* memory_ = nullptr;
};

// Host memory of a communicator's staged connections.
struct StagedMemory {
  std::shared_ptr<const void> mapping;  // mapping of the host's engine, which may be destroyed earlier than this object
  std::vector<RegisteredMemory> registered;

  // Registers the blocks of a connection.
  Status add(const StagedEnds& ends, size_t blockBytes) {
    for (uint8_t* block : {ends.sendBlock, ends.recvBlock}) {
      RegisteredMemory one;
      if (Status status = RegisteredMemory::of(block, blockBytes, one); !status) return status;
      registered.push_back(std::move(one));
    }
    return Status::ok();
  }
  void leak() {
    for (RegisteredMemory& memory : registered) memory.leak();
    if (mapping != nullptr) new std::shared_ptr<const void>(std::move(mapping));
  }
};

}  // namespace jccl::device
