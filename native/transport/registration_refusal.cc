#include "transport/registration_refusal.h"

#include <cstdint>
#include <cstdio>
#include <string>

namespace jccl::refusal {
namespace {

constexpr const char* kUseHostBuffer = "use HostBuffer.allocate for it, which needs no registration";
constexpr const char* kRaiseThreshold =
    " and can be the memory of tensors, or start the process with MALLOC_MMAP_THRESHOLD_=1048576 in its environment, "
    "so that glibc maps large allocations by themselves, and register the whole allocation; then every allocation of "
    "1 MiB or more is mapped and cleared anew, which takes 0.4 ms for each MiB";

Status refuse(const void* address, size_t bytes, const std::string& why) {
  char hex[2 + 16 + 1];
  std::snprintf(hex, sizeof hex, "0x%llx", static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(address)));
  return Status::invalid("address=" + std::string(hex) + " bytes=" + std::to_string(bytes) + ": " + why);
}

}  // namespace

Status tooSmall(const void* address, size_t bytes) {
  return refuse(
      address, bytes,
      "expected at least " + std::to_string(kMinBytes) + " bytes, from where on it can pay; " + kUseHostBuffer);
}

Status registeredAlready(const void* address, size_t bytes) {
  return refuse(
      address, bytes,
      "this memory, or a part of it, is registered already, or memory of a HostBuffer; one registration serves all "
      "communicators of a process, so close the other one first, or use its buffer");
}

Status notAlone(const void* address, size_t bytes) {
  return refuse(
      address, bytes,
      std::string("expected the whole of an allocation that has its pages for itself, as glibc maps large ones; this "
                  "one shares them with other memory, is part of another, or has another allocator; ") +
          kUseHostBuffer + kRaiseThreshold);
}

Status notPrivate(const void* address, size_t bytes) {
  return refuse(address, bytes,
                std::string("expected private memory that may be written, of no file, in all of its pages; ") +
                    kUseHostBuffer + kRaiseThreshold);
}

Status unknownMapping(const void* address, size_t bytes) {
  return refuse(
      address, bytes,
      std::string("expected that /proc/self/maps can be read, which says whether memory has been freed; mount /proc "
                  "in the container and allow the process to read it, or ") +
          kUseHostBuffer);
}

}  // namespace jccl::refusal
