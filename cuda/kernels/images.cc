// Embeds the images that nvcc has made into this library. The build sets JCCL_KERNEL_IMAGES, the images' folder;
// JCCL_KERNEL_LIST, a file with a line JCCL_IMAGE(NAME) for each image; and JCCL_CUDA_VERSION, the version of nvcc.
#include "cuda/kernels/image.h"

#define JCCL_IMAGE(name)                                      \
  asm(".pushsection .rodata.jccl_kernels, \"a\", @progbits\n" \
      ".balign 64\n"                                          \
      ".hidden jccl_image_" #name                             \
      "\n"                                                    \
      ".global jccl_image_" #name "\njccl_image_" #name       \
      ":\n"                                                   \
      ".incbin \"" JCCL_KERNEL_IMAGES "/" #name               \
      ".fatbin\"\n"                                           \
      ".popsection\n");                                       \
  extern "C" const unsigned char jccl_image_##name[];
#include JCCL_KERNEL_LIST
#undef JCCL_IMAGE

namespace jccl::device {

const void* imageOf(std::string_view file) {
  struct Image {
    std::string_view file;
    const void* image;
  };
#define JCCL_IMAGE(name) {#name, jccl_image_##name},
  static constexpr Image kImages[] = {
#include JCCL_KERNEL_LIST
  };
#undef JCCL_IMAGE
  for (const Image& one : kImages) {
    if (one.file == file) return one.image;
  }
  return nullptr;
}

int versionOfImages() { return JCCL_CUDA_VERSION; }

}  // namespace jccl::device
