// Starts native threads in the JVM's process. They have names, block the signals that belong to the application and to
// the JVM's threads, and log with the subject of the thread that started them. An exception of their bodies does not
// end the process.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "base/thrown.h"

namespace jccl {

// Signals that native threads do not block. A blocked fault would end the process without calling its handler, and the
// JVM would write no hs_err file. A blocked timer signal would hide the thread from profilers.
inline constexpr std::array kSignalsOfThreads = {SIGSEGV, SIGBUS,  SIGFPE,  SIGILL,   SIGTRAP,
                                                 SIGSYS,  SIGABRT, SIGPROF, SIGVTALRM};

// Calls `round` until it returns false: the main loop of a thread that serves others, like ServiceThread in Java. If
// `round` throws, the exception is logged and `round` is called again after a pause. So `round` must leave its state
// consistent when it throws.
template <typename Round>
void repeatRounds(const char* thread, Round round) noexcept {
  constexpr std::chrono::milliseconds kMaxPause{100};
  std::chrono::milliseconds pause{1};
  for (bool more = true; more;) {
    try {
      more = round();
      pause = std::chrono::milliseconds{1};
    } catch (...) {
      logThrown(thread);
      std::this_thread::sleep_for(pause);
      pause = std::min(2 * pause, kMaxPause);
    }
  }
}

// Starts a thread. The error of a failure names the thread limits. The caller's signal mask is unchanged afterwards. An
// exception of `body` is logged; a body that another thread waits for must catch its own exceptions.
template <typename Body>
Status startQuietThread(const char* name, Body body, std::thread* started) {
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
  try {
    const SignalsBlocked blocked;
    *started = std::thread([body = std::move(body), subject = LogScope::current()]() mutable {
      const LogScope logs(std::move(subject));
      try {
        body();
      } catch (...) {
        std::array<char, 16> own{};
        pthread_getname_np(pthread_self(), own.data(), own.size());
        logThrown(own.data());
      }
    });
  } catch (const std::system_error& error) {
    return Status::system("pthread_create", std::string("thread=") + name, error.code().value());
  }
  pthread_setname_np(started->native_handle(), name);
  return Status::ok();
}

}  // namespace jccl
