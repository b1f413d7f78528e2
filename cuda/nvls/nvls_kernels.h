// The kernels of NVLS, and the operations that they execute.
#pragma once

#include "base/status.h"
#include "cuda/kernels/registry.h"

namespace jccl::device {

// Returns true if an NVLS kernel executes the operation. The switch has no product, no minimum or maximum of floats
// that keeps NaNs, and no sums of types below 32 bits except 16-bit floats.
constexpr bool nvlsExecutes(const OperationCode& code) {
  switch (code.collective) {
    case Collective::AllGather:
      return true;
    case Collective::AllReduce:
    case Collective::ReduceScatter:
      break;
    default:
      return false;
  }
  switch (code.op) {
    case ReduceOp::Sum:
    case ReduceOp::Avg:
      return sizeOf(code.type) >= 4 || code.type == DataType::Float16 || code.type == DataType::Bfloat16;
    case ReduceOp::Min:
    case ReduceOp::Max: {
      const ElementClass element = elementClassOf(code.collective, code.type);
      return element == ElementClass::Int32 || element == ElementClass::Int64;
    }
    default:
      return code.op == ReduceOp::And || code.op == ReduceOp::Or || code.op == ReduceOp::Xor;
  }
}

// Returns a kernel whose only argument is an NvlsLaunch. nvlsExecutes() must be true for the operation.
const KernelEntry& nvlsKernel(Collective collective, DataType type);
// Returns an error with the reason if the current device has no NVLS kernels.
Status hasNvlsKernels();

}  // namespace jccl::device
