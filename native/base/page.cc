#include "base/page.h"

#include <fcntl.h>

#include <cstdlib>

#include "base/fd.h"

namespace jccl {

size_t hugePageBytes() {
  static const size_t bytes = []() -> size_t {
    const UniqueFd file(::open("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", O_RDONLY | O_CLOEXEC));
    char text[32] = {};
    if (!file || ::read(file.get(), text, sizeof text - 1) <= 0) return 0;
    const size_t said = std::strtoull(text, nullptr, 10);
    return said > pageBytes() && (said & (said - 1)) == 0 ? said : 0;
  }();
  return bytes;
}

}  // namespace jccl
