// Buffers and windows on which a rank's operations work in place, and the memory of peers that was opened for them.
// Used by the thread that issues operations.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/fd.h"
#include "base/status.h"
#include "cuda/runtime/device_completion.h"
#include "cuda/runtime/device_config.h"
#include "cuda/runtime/device_connections.h"
#include "cuda/runtime/device_reclaim.h"
#include "cuda/runtime/registered_buffers.h"
#include "cuda/runtime/symmetric_windows.h"

namespace jccl::device {

// Descriptors for other processes: of the buffer, if it needs one, and of this rank's access page. The caller closes
// them.
struct BufferDescriptors {
  UniqueFd buffer, page;
};

class DeviceRegistration {
 public:
  DeviceRegistration(const DeviceCommunicatorConfig& config, DeviceConnections& connections,
                     DeviceCompletion& completion, DeviceReclaim& reclaim)
      : config_(config),
        connections_(connections),
        completion_(completion),
        reclaim_(reclaim),
        buffers_(config.rank, config.size) {}

  // These functions are described in DeviceCommunicator. `stream` is one on which no kernel is.
  Status describeBuffer(const void* memory, size_t bytes, std::vector<uint8_t>& info);
  BufferDescriptors takeBufferDescriptors();
  Status openBuffer(int peer, std::span<const uint8_t> info, BufferDescriptors descriptors, int64_t timeoutNanos,
                    uint64_t& here);
  Status useBuffer(std::vector<uint64_t> there, uint64_t& number);
  Status dropBuffer(int64_t timeoutNanos);
  Status closeBuffer(uint64_t number, int64_t timeoutNanos);
  // With `descriptors`, the window is behind a descriptor if the device supports that.
  Status allocateWindow(Stream stream, size_t bytes, bool descriptors, int64_t timeoutNanos, uint8_t*& memory);
  Status useWindow(const uint8_t* memory, std::vector<uint64_t> here, std::vector<uint64_t> there);
  Status freeWindow(const uint8_t* memory);

  const RegisteredBuffers& buffers() const { return buffers_; }
  const SymmetricWindows& windows() const { return windows_; }

  // At the end: takes the windows, which peers may have mapped. Then either leak() keeps what was opened for good, because
  // a kernel may still use it, or retire() returns it when no kernel does.
  std::vector<std::shared_ptr<DeviceSegment>> takeWindows() { return windows_.removeAll(); }
  void leak();
  void retire();

 private:
  Status awaitQuiet(int64_t timeoutNanos, const std::function<bool()>& attempt);
  Status retireOpened(RegisteredBuffers::Opened opened, int64_t timeoutNanos);

  const DeviceCommunicatorConfig& config_;
  DeviceConnections& connections_;
  DeviceCompletion& completion_;
  DeviceReclaim& reclaim_;
  RegisteredBuffers buffers_;
  SymmetricWindows windows_;
  // Descriptors of the buffer that is being registered, and of this rank's access page.
  UniqueFd bufferDescriptor_, pageDescriptor_;
};

}  // namespace jccl::device
