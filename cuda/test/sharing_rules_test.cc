// Tests of the rules by which the emulated driver shares memory between processes. They are rules of a real driver.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "cuda/driver/driver.h"
#include "cuda/runtime/device_api.h"
#include "cuda/runtime/driver_values.h"
#include "cuda/runtime/virtual_memory.h"
#include "cuda/test/application.h"
#include "cuda/test/device/gpu_memory.h"
#include "cuda/test/left_memory.h"

namespace jccl::test::sharing_rules_test {
namespace {

using driver::driver;
using driver::Result;
using emulator::GpuMemory;
using Attribute = driver::PointerAttribute;

constexpr size_t kUnit = size_t{2} << 20;

class SharingRules : public ::testing::Test {
 protected:
  void SetUp() override { ::setenv("JCCL_EMULATED_SHARING", "descriptors,handles", 1); }
  void TearDown() override {
    ::unsetenv("JCCL_EMULATED_SHARING");
    expectNothingLeft();
  }
};

// A child process that waits for its parent after each step.
class Child {
 public:
  template <class Body>
  explicit Child(Body&& body) {
    if (::pipe(toChild_.data()) != 0 || ::pipe(toParent_.data()) != 0) std::abort();
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::_exit(body(*this) ? 0 : 1);
  }
  // Called by the child after a step: tells the parent, and waits for its goOn().
  void step() {
    char byte = 0;
    (void)!::write(toParent_[1], &byte, 1);
    (void)!::read(toChild_[0], &byte, 1);
  }
  // The parent calls these.
  void awaitStep() {
    char byte = 0;
    ASSERT_EQ(::read(toParent_[0], &byte, 1), 1);
  }
  void goOn() {
    char byte = 0;
    ASSERT_EQ(::write(toChild_[1], &byte, 1), 1);
  }
  int awaitEnd() {
    int status = 0;
    EXPECT_EQ(::waitpid(pid_, &status, 0), pid_);
    for (const int fd : {toChild_[0], toChild_[1], toParent_[0], toParent_[1]}) ::close(fd);
    return status;
  }

 private:
  std::array<int, 2> toChild_{}, toParent_{};
  pid_t pid_ = 0;
};

TEST_F(SharingRules, AHandleOpensAWholeAllocationOnceForEachContext) {
  void* memory = nullptr;
  driver::IpcHandle handle{};
  Application().here([&] { return device::allocate(kUnit + 5, memory); });
  auto* bytes = static_cast<uint8_t*>(memory);
  EXPECT_EQ(driver().ipcExport(&handle, device::addressOf(bytes + 512)), Result::InvalidValue) << "not its begin";
  ASSERT_EQ(driver().ipcExport(&handle, device::addressOf(bytes)), Result::Success);
  Application().here([&] {
    driver::Address own = 0;
    EXPECT_EQ(driver().ipcOpen(&own, handle, driver::kIpcLazyPeerAccess), Result::InvalidContext) << "of this process";
    return Status::ok();
  });
  bytes[kUnit] = 42;
  Child child([&](Child& self) {
    GpuMemory& gpus = GpuMemory::ofThisProcess();
    void *once = nullptr, *again = nullptr, *elsewhere = nullptr;
    bool right = gpus.openHandle(0, handle.bytes, once).isOk() && gpus.openHandle(0, handle.bytes, again).isOk() &&
                 gpus.openHandle(1, handle.bytes, elsewhere).isOk();
    right = right && once == again && once != elsewhere && once != memory && static_cast<uint8_t*>(once)[kUnit] == 42;
    static_cast<uint8_t*>(once)[kUnit] = 43;
    right = right && gpus.closeHandle(elsewhere) && !gpus.closeHandle(elsewhere);
    self.step();
    right = right && gpus.closeHandle(once) && static_cast<uint8_t*>(once)[kUnit] == 43;
    self.step();
    right = right && gpus.closeHandle(once) && !gpus.closeHandle(once);
    self.step();
    return right && !gpus.openHandle(0, handle.bytes, once).isOk();
  });
  const auto free = [&] {
    Result result = Result::Unknown;
    Application().here([&] {
      result = driver().memoryFree(device::addressOf(memory));
      return Status::ok();
    });
    return result;
  };
  child.awaitStep();
  EXPECT_EQ(bytes[kUnit], 43);
  EXPECT_EQ(free(), Result::InvalidValue) << "undefined while another process has it open";
  child.goOn();
  child.awaitStep();
  EXPECT_EQ(free(), Result::InvalidValue) << "open once more";
  child.goOn();
  child.awaitStep();
  EXPECT_EQ(free(), Result::Success);
  // Now the number of the freed memory's descriptor belongs to other memory.
  Application().here([&] { return device::allocate(kUnit, memory); });
  child.goOn();
  EXPECT_EQ(child.awaitEnd(), 0);
  EXPECT_EQ(free(), Result::Success);
}

TEST_F(SharingRules, OnlyMemoryOfCuMemAllocHasHandles) {
  device::DescriptorMemory memory;
  Application().here([&] { return device::allocateForDescriptors(kUnit, memory); });
  driver::IpcHandle handle{};
  int plain = -1;
  EXPECT_TRUE(device::ask(Attribute::LegacyIpcCapable, memory.address, plain));
  EXPECT_EQ(plain, 0);
  EXPECT_EQ(driver().ipcExport(&handle, device::addressOf(memory.address)), Result::InvalidValue);
  Application().here([&] { return device::unmapMemory(memory); });
}

// An address of mapped memory leads to its allocation, even if the handle was released. Every mapping has its own
// buffer id.
TEST_F(SharingRules, AnAllocationIsFoundByAnAddressAndExportedIfShareable) {
  uint64_t lastNumber = 0;
  for (const bool shareable : {true, false}) {
    void* memory = nullptr;
    Application(1).here([&] {
      const driver::AllocationProperties properties = device::allocationOn(1, shareable);
      driver::Allocation allocation = 0;
      EXPECT_EQ(driver().allocationCreate(&allocation, kUnit, &properties, 0), Result::Success);
      const Status status = device::mapAllocation(allocation, kUnit, kUnit, {device::userOn(1)}, "", memory);
      EXPECT_EQ(driver().allocationRelease(allocation), Result::Success);
      return status;
    });
    int device = -1, exported = -1;
    uint64_t number = 0;
    EXPECT_TRUE(device::ask(Attribute::DeviceOrdinal, memory, device));
    EXPECT_TRUE(device::ask(Attribute::BufferId, memory, number));
    EXPECT_EQ(device, 1);
    EXPECT_NE(number, lastNumber);
    lastNumber = number;
    driver::Allocation found = 0;
    auto* inside = static_cast<uint8_t*>(memory) + 4096;
    ASSERT_EQ(driver().allocationRetain(&found, inside), Result::Success);
    EXPECT_EQ(driver().allocationExport(&exported, found, driver::kPosixDescriptor, 0),
              shareable ? Result::Success : Result::InvalidValue);
    EXPECT_EQ(driver().allocationRelease(found), Result::Success);
    if (shareable) {
      device::DescriptorMemory imported;
      Application(0).here([&] { return device::importDescriptor(exported, kUnit, imported); });
      *inside = 17;
      EXPECT_EQ(static_cast<uint8_t*>(imported.address)[4096], 17);
      Application(0).here([&] { return device::unmapMemory(imported); });
      ::close(exported);
    }
    Application(1).here([&] { return device::unmapAllocation(memory, kUnit); });
  }
  void* plain = nullptr;
  Application().here([&] { return device::allocate(kUnit, plain); });
  driver::Allocation none = 0;
  EXPECT_EQ(driver().allocationRetain(&none, plain), Result::InvalidValue) << "of cuMemAlloc";
  Application().here([&] { return device::release(plain); });
}

}  // namespace
}  // namespace jccl::test::sharing_rules_test
