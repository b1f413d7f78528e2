// NVIDIA's driver, opened when it is first needed.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "cuda/driver/driver_api.h"

namespace jccl::driver {

// The driver of this process, initialised; before that the process gets as many hardware queues as a device has, where nobody
// has chosen or initialised the driver. Where there is none, or one that is too old, `status` says which and what is
// expected; then no call may be made.
struct Driver : Calls {
  // What a driver that is new enough lacks all the same, the first version of CUDA that has it, and how this library does
  // without.
  struct Lack {
    const char* name;
    int version;
    const char* without;
  };

  Status status;
  int version = 0;  // of CUDA, that the driver is made for: 12040 is 12.4
  // How many hardware queues the streams of a device share in this process. Work of one queue begins in its order, so a kernel
  // that spins holds up what is behind it.
  int hardwareQueues = 0;
  std::vector<Lack> lacks;
};

const Driver& driver();

// Why an optional call is missing, and from which driver on it is there.
Status missing(const char* name);

// What a call returned, with the driver's name for an error and the facts of the call.
Status statusOf(const char* call, Result result, const std::string& facts = {});

// A version of CUDA as in messages: "12.0"; of a driver, with the oldest drivers that have it: "12.0 (driver 525)".
std::string textOfVersion(int version);
std::string describeVersion(int version);

// Where the driver's functions are found: the one way for programs, another for tests. Null with a status that says why.
using FindFunction = void* (*)(const char* name, int version);
Status openDriver(FindFunction& find);

}  // namespace jccl::driver
