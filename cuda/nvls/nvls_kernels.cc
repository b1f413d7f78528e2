#include "cuda/nvls/nvls_kernels.h"

#include "cuda/runtime/device_api.h"

namespace jccl::device {
namespace {

// The last element classes, those of 8-bit floats, have no kernels. Devices below 9.0 have no multicast objects.
const AddedKernels kKernels("nvls", static_cast<int>(ElementClass::E4m3), 90);

}  // namespace

const KernelEntry& nvlsKernel(Collective collective, DataType type) { return kKernels.kernel(collective, type); }

Status hasNvlsKernels() { return hasKernel(nvlsKernel(Collective::AllReduce, DataType::Float32)); }

}  // namespace jccl::device
