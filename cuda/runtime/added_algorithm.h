// The interface of an algorithm that is in a folder of its own and can be left out (docs/architecture.md). A
// communicator asks its added algorithms for what differs from ring, tree and direct, and does not know which exist.
#pragma once

#include <cstddef>

#include "base/status.h"
#include "engine/operation.h"
#include "primitives/wait_place.h"

namespace jccl::device {

class WorksLauncher;
struct Issued;

class AddedAlgorithm {
 public:
  AddedAlgorithm() = default;
  // The communicator may be gone already: RetiredMemory destroys the object when no kernel is in flight.
  virtual ~AddedAlgorithm() = default;
  AddedAlgorithm(const AddedAlgorithm&) = delete;
  AddedAlgorithm& operator=(const AddedAlgorithm&) = delete;

  // Returns true if this object executes operations whose choice has the algorithm. Operations of one object share a
  // kernel if their elements do.
  virtual bool executes(Algorithm algorithm) const = 0;
  // Changes a choice, whose algorithm this object executes, to the nearest choice that it can execute for the
  // operation. Returns false if there is none. All ranks get the same result.
  virtual bool adjust(OperationCode code, Choice& choice) const = 0;
  // Launches operations with choices from adjust().
  virtual Issued launch(WorksLauncher& launcher) const = 0;

  // Called by DeviceCommunicator::prepare when the tables of the kernels have been written.
  virtual Status prepare() { return Status::ok(); }
  // Replaces the peer and the reason of a wait for the channel's extra end (DevicePlan::setExtraEnds), for the object
  // that has set these ends.
  virtual void locate(int /*channel*/, WaitPlace& /*place*/) const {}
  // Returns true if kernels use host memory that the object has registered. Returning it waits for all devices.
  virtual bool usesHostMemory() const { return false; }
  // Returns true if symmetric windows should be behind descriptors, although no other process maps them.
  virtual bool needsDescriptors() const { return false; }
  // Returns the bytes of device memory for messages to the user.
  virtual size_t deviceBytes() const { return 0; }

  // Keeps all memory for good, because a kernel of this rank may still use it.
  virtual void leak() = 0;
  // Keeps memory that other ranks access for good, because a kernel of another process may still use it.
  virtual void leakShared() {}
};

}  // namespace jccl::device
