// Native threads that behave as guests: named, and deaf to signals, which belong to the JVM's own threads.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <thread>
#include <utility>

namespace jccl {

// Throws what std::thread throws; the caller's signals are as they were in any case.
template <typename Body>
std::thread startQuietThread(const char* name, Body body) {
  struct SignalsBlocked {
    sigset_t before;
    SignalsBlocked() {
      sigset_t all;
      sigfillset(&all);
      pthread_sigmask(SIG_SETMASK, &all, &before);
    }
    ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
  };
  std::thread thread = [&body] {
    const SignalsBlocked blocked;
    return std::thread(std::move(body));
  }();
  pthread_setname_np(thread.native_handle(), name);
  return thread;
}

}  // namespace jccl
