// Handlers of signals, kept from libraries of others.
#pragma once

#include <string>

namespace jccl {

// The JVM works by handlers of its own: it gets SIGSEGV at safepoints and where references are null. Libraries that print where a
// process has crashed replace them when they are loaded or begin, as libpsm2 and UCX do, and would end the JVM then. While one of
// these is there such a library may run; at its end the handlers from before are back, and the log names what was replaced.
//
// In between a signal goes to the library's handler: a moment, which only libjsig.so closes, loaded before the JVM. Those of
// several threads overlap: the handlers are those from before the first, also while one of them never ends.
class KeptHandlers {
 public:
  // `library` is how the log names it.
  explicit KeptHandlers(std::string library);
  ~KeptHandlers();
  KeptHandlers(const KeptHandlers&) = delete;
  KeptHandlers& operator=(const KeptHandlers&) = delete;

 private:
  const std::string library_;
};

}  // namespace jccl
