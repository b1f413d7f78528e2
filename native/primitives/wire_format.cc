#include "primitives/wire_format.h"

#include <iterator>

#include "primitives/wire_tables.h"

namespace jccl {

WireCodec wireCodec(WireFormat format, bool stochastic, DataType type) noexcept {
  return wireCodec(format, stochastic, type, bestIsa());
}

WireCodec wireCodec(WireFormat format, bool stochastic, DataType type, Isa isa) noexcept {
#if defined(__x86_64__)
  constexpr const WireTable* tables[] = {&kWirePortable, &kWireAvx2, &kWireAvx512};
#else
  constexpr const WireTable* tables[] = {&kWirePortable};
#endif
  const auto index = static_cast<unsigned>(format);
  const auto isaIndex = static_cast<unsigned>(isa);
  if (index >= kWireFormatCount || isaIndex >= std::size(tables)) return {};
  if (type != DataType::Float32 && type != DataType::Float64) return {};
  return tables[isaIndex]->codecs[index][stochastic ? 1 : 0][type == DataType::Float64 ? 1 : 0];
}

}  // namespace jccl
