// The kernels of libjccl_cuda.so: the kernel for each operation, and the list of all kernels. All kernels are loaded
// before the first launch: loading one later could wait for ever for a kernel that spins.
#pragma once

#include <string>
#include <vector>

#include "cuda/kernels/element_class.h"
#include "cuda/kernels/launch.h"

namespace jccl::device {

// A kernel: its image, its name in the image, and its description for messages.
struct KernelEntry {
  std::string name;    // "jccl_collective_ll_float32", "jccl_in_place_float32", "jccl_exchange", ...
  std::string image;   // name of its image: see imageOf()
  const char* family;  // "collective", "in_place", "exchange", "meet", "probe", or a family of AddedKernels
  Protocol protocol;
  ElementClass element;
  int capability = 0;  // lowest compute capability of a GPU that loads the kernel: 90 for 9.0; 0: any
};

// Returns a kernel whose only argument is a Launch.
const KernelEntry& collectiveKernel(Protocol protocol, Collective collective, DataType type);
// Returns a kernel whose only argument is an InPlaceLaunch.
const KernelEntry& inPlaceKernel(Collective collective, DataType type);
// Returns the kernel whose only argument is an ExchangeLaunch.
const KernelEntry& exchangeKernel();

// Returns the kernel whose only argument is a MeetLaunch.
const KernelEntry& meetKernel();

// Returns the kernel whose only argument is a ProbeLaunch.
const KernelEntry& probeKernel();

// All kernels, numbered from 0 to kernelCount() - 1. The added kernels come after all others.
int kernelCount();
const KernelEntry& kernelAt(int index);
// Returns the number of a kernel.
int numberOf(const KernelEntry& kernel);

// A family of kernels in a folder that can be left out. The folder has an object of namespace scope for the family,
// which adds the kernels when the library is loaded. So no other file names the folder.
class AddedKernels {
 public:
  // The kernels are "jccl_FAMILY_float32" and so on, for the first `elements` classes, in the image FAMILY. `family` is
  // a literal. Only GPUs of at least `capability` load them, 90 for 9.0. A build without such an architecture has no
  // image of them.
  explicit AddedKernels(const char* family, int elements, int capability = 0) noexcept;
  AddedKernels(const AddedKernels&) = delete;
  AddedKernels& operator=(const AddedKernels&) = delete;

  const KernelEntry& kernel(Collective collective, DataType type) const {
    return kernelAt(begin_ + static_cast<int>(elementClassOf(collective, type)));
  }
  // Appends the entries of this family, after those of the families that were added before.
  void append(std::vector<KernelEntry>& entries) const;

 private:
  const char* const family_;
  const int elements_, capability_;
  const AddedKernels* const before_;  // the family that was added before; null: none
  const int begin_;                   // number of the family's first kernel
};

}  // namespace jccl::device
