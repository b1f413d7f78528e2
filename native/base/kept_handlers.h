// Restores the JVM's signal handlers after foreign libraries have replaced them.
#pragma once

#include <string>

namespace jccl {

// The JVM needs its own handlers: it receives SIGSEGV at safepoints and at null references. Some libraries, such as
// libpsm2 and UCX, install handlers that print where a process crashed when they are loaded or initialised. The next
// SIGSEGV would then end the JVM. Construct a KeptHandlers around calls of such a library: the destructor restores the
// handlers and logs the names of the signals whose handlers were replaced.
//
// During the call, a signal still reaches the library's handler; only libjsig.so, loaded before the JVM, prevents that.
// Objects of several threads may overlap: all restore the handlers that were in place before the first of them, even if
// one of them is never destroyed.
class KeptHandlers {
 public:
  // `library` names the library in the log.
  explicit KeptHandlers(std::string library);
  ~KeptHandlers();
  KeptHandlers(const KeptHandlers&) = delete;
  KeptHandlers& operator=(const KeptHandlers&) = delete;

 private:
  const std::string library_;
};

}  // namespace jccl
