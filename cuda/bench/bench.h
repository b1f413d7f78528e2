// Parts of the benchmarks of GPUs: ranks that are threads of this process and share device 0, without Java; times; and
// lines of JSON.
#pragma once

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cuda/runtime/device_api.h"
#include "cuda/runtime/device_communicator.h"

namespace jccl::bench {

constexpr int kDevice = 0;
constexpr int64_t kTimeoutNanos = 20'000'000'000;

// Numbers that are small for emulated GPUs.
struct Scale {
  bool quick = false;
  int64_t deadline = 0;  // monotonicNanos() at which a program ends

  size_t largeBytes() const { return quick ? size_t{64} << 10 : size_t{128} << 20; }
  int operations(int usual) const { return quick ? 4 : usual; }
  bool isOver() const { return monotonicNanos() > deadline; }
};

// Prints a line of JSON at once, so that a program that is ended leaves what it has measured.
[[gnu::format(printf, 1, 2)]] void line(const char* format, ...);
// Returns a text as a string of JSON.
std::string quoted(const std::string& text);

// Ends the program with the reason if the status is an error.
void require(const Status& status, const char* what);

// Runs the body with the device as the current one.
template <class Body>
auto here(Body&& body) {
  const device::DeviceGuard guard(kDevice);
  require(guard.status(), "device 0");
  return body();
}

class Memory {
 public:
  explicit Memory(size_t bytes) {
    here([&] {
      require(device::allocate(bytes, address_), "device memory");
      return 0;
    });
  }
  ~Memory() {
    here([&] { return device::release(address_).isOk(); });
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  uint8_t* get() const { return static_cast<uint8_t*>(address_); }

 private:
  void* address_ = nullptr;
};

// Returns a quantile of times; 0 if there are none.
double quantile(std::vector<double> times, double share);

class Ranks {
 public:
  struct Shape {
    int size = 2;
    int channels = 1;
    int threads = 256;
    uint32_t simpleSlotBytes = 512 * 1024;
  };

  // Returns the reason if the ranks do not fit on the device.
  static Status create(const Shape& shape, std::unique_ptr<Ranks>& ranks);

  int size() const { return shape_.size; }
  device::DeviceCommunicator& rank(int rank) const { return *ranks_[static_cast<size_t>(rank)]; }

  // Waits for an operation of a rank.
  void await(int rank, const device::Issued& issued) const;

  // Puts an operation of all ranks on their own streams, in turn, and waits for all. Returns its time in us.
  using Put = std::function<device::Issued(int rank)>;
  double run(const Put& put) const;
  // Returns the median time of operations in us, after one that is not timed.
  double median(const Scale& scale, int operations, const Put& put) const;

 private:
  explicit Ranks(const Shape& shape) : shape_(shape) {}
  Status connect();

  Shape shape_;
  std::vector<std::unique_ptr<device::DeviceCommunicator>> ranks_;
};

// A send buffer and a receive buffer for each rank.
class Buffers {
 public:
  Buffers(int ranks, size_t bytes) {
    for (int i = 0; i < 2 * ranks; ++i) all_.push_back(std::make_unique<Memory>(bytes));
  }
  uint8_t* send(int rank) const { return all_[static_cast<size_t>(2 * rank)]->get(); }
  uint8_t* recv(int rank) const { return all_[static_cast<size_t>(2 * rank + 1)]->get(); }

 private:
  std::vector<std::unique_ptr<Memory>> all_;
};

Choice choiceOf(Algorithm algorithm, Protocol protocol, int channels, bool inPlace = false);

// The programs. Each returns the exit status.
int driverCosts(const Scale& scale);
int multicastOne(const Scale& scale);
int stampedKernels(const Scale& scale);
int sweeps(const Scale& scale);
int engineLoop(const Scale& scale);
int stubPeer(const Scale& scale);
int deviceFacts(const Scale& scale);

// Makes the kernels with stamps replace the library's; called before any kernel is loaded. stampTable() copies their
// table.
void useStampedKernels();
struct Stamps;
Status stampTable(Stamps& table);

}  // namespace jccl::bench
