#include "base/keep_mapped.h"

#include <dlfcn.h>

namespace jccl {

void keepMapped() {
  Dl_info own{};
  if (::dladdr(reinterpret_cast<const void*>(&keepMapped), &own) == 0) return;
  // RTLD_NOLOAD finds the loaded library by its name: its file has been deleted. The handle is never closed.
  (void)::dlopen(own.dli_fname, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD | RTLD_NODELETE);
}

}  // namespace jccl
