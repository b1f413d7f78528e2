// NVIDIA's driver, opened when it is first needed.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "cuda/driver/driver_api.h"

namespace jccl::driver {

// The driver of this process, initialised. Before the driver is initialised, JCCL requests the maximum number of
// hardware queues, unless the application has set a number or has initialised the driver itself. If there is no driver,
// or it is too old, `status` says which driver is expected, and no call may be made.
struct Driver : Calls {
  // A call or attribute that this driver lacks although the driver is new enough to be used. Contains the first version
  // of CUDA with the call or attribute, and describes how this library works without it.
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

// Returns an error for an optional call that the driver lacks. The error names the first CUDA version with that call.
Status missing(const char* name);

// Converts the result of a call to a Status. The message of a failure contains the driver's text and `facts`.
Status statusOf(const char* call, Result result, const std::string& facts = {});

// Formats a version of CUDA for messages: textOfVersion returns "12.0"; describeVersion adds the oldest driver that
// supports it: "12.0 (driver 525)".
std::string textOfVersion(int version);
std::string describeVersion(int version);

// Finds a function of the driver by its name; null if the driver lacks it. openDriver() sets `find` to such a finder,
// or returns an error with the reason. Programs and tests link different implementations of openDriver().
using FindFunction = void* (*)(const char* name, int version);
Status openDriver(FindFunction& find);

}  // namespace jccl::driver
