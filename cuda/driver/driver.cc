#include "cuda/driver/driver.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace jccl::driver {
namespace {

enum class Need : bool { Optional, Required };

struct NamedVersion {
  int cuda;
  // The number of the first driver for Linux that supports this version of CUDA, from the release notes of NVIDIA's
  // toolkit.
  const char* driver;
};
constexpr NamedVersion kDrivers[] = {{11040, "470"}, {11070, "515"}, {11080, "520"}, {12000, "525"}, {12010, "530"},
                                     {12020, "535"}, {12030, "545"}, {12040, "550"}, {12050, "555"}, {12060, "560"},
                                     {12080, "570"}, {12090, "575"}, {13000, "580"}};
constexpr int kOldest = 12000;  // the first version with cuGetProcAddress_v2 and cuStreamGetId

// Features that the library loses or replaces if the driver lacks a call or attribute of a CUDA version after kOldest.
constexpr const char* kMpsAttribute = "CU_DEVICE_ATTRIBUTE_MPS_ENABLED";
constexpr int kMpsVersion = 12030;
struct Without {
  const char* name;  // prefix of the names of all calls that the feature needs
  const char* what;
};
constexpr Without kWithout[] = {
    {"cuFuncLoad", "kernels are loaded by reading their attributes"},
    {"cuMulticast", "the switch between GPUs does not reduce (NVLS)"},
    {kMpsAttribute,
     "an MPS server is not recognised, and ranks of different processes on one GPU go through the host, unless "
     "JCCL_GPU_HOST_STAGING=off"},
};

const char* withoutOf(const char* name) {
  for (const Without& known : kWithout) {
    if (std::strncmp(known.name, name, std::strlen(known.name)) == 0) return known.what;
  }
  return "what needs it is refused";
}

template <class Function>
Status find(FindFunction find, const char* name, int version, Need need, Function& function) {
  function = reinterpret_cast<Function>(find(name, version));
  if (function != nullptr || need == Need::Optional) return Status::ok();
  return {Code::System, std::string("NVIDIA's driver has no ") + name + " of CUDA " + describeVersion(version) +
                            "; expected one of CUDA " + describeVersion(kOldest) + " or later: install a newer driver"};
}

// The number of hardware queues is 1 to 32, and 8 if the variable is unset. Source: CUDA C Programming Guide, CUDA
// environment variables.
constexpr const char* kQueuesVariable = "CUDA_DEVICE_MAX_CONNECTIONS";
constexpr int kDefaultQueues = 8, kMaxQueues = 32;

// Sets the number of hardware queues. The driver has no other interface for it, and reads the variable when it is
// initialised.
int chooseQueues(const Driver& driver) {
  const char* set = std::getenv(kQueuesVariable);  // NOLINT(concurrency-mt-unsafe)
  if (set != nullptr) {
    const int asked = std::atoi(set);
    return asked < 1 ? kDefaultQueues : std::min(asked, kMaxQueues);
  }
  int devices = 0;
  if (driver.deviceCount(&devices) != Result::NotInitialized) return kDefaultQueues;
  const std::string value = std::to_string(kMaxQueues);
  (void)::setenv(kQueuesVariable, value.c_str(), 0);  // NOLINT(concurrency-mt-unsafe)
  return kMaxQueues;
}

Driver open() {
  Driver made;
  FindFunction found = nullptr;
  made.status = openDriver(found);
#define JCCL_FIND_CALL(member, name, version, need, parameters) \
  if (made.status) made.status = find(found, name, version, Need::need, made.member);
  JCCL_DRIVER_CALLS(JCCL_FIND_CALL)
#undef JCCL_FIND_CALL
  if (!made.status) return made;
#define JCCL_NOTE_LACK(member, name, version, need, parameters) \
  if (made.member == nullptr) made.lacks.push_back({name, version, withoutOf(name)});
  JCCL_DRIVER_CALLS(JCCL_NOTE_LACK)
#undef JCCL_NOTE_LACK
  if (const Result result = made.driverVersion(&made.version); result != Result::Success) {
    made.status = {Code::System, "cuDriverGetVersion: CUresult=" + std::to_string(static_cast<int>(result))};
  } else if (made.version < kOldest) {
    made.status = {Code::System, "NVIDIA's driver is for CUDA " + describeVersion(made.version) + ", expected " +
                                     describeVersion(kOldest) + " or later: install a newer driver"};
  } else if (made.version < kMpsVersion) {
    made.lacks.push_back({kMpsAttribute, kMpsVersion, withoutOf(kMpsAttribute)});
  }
  return made;
}

struct CallName {
  const char* name;
  int version;
};
constexpr CallName kNames[] = {
#define JCCL_NAME_CALL(member, name, version, need, parameters) {name, version},
    JCCL_DRIVER_CALLS(JCCL_NAME_CALL)
#undef JCCL_NAME_CALL
};

Code codeOf(Result result) {
  switch (result) {
    case Result::OutOfMemory:
      return Code::NoMemory;
    case Result::InvalidValue:
    case Result::InvalidDevice:
    case Result::InvalidHandle:
    case Result::InvalidContext:
      return Code::Invalid;
    default:
      return Code::System;
  }
}

}  // namespace

const Driver& driver() {
  // Never destroyed: threads may call the driver until the process ends.
  static const auto* instance = [] {
    auto* made = new Driver(open());
    if (made->status) {
      made->hardwareQueues = chooseQueues(*made);
      const Result result = made->init(0);
      if (result != Result::Success) {
        const char* name = nullptr;
        (void)made->errorName(result, &name);
        made->status = {Code::System, std::string("cuInit: ") + (name == nullptr ? "unknown" : name) +
                                          "; check that this process sees a GPU (nvidia-smi, CUDA_VISIBLE_DEVICES)"};
      }
    }
    return made;
  }();
  return *instance;
}

Status missing(const char* name) {
  int version = 0;
  for (const CallName& call : kNames) {
    if (std::strcmp(call.name, name) == 0) version = call.version;
  }
  return {Code::System, std::string("NVIDIA's driver for CUDA ") + describeVersion(driver().version) + " has no " +
                            name + ", expected CUDA " + describeVersion(version) + " or later"};
}

Status statusOf(const char* call, Result result, const std::string& facts) {
  if (result == Result::Success) return Status::ok();
  const char *name = nullptr, *text = nullptr;
  (void)driver().errorName(result, &name);
  (void)driver().errorText(result, &text);
  return {codeOf(result), std::string(call) + ": " + (facts.empty() ? "" : facts + ", ") +
                              (name == nullptr ? "CUresult=" + std::to_string(static_cast<int>(result)) : name) +
                              (text == nullptr ? "" : " (" + std::string(text) + ")")};
}

std::string textOfVersion(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string describeVersion(int version) {
  std::string text = textOfVersion(version);
  for (const NamedVersion& named : kDrivers) {
    if (named.cuda == version) text += std::string(" (driver ") + named.driver + ")";
  }
  return text;
}

}  // namespace jccl::driver
