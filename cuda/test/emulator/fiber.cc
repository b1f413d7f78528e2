#include "cuda/test/emulator/fiber.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <system_error>
#include <vector>

#include "base/page.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

extern "C" void jcclEmulatorSwitch(void** from, void* to);

// Pushes the registers that a call must preserve on the old stack, and pops them from the new one.
#if defined(__x86_64__)
constexpr int kSavedWords = 6;
constexpr int kReturnAddress = kSavedWords;  // index of the return address among the words on the stack
asm(R"(
  .text
  .p2align 4
  .type jcclEmulatorSwitch, @function
jcclEmulatorSwitch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  retq
  .size jcclEmulatorSwitch, .-jcclEmulatorSwitch
)");
#elif defined(__aarch64__)
constexpr int kSavedWords = 20;
constexpr int kReturnAddress = 11;  // x30
asm(R"(
  .text
  .p2align 4
  .type jcclEmulatorSwitch, %function
jcclEmulatorSwitch:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
  .size jcclEmulatorSwitch, .-jcclEmulatorSwitch
)");
#endif

namespace jccl::emulator {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr size_t kStackBytes = 256 << 10;
#else
constexpr size_t kStackBytes = 64 << 10;
#endif

class StackPool {
 public:
  ~StackPool() {
    for (const Stack& stack : free_) munmap(stack.bottom - pageBytes(), stack.size + pageBytes());
  }

  Stack take() {
    if (free_.empty()) return make();
    const Stack stack = free_.back();
    free_.pop_back();
    return stack;
  }

  void give(const Stack& stack) { free_.push_back(stack); }

 private:
  static Stack make() {
    void* memory = mmap(nullptr, kStackBytes + pageBytes(), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, pageBytes(), PROT_NONE) != 0) {
      throw std::system_error(errno, std::generic_category(), "no memory for the stack of an emulated thread");
    }
    return {static_cast<std::byte*>(memory) + pageBytes(), kStackBytes};
  }

  std::vector<Stack> free_;
};

thread_local StackPool stacks;

#if defined(__SANITIZE_ADDRESS__)
thread_local Fiber* cameFrom = nullptr;

void finishSwitch(void* notes) {
  const void* bottom = nullptr;
  size_t size = 0;
  __sanitizer_finish_switch_fiber(notes, &bottom, &size);
  // The bounds of the OS thread's own stack are known only after the first switch away from it.
  if (cameFrom != nullptr && cameFrom->stack.bottom == nullptr) {
    cameFrom->stack = {const_cast<std::byte*>(static_cast<const std::byte*>(bottom)), size};
  }
}
#endif

}  // namespace

void beginFiber(Fiber& fiber, void (*entry)()) {
  fiber.stack = stacks.take();
  fiber.sanitizer = nullptr;
  // Stacks begin at different offsets in their pages; otherwise all of them would compete for a few sets of the cache.
  static thread_local unsigned begun = 0;
  void** top = reinterpret_cast<void**>(fiber.stack.bottom + fiber.stack.size - begun++ % 32 * 128);
  // The words that the switch pops, and above them a null address for `entry` to return to.
  for (int i = 0; i < kSavedWords + 2; ++i) *--top = nullptr;
  top[kReturnAddress] = reinterpret_cast<void*>(entry);
  fiber.stackPointer = top;
}

void endFiber(Fiber& fiber) {
  if (fiber.stack.bottom == nullptr) return;
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(fiber.stack.bottom, fiber.stack.size);
#endif
  stacks.give(fiber.stack);
  fiber.stack = {};
}

void switchFiber(Fiber& from, Fiber& to, [[maybe_unused]] bool last) {
#if defined(__SANITIZE_ADDRESS__)
  cameFrom = &from;
  __sanitizer_start_switch_fiber(last ? nullptr : &from.sanitizer, to.stack.bottom, to.stack.size);
#endif
  jcclEmulatorSwitch(&from.stackPointer, to.stackPointer);
#if defined(__SANITIZE_ADDRESS__)
  finishSwitch(from.sanitizer);
#endif
}

void fiberBegun() {
#if defined(__SANITIZE_ADDRESS__)
  finishSwitch(nullptr);
#endif
}

}  // namespace jccl::emulator
