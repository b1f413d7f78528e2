// What a waiting caller may call of the engine that moves network connections.
#pragma once

#include <cstddef>
#include <cstdint>
#include <thread>

namespace jccl {

// Called when the first step of a connection is published. Until then the connection costs its engine nothing: a rank is
// connected to all others, and sends to few of them.
class FirstUse {
 public:
  virtual ~FirstUse() = default;
  virtual void noteFirstUse() = 0;
};

// A communicator with network connections owns one; without any, the pointer is null and a wait polls memory only.
// Every method may be called from any thread of the communicator; the implementation serialises.
class ProgressEngine {
 public:
  virtual ~ProgressEngine() = default;

  // Moves whatever can move without blocking. Returns how many things moved (0 = nothing to do now).
  virtual int poll() = 0;

  // Do events report everything that comes? Else what comes while a thread sleeps is found only by the next poll.
  virtual bool hasEvents() const { return true; }

  // Sleeps until a network event, a kick() or `nanos` nanoseconds, whichever is first.
  virtual void waitForEvents(int64_t nanos) = 0;

  // Reports that slots were published or freed while no thread may be polling: the engine's own thread takes over until
  // all is moved. Called when an operation ends, and by abort.
  virtual void kick() = 0;

  // User memory of the operation that begins, good until clearUserMemory(): slots may refer to it, and receives may post
  // addresses in it (then it is `written`). Networks that reach registered memory only register it when they first need it,
  // and copy what was not added or cannot be registered.
  virtual void addUserMemory(const void* /*address*/, size_t /*bytes*/, bool /*written*/) {}
  // The network needs none of it any more: all has been sent and received, or revoke() has returned.
  virtual void clearUserMemory() {}

  // After a failure: once it returns, no user memory that the network was given (ZeroCopySlot) is touched any
  // more.
  virtual void revoke() {}

  // Whether its calls may not return. Then threads that can be left behind (CallWatch) move it, or its own, and others only wait.
  virtual bool mayBlock() const { return false; }
  // Whether a call has not returned in time, and holds this thread for ever.
  virtual bool holds(std::thread::id /*thread*/) { return false; }

  // Whether a connection has failed for good: waiting for it is in vain.
  virtual bool failed() const { return false; }
};

}  // namespace jccl
