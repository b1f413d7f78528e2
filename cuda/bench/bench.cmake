# gpu_bench: measurements of GPUs without Java, which scripts/gpu-bundle packs; and gpu_bench_emulated, the same program on
# emulated GPUs. The folder can be left out.
file(GLOB JCCL_GPU_BENCH_SOURCES CONFIGURE_DEPENDS cuda/bench/*.cc)
list(FILTER JCCL_GPU_BENCH_SOURCES EXCLUDE REGEX "/(images|stamps_cuda|emulated_kernels|multicast_one)\\.cc$")
set(JCCL_GPU_BENCH_DEFINITIONS)
if(EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/cuda/nvls")
  list(APPEND JCCL_GPU_BENCH_SOURCES cuda/bench/multicast_one.cc)
  set(JCCL_GPU_BENCH_DEFINITIONS JCCL_BENCH_NVLS)
endif()

if(JCCL_HAS_CUDA)
  foreach(image IN LISTS JCCL_KERNEL_NAMES)
    add_custom_command(OUTPUT "${JCCL_BENCH_IMAGES}/${image}.fatbin" VERBATIM DEPENDS "${JCCL_KERNEL_IMAGES}/${image}.fatbin"
      COMMAND "${CMAKE_COMMAND}" -E copy "${JCCL_KERNEL_IMAGES}/${image}.fatbin" "${JCCL_BENCH_IMAGES}")
    list(APPEND JCCL_BENCH_NAMES ${image})
    list(APPEND JCCL_BENCH_FATBINS "${JCCL_BENCH_IMAGES}/${image}.fatbin")
  endforeach()
  jccl_embed_images(cuda/bench/images.cc "${JCCL_BENCH_IMAGES}" JCCL_BENCH)
  set(runtime ${JCCL_CUDA_SOURCES})
  list(FILTER runtime EXCLUDE REGEX "/cuda/(kernels/images|jni/[a-z_]+|[a-z]+/native_[a-z_]+)\\.cc$")
  list(REMOVE_ITEM runtime ${JCCL_BUILD_ID_SOURCE})
  add_custom_target(jccl_bench_kernels DEPENDS ${JCCL_BENCH_FATBINS})
  add_executable(gpu_bench EXCLUDE_FROM_ALL ${JCCL_GPU_BENCH_SOURCES} cuda/bench/images.cc cuda/bench/stamps_cuda.cc
    ${runtime})
  add_dependencies(gpu_bench jccl_kernels jccl_bench_kernels)
  target_include_directories(gpu_bench PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}" native)
  target_compile_definitions(gpu_bench PRIVATE ${JCCL_GPU_BENCH_DEFINITIONS})
  target_link_libraries(gpu_bench PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
  target_link_options(gpu_bench PRIVATE -static-libgcc -static-libstdc++)
endif()

if(TARGET jccl_emulated)
  add_executable(gpu_bench_emulated EXCLUDE_FROM_ALL ${JCCL_GPU_BENCH_SOURCES} cuda/bench/emulated_kernels.cc
    native/base/cycle_clock.cc native/base/limit_hint.cc)
  target_compile_definitions(gpu_bench_emulated PRIVATE ${JCCL_GPU_BENCH_DEFINITIONS})
  target_link_libraries(gpu_bench_emulated PRIVATE jccl_emulated jccl_cuda_runtime Threads::Threads ${CMAKE_DL_LIBS})
  add_dependencies(jccl_tests gpu_bench_emulated)
endif()
