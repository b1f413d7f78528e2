// The calls that a waiting thread may make into the engine that moves data over network connections.
#pragma once

#include <cstddef>
#include <cstdint>
#include <thread>

namespace jccl {

// Receives a notification when the first step of a connection is published. Before that, the connection costs its
// engine nothing: a rank is connected to all other ranks, but sends to few of them.
class FirstUse {
 public:
  virtual ~FirstUse() = default;
  virtual void noteFirstUse() = 0;
};

// Moves data over a communicator's network connections. A communicator without network connections has no engine but a
// null pointer, and its waits poll memory only. Any thread of the communicator may call every method; the
// implementation serialises the calls.
class ProgressEngine {
 public:
  virtual ~ProgressEngine() = default;

  // Moves everything that can move without blocking. Returns how many items of work it did; 0 means that there is
  // nothing to do now.
  virtual int poll() = 0;

  // Returns true if an event reports everything that arrives. Otherwise a sleeping thread learns of arrivals only at
  // its next poll.
  virtual bool hasEvents() const { return true; }

  // Sleeps until a network event, a kick(), or for `nanos`, whichever is first.
  virtual void waitForEvents(int64_t nanos) = 0;

  // Reports that slots were published or freed while perhaps no thread polls. The engine's own thread then polls until
  // everything has moved. Called when an operation ends, and when the communicator is aborted.
  virtual void kick() = 0;

  // Announces user memory of the operation that begins. Until clearUserMemory(), slots may refer to this memory; if it
  // is `written`, receives may also post addresses in it. A network that reaches only registered memory registers this
  // memory when it first needs it, and copies data if memory was not announced or cannot be registered.
  virtual void addUserMemory(const void* /*address*/, size_t /*bytes*/, bool /*written*/) {}
  // Ends the use of the memory that addUserMemory() announced. Called once everything has been sent and received, or
  // after revoke().
  virtual void clearUserMemory() {}

  // Makes the network stop using user memory (ZeroCopySlot), after a failure. Once this has returned, the network no
  // longer touches that memory.
  virtual void revoke() {}

  // Returns true if calls of the network may never return. Then only the engine's thread and threads that can be left
  // behind (CallWatch) make these calls, and other threads only wait.
  virtual bool mayBlock() const { return false; }
  // Returns true if a call that did not return in time holds `thread` for ever.
  virtual bool holds(std::thread::id /*thread*/) { return false; }

  // Returns true if a connection has failed for good, so that waiting for it is useless.
  virtual bool failed() const { return false; }
};

}  // namespace jccl
