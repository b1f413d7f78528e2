// Code that can stop in the middle and be continued later, perhaps by another thread: it has a stack of its own.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <functional>

#include "base/mapped_memory.h"
#include "base/status.h"

namespace jccl {

// One thread at a time may call start() and resume(). The body must keep nothing in thread-local memory, and hold no
// mutex, while it is paused. It must have ended before the fiber is destroyed, because nothing destroys the objects on
// its stack otherwise.
class Fiber {
 public:
  Fiber() = default;
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Allocates the stack. Does nothing if it exists.
  Status open();

  // Runs `body` until it ends or pauses. Returns true if it has ended. Must follow open(). The body must not throw.
  bool start(std::function<void()> body);

  // Continues the body after its last pause. Returns true if it has ended.
  bool resume();

  // Called by the body: returns to the caller of start() or resume().
  void pause();

  bool isPaused() const { return isPaused_; }

 private:
  static void enter(unsigned high, unsigned low);
  void runBody();
  bool switchIn();
  void switchOut(bool last);

  MappedMemory stack_;
  std::function<void()> body_;
  ucontext_t inside_;
  ucontext_t outside_;
  bool isPaused_ = false;

  // Addresses that sanitizers need at each switch of the stack.
  [[maybe_unused]] void* insideFrames_ = nullptr;
  [[maybe_unused]] const void* outsideBottom_ = nullptr;
  [[maybe_unused]] size_t outsideBytes_ = 0;
  [[maybe_unused]] void* insideThread_ = nullptr;
  [[maybe_unused]] void* outsideThread_ = nullptr;
};

}  // namespace jccl
