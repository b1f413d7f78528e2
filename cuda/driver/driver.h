// NVIDIA's driver, opened when it is first needed.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "cuda/driver/driver_api.h"

namespace jccl::driver {

// The driver of this process, initialised. Before it is initialised, the process gets as many hardware queues as a
// device has, unless the application has chosen a number or has initialised the driver itself. If there is no driver,
// or it is too old, `status` says so and what is expected; then no call may be made.
struct Driver : Calls {
  // A call or attribute that this driver lacks although it is new enough: the first version of CUDA that has it, and
  // how this library works without it.
  struct Lack {
    const char* name;
    int version;
    const char* without;
  };

  Status status;
  int version = 0;  // CUDA version of the driver: 12040 is 12.4
  // Number of hardware queues that the streams of a device share in this process. The work of a queue begins in order,
  // so a kernel that spins holds up the work after it.
  int hardwareQueues = 0;
  std::vector<Lack> lacks;
};

const Driver& driver();

// Returns an error for an optional call that the driver lacks. It names the first CUDA version with that call.
Status missing(const char* name);

// Converts the result of a call, with the driver's text for an error and the facts of the call.
Status statusOf(const char* call, Result result, const std::string& facts = {});

// Formats a version of CUDA for messages: textOfVersion returns "12.0"; describeVersion adds the oldest driver that
// supports it: "12.0 (driver 525)".
std::string textOfVersion(int version);
std::string describeVersion(int version);

// Returns a function of the driver; null if the driver lacks it. openDriver() sets `find`, or returns an error with the
// reason. Programs and tests link different implementations of it.
using FindFunction = void* (*)(const char* name, int version);
Status openDriver(FindFunction& find);

}  // namespace jccl::driver
