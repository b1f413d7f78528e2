#include "base/fiber.h"

#include <cstdint>
#include <utility>

#include "base/page.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace jccl {
namespace {

// An operation needs a few KiB. Only pages that are touched take memory.
constexpr size_t kStackBytes = 256 << 10;

}  // namespace

Fiber::~Fiber() {
#if defined(__SANITIZE_THREAD__)
  if (insideThread_ != nullptr) __tsan_destroy_fiber(insideThread_);
#endif
}

Status Fiber::open() {
  if (stack_) return Status::ok();
  if (Status mapped = MappedMemory::mapAnonymous(pageBytes() + kStackBytes, stack_); !mapped) return mapped;
  // A stack that overflows faults instead of overwriting other memory.
  if (::mprotect(stack_.base(), pageBytes(), PROT_NONE) != 0) {
    stack_ = {};
    return Status::system("mprotect", "bytes=" + std::to_string(pageBytes()));
  }
#if defined(__SANITIZE_THREAD__)
  insideThread_ = __tsan_create_fiber(0);
#endif
  return Status::ok();
}

bool Fiber::start(std::function<void()> body) {
  body_ = std::move(body);
  ::getcontext(&inside_);
  inside_.uc_stack.ss_sp = stack_.base() + pageBytes();
  inside_.uc_stack.ss_size = kStackBytes;
  inside_.uc_link = nullptr;
  const auto self = reinterpret_cast<uintptr_t>(this);
  // makecontext passes arguments as int
  ::makecontext(&inside_, reinterpret_cast<void (*)()>(&Fiber::enter), 2, static_cast<unsigned>(uint64_t{self} >> 32),
                static_cast<unsigned>(self));
  return switchIn();
}

bool Fiber::resume() { return switchIn(); }

void Fiber::pause() {
  isPaused_ = true;
  switchOut(false);
}

void Fiber::enter(unsigned high, unsigned low) {
  reinterpret_cast<Fiber*>(static_cast<uintptr_t>(uint64_t{high} << 32 | low))->runBody();
}

void Fiber::runBody() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &outsideBottom_, &outsideBytes_);
#endif
  body_();
  body_ = nullptr;
  switchOut(true);
}

bool Fiber::switchIn() {
  isPaused_ = false;
#if defined(__SANITIZE_ADDRESS__)
  void* frames = nullptr;
  __sanitizer_start_switch_fiber(&frames, stack_.base() + pageBytes(), kStackBytes);
#endif
#if defined(__SANITIZE_THREAD__)
  outsideThread_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(insideThread_, 0);
#endif
  ::swapcontext(&outside_, &inside_);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(frames, nullptr, nullptr);
#endif
  return !isPaused_;
}

void Fiber::switchOut(bool last) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(last ? nullptr : &insideFrames_, outsideBottom_, outsideBytes_);
#else
  static_cast<void>(last);
#endif
#if defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(outsideThread_, 0);
#endif
  ::swapcontext(&inside_, &outside_);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(insideFrames_, &outsideBottom_, &outsideBytes_);
#endif
}

}  // namespace jccl
