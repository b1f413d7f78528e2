// Embeds the images that nvcc has made into this library. During the build JCCL_KERNEL_IMAGES is their folder, and
// JCCL_CUDA_VERSION is the version of nvcc.
#include "cuda/kernels/image.h"

#define JCCL_EMBED(symbol, file)                              \
  asm(".pushsection .rodata.jccl_kernels, \"a\", @progbits\n" \
      ".balign 64\n"                                          \
      ".hidden " #symbol                                      \
      "\n"                                                    \
      ".global " #symbol "\n" #symbol                         \
      ":\n"                                                   \
      ".incbin \"" JCCL_KERNEL_IMAGES "/" file                \
      ".fatbin\"\n"                                           \
      ".popsection\n");                                       \
  extern "C" const unsigned char symbol[]

JCCL_EMBED(jccl_image_ll, "collective_ll");
JCCL_EMBED(jccl_image_ll128, "collective_ll128");
JCCL_EMBED(jccl_image_simple, "collective_simple");
JCCL_EMBED(jccl_image_in_place, "in_place");
JCCL_EMBED(jccl_image_exchange, "exchange");
JCCL_EMBED(jccl_image_coll_net, "coll_net");
#ifdef JCCL_HAS_NVLS
JCCL_EMBED(jccl_image_nvls, "nvls");
#endif

namespace jccl::device {

const void* imageOf(KernelImage image) {
  switch (image) {
    case KernelImage::LL:
      return jccl_image_ll;
    case KernelImage::LL128:
      return jccl_image_ll128;
    case KernelImage::Simple:
      return jccl_image_simple;
    case KernelImage::InPlace:
      return jccl_image_in_place;
    case KernelImage::Exchange:
      return jccl_image_exchange;
    case KernelImage::CollNet:
      return jccl_image_coll_net;
    case KernelImage::Nvls:
#ifdef JCCL_HAS_NVLS
      return jccl_image_nvls;
#else
      break;
#endif
  }
  return nullptr;
}

int versionOfImages() { return JCCL_CUDA_VERSION; }

}  // namespace jccl::device
