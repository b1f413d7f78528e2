#include "test/float8_vectors_impl.h"

namespace jccl::test {

constinit const Float8VectorsOfIsa kFloat8Avx2 = {vectorsOf<E4m3Layout>(), vectorsOf<E5m2Layout>()};

}  // namespace jccl::test
