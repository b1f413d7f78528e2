// What a part of JCCL adds to a communicator. docs/architecture.md explains parts.
#pragma once

#include <string>

#include "base/status.h"
#include "engine/staging_activity.h"

namespace jccl {

class Attachment {
 public:
  virtual ~Attachment() = default;

  // Start and stop threads that move data of kernels. `activity` exists until stopStaging().
  virtual Status startStaging(StagingActivity& activity) = 0;
  virtual void stopStaging() = 0;

  // Any thread may call these. Returns true if kernels must not wait for the part's data any longer.
  virtual bool failed() const = 0;
  // Returns the reason of a failure, or an empty string.
  virtual std::string error() const = 0;
};

}  // namespace jccl
