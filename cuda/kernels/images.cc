// Embeds the images that nvcc has made into this library. The build sets JCCL_KERNEL_IMAGES, the images' folder;
// JCCL_KERNEL_LIST, a file with a line JCCL_IMAGE(NAME) for each image, and JCCL_PTX(NAME) for each image of PTX for
// older drivers; and JCCL_CUDA_VERSION, the version of nvcc.
#include "cuda/kernels/image.h"

#include <initializer_list>

#define JCCL_EMBED(symbol, file)                              \
  asm(".pushsection .rodata.jccl_kernels, \"a\", @progbits\n" \
      ".balign 64\n"                                          \
      ".hidden " #symbol                                      \
      "\n"                                                    \
      ".global " #symbol "\n" #symbol                         \
      ":\n"                                                   \
      ".incbin \"" JCCL_KERNEL_IMAGES "/" file                \
      "\"\n"                                                  \
      ".popsection\n");                                       \
  extern "C" const unsigned char symbol[];
#define JCCL_IMAGE(name) JCCL_EMBED(jccl_image_##name, #name ".fatbin")
#define JCCL_PTX(name) JCCL_EMBED(jccl_ptx_##name, #name ".ptxbin")
#include JCCL_KERNEL_LIST
#undef JCCL_IMAGE
#undef JCCL_PTX
#undef JCCL_EMBED

namespace jccl::device {

namespace {

struct Image {
  std::string_view file;
  const void* image;
};

const void* find(std::initializer_list<Image> images, std::string_view file) {
  for (const Image& one : images) {
    if (one.file == file) return one.image;
  }
  return nullptr;
}

}  // namespace

const void* imageOf(std::string_view file) {
#define JCCL_IMAGE(name) {#name, jccl_image_##name},
#define JCCL_PTX(name)
  return find(
      {
#include JCCL_KERNEL_LIST
      },
      file);
#undef JCCL_IMAGE
#undef JCCL_PTX
}

const void* ptxOf(std::string_view file) {
#define JCCL_IMAGE(name)
#define JCCL_PTX(name) {#name, jccl_ptx_##name},
  return find(
      {
#include JCCL_KERNEL_LIST
      },
      file);
#undef JCCL_IMAGE
#undef JCCL_PTX
}

bool hasPtx() { return ptxOf("exchange") != nullptr; }

int versionOfImages() { return JCCL_CUDA_VERSION; }

}  // namespace jccl::device
