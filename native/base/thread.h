// Native threads in the JVM's process: named, without the signals that belong to the application and to the JVM's threads, and
// with the subject of their caller's log records.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <array>
#include <thread>
#include <utility>

#include "base/log.h"

namespace jccl {

// What native threads do not block. A blocked fault ends the process without its handler, and the JVM writes no hs_err file;
// a blocked timer signal hides the thread from profilers.
inline constexpr std::array kSignalsOfThreads = {SIGSEGV, SIGBUS,  SIGFPE,  SIGILL,   SIGTRAP,
                                                 SIGSYS,  SIGABRT, SIGPROF, SIGVTALRM};

// Throws what std::thread throws; the caller's signals are as they were in any case.
template <typename Body>
std::thread startQuietThread(const char* name, Body body) {
  struct SignalsBlocked {
    sigset_t before;
    SignalsBlocked() {
      sigset_t blocked;
      sigfillset(&blocked);
      for (const int signal : kSignalsOfThreads) sigdelset(&blocked, signal);
      pthread_sigmask(SIG_SETMASK, &blocked, &before);
    }
    ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
  };
  std::thread thread = [&body] {
    const SignalsBlocked blocked;
    return std::thread([body = std::move(body), subject = LogScope::current()]() mutable {
      const LogScope logs(std::move(subject));
      body();
    });
  }();
  pthread_setname_np(thread.native_handle(), name);
  return thread;
}

}  // namespace jccl
