#include "cuda/test/device/emulated_driver.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <numeric>
#include <sstream>

#include "cuda/driver/driver.h"
#include "cuda/test/device/call_counts.h"
#include "cuda/test/device/gpu_memory.h"
#include "cuda/test/device/stream_captures.h"

namespace jccl::emulator {
namespace {

constexpr int kMaxContexts = 16;  // an entry of the access map has a bit for each context
constexpr size_t kDevices = 2;
constexpr KernelNeeds kUnknownNeeds{168, 16896};

struct Level {
  const char* name;
  int version;
};
constexpr Level kLevels[] = {{"525", 12000}, {"550", 12040}, {"580", 13000}};

const char* variable(const char* name) { return std::getenv(name); }

thread_local std::vector<driver::Context> contextsOfThread;

}  // namespace

EmulatedDriver& EmulatedDriver::ofThisProcess() {
  static auto* instance = new EmulatedDriver();
  return *instance;
}

EmulatedDriver::EmulatedDriver() : version_(kLevels[2].version), chip_(chipOfThisProcess()) {
  const char* level = variable("JCCL_EMULATED_DRIVER");
  for (const Level& known : kLevels) {
    if (level != nullptr && std::strcmp(level, known.name) == 0) version_ = known.version;
  }
  if (const char* container = variable("JCCL_EMULATED_CONTAINER")) {
    std::istringstream numbers(container);
    for (std::string one; std::getline(numbers, one, ',');) gpus_.push_back(std::stoi(one));
  } else {
    const char* count = variable("JCCL_EMULATED_GPUS");
    gpus_.resize(count == nullptr ? kDevices : static_cast<size_t>(std::atoi(count)));
    std::iota(gpus_.begin(), gpus_.end(), 0);
  }
  for (int device = 0; device < devices(); ++device) {
    contexts_.push_back(std::make_unique<driver::ContextOpaque>());
    contexts_.back()->number = contexts_.back()->device = device;
    contexts_.back()->active = false;
  }
  // The budget file has a line for each kernel and architecture: architecture, kernel, registers, bytes of shared
  // memory.
  std::ifstream budget(JCCL_KERNEL_BUDGET);
  const std::string architecture = "sm_" + std::to_string(chip_.capability);
  for (std::string line; std::getline(budget, line);) {
    std::istringstream words(line);
    std::string arch, kernel;
    KernelNeeds needs;
    if (words >> arch >> kernel >> needs.registers >> needs.sharedBytes && arch == architecture) {
      needs_.emplace_back(kernel, needs);
    }
  }
}

driver::Context EmulatedDriver::primaryOf(int device) {
  const std::lock_guard lock(mutex_);
  const driver::Context primary = contexts_[static_cast<size_t>(device)].get();
  if (primary->active) return primary;
  primary->active = true;
  const char* connections = variable("CUDA_DEVICE_MAX_CONNECTIONS");
  EmulatedGpu::ofThisProcess().setDevice(device, connections == nullptr ? 8 : std::atoi(connections),
                                         chip_.multiprocessors);
  return primary;
}

bool EmulatedDriver::isActive(int device) {
  const std::lock_guard lock(mutex_);
  return contexts_[static_cast<size_t>(device)]->active;
}

driver::Context EmulatedDriver::makeContext(int device) {
  (void)primaryOf(device);  // the first use of a device sets up its queues and multiprocessors
  const std::lock_guard lock(mutex_);
  driver::Context made = nullptr;
  for (const auto& context : contexts_) {
    if (!context->primary && !context->active) made = context.get();
  }
  if (made == nullptr) {
    if (contexts_.size() == kMaxContexts) return nullptr;
    contexts_.push_back(std::make_unique<driver::ContextOpaque>());
    made = contexts_.back().get();
    made->number = static_cast<int>(contexts_.size()) - 1;
  }
  made->device = device;
  made->primary = false;
  made->active = true;
  push(made);
  return made;
}

void EmulatedDriver::destroyContext(driver::Context context) {
  const std::lock_guard lock(mutex_);
  if (current() == context) (void)pop();
  context->active = false;
  GpuMemory::ofThisProcess().forget(context->number);
}

driver::Context EmulatedDriver::current() { return contextsOfThread.empty() ? nullptr : contextsOfThread.back(); }

void EmulatedDriver::push(driver::Context context) { contextsOfThread.push_back(context); }

driver::Context EmulatedDriver::pop() {
  const driver::Context top = current();
  if (top != nullptr) contextsOfThread.pop_back();
  return top;
}

driver::Context EmulatedDriver::numbered(int number) {
  const std::lock_guard lock(mutex_);
  return contexts_.at(static_cast<size_t>(number)).get();
}

uint16_t EmulatedDriver::contextsOf(int device) {
  const std::lock_guard lock(mutex_);
  uint16_t bits = 0;
  for (const auto& context : contexts_) {
    if (context->device == device) bits = static_cast<uint16_t>(bits | 1u << context->number);
  }
  return bits;
}

EmulatedGpu::Stream* EmulatedDriver::streamOf(driver::Stream handle, Result& result) {
  result = Result::Success;
  if (handle != nullptr && handle != reinterpret_cast<driver::Stream>(uintptr_t{1})) {
    return reinterpret_cast<EmulatedGpu::Stream*>(handle);
  }
  const driver::Context context = current();
  if (context == nullptr) {
    result = Result::InvalidContext;
    return nullptr;
  }
  const std::lock_guard lock(mutex_);
  if (context->legacy == nullptr) {
    context->legacy = reinterpret_cast<driver::Stream>(
        EmulatedGpu::ofThisProcess().createStream({context->device, context->number, false, true}));
  }
  return reinterpret_cast<EmulatedGpu::Stream*>(context->legacy);
}

KernelNeeds EmulatedDriver::needsOf(const device::KernelEntry& kernel) const {
  constexpr const char* kProtocols[] = {"ll", "ll128", "simple"};
  std::string name = kernel.family;
  if (name == "collective") name += std::string("/") + kProtocols[static_cast<int>(kernel.protocol)];
  if (name != "exchange" && name != "meet" && name != "probe") name += std::string("/") + nameOf(kernel.element);
  for (const auto& [known, needs] : needs_) {
    if (known == name) return needs;
  }
  return kUnknownNeeds;
}

Result EmulatedDriver::resultOf(const Status& status) {
  if (status) return Result::Success;
  switch (EmulatedGpu::ofThisProcess().failure()) {
    case GpuFailure::IllegalAddress:
      return Result::IllegalAddress;
    case GpuFailure::Kernel:
      return Result::LaunchFailed;
    case GpuFailure::Deadlock:
      return Result::Unknown;
    case GpuFailure::None:
      break;
  }
  switch (status.code()) {
    case Code::Invalid:
      return Result::InvalidHandle;
    case Code::NoMemory:
      return Result::OutOfMemory;
    default:
      return Result::NotSupported;
  }
}

Result EmulatedDriver::unsafe() { return StreamCaptures::ofThisProcess().allowUnsafe(); }

Result EmulatedDriver::waits(uint16_t contexts, const char* call) {
  if (const Result result = unsafe(); result != Result::Success) return result;
  std::set<int> devices;
  {
    EmulatedDriver& self = ofThisProcess();
    const std::lock_guard lock(self.mutex_);
    for (const auto& context : self.contexts_) {
      if ((contexts >> context->number & 1) != 0) devices.insert(context->device);
    }
  }
  return resultOf(EmulatedGpu::ofThisProcess().waitForKernels(devices, call));
}

Status allocateFromPool(driver::Context context, size_t bytes, void*& memory) {
  return GpuMemory::ofThisProcess().allocate(context->number, bytes, GpuMemory::Kind::Pool, memory);
}

Status allocateManaged(driver::Context context, size_t bytes, void*& memory) {
  return GpuMemory::ofThisProcess().allocate(context->number, bytes, GpuMemory::Kind::Managed, memory);
}

void* findCall(const char* name, int version) {
  struct Row {
    const char* name;
    int version;
    void* function;
  };
  enum Index : int {
#define JCCL_CALL_INDEX(member, name, version, need, parameters) member##Index,
    JCCL_DRIVER_CALLS(JCCL_CALL_INDEX)
#undef JCCL_CALL_INDEX
  };
  static const Row rows[] = {
#define JCCL_CALL_ROW(member, name, version, need, parameters) \
  {name, version, reinterpret_cast<void*>(&CountedCall<&calls::member, member##Index>::call)},
      JCCL_DRIVER_CALLS(JCCL_CALL_ROW)
#undef JCCL_CALL_ROW
  };
  for (const Row& row : rows) {
    if (std::strcmp(row.name, name) != 0) continue;
    const bool known = row.version <= EmulatedDriver::ofThisProcess().version() && row.version <= version;
    return known ? row.function : nullptr;
  }
  return nullptr;
}

}  // namespace jccl::emulator

namespace jccl::driver {

Status openDriver(FindFunction& find) {
  find = emulator::findCall;
  return Status::ok();
}

}  // namespace jccl::driver
