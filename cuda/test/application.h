// Calls that an application makes to the CUDA runtime for one device, on its own thread.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "cuda/runtime/device_api.h"

namespace jccl::test {

class Application {
 public:
  explicit Application(int device = 0) : device_(device) {}

  device::Stream createStream() const {
    device::Stream stream = nullptr;
    here([&] { return device::createStream(stream); });
    return stream;
  }
  void destroyStream(device::Stream stream) const {
    here([&] { return device::destroyStream(stream); });
  }
  void synchronize(device::Stream stream) const {
    here([&] { return device::synchronize(stream); });
  }

  // Begins a capture, by default in the strictest mode, which most applications use.
  void beginCapture(device::Stream stream, device::CaptureMode mode = device::CaptureMode::Global) const {
    here([&] { return device::beginCapture(stream, mode); });
  }
  device::Graph endCapture(device::Stream stream) const {
    device::Graph graph = nullptr;
    here([&] { return device::endCapture(stream, graph); });
    return graph;
  }
  void replay(device::Graph graph, device::Stream stream) const {
    here([&] { return device::launchGraph(graph, stream); });
  }
  void destroyGraph(device::Graph graph) const {
    here([&] { return device::destroyGraph(graph); });
  }

  template <class Body>
  void here(Body&& body) const {
    const device::DeviceGuard guard(device_);
    const Status status = guard.status() ? body() : guard.status();
    EXPECT_TRUE(status.isOk()) << status.message();
  }

 private:
  int device_;
};

}  // namespace jccl::test
