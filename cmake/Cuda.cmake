# libjccl_cuda.so: the kernels and what launches them. Compiling them takes minutes, so AUTO does it only where they can
# run: with NVIDIA's driver. Nothing else depends on the library, which is opened at run time.
set(JCCL_CUDA "AUTO" CACHE STRING "Build libjccl_cuda.so: AUTO (where nvcc and a GPU's driver are), ON (or fail), OFF")
set_property(CACHE JCCL_CUDA PROPERTY STRINGS AUTO ON OFF)
# One architecture with its PTX builds fast and runs on all newer GPUs; a release names all.
set(JCCL_CUDA_ARCHITECTURES "80" CACHE STRING "GPU architectures, or all: 75 80 86 89 90 100 120 and PTX for later ones")

set(JCCL_HAS_CUDA OFF)
file(GLOB JCCL_GPU_DRIVER /proc/driver/nvidia/version /dev/nvidia[0-9]* /dev/nvidiactl /usr/lib/*/libcuda.so.1
  /usr/lib64/libcuda.so.1)
if(NOT JCCL_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "JCCL_CUDA=${JCCL_CUDA}, expected AUTO, ON or OFF")
elseif(JCCL_CUDA STREQUAL "OFF")
  set(JCCL_NO_CUDA "JCCL_CUDA=OFF")
elseif(JCCL_CUDA STREQUAL "AUTO" AND NOT JCCL_GPU_DRIVER)
  set(JCCL_NO_CUDA "no GPU's driver here; JCCL_CUDA=ON (with Maven -Djccl.cuda=ON) builds it without")
elseif(JCCL_SANITIZE)
  set(JCCL_NO_CUDA "JCCL_SANITIZE=${JCCL_SANITIZE} is for host code")
else()
  if(JCCL_CUDA_ARCHITECTURES STREQUAL "all")
    set(CMAKE_CUDA_ARCHITECTURES 75-real 80-real 86-real 89-real 90-real 100-real 120)
  else()
    set(CMAKE_CUDA_ARCHITECTURES ${JCCL_CUDA_ARCHITECTURES})
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    set(JCCL_HAS_CUDA ON)
  elseif(JCCL_CUDA STREQUAL "ON")
    message(FATAL_ERROR "JCCL_CUDA=ON, but no CUDA compiler was found; put nvcc on the PATH or set CMAKE_CUDA_COMPILER")
  else()
    set(JCCL_NO_CUDA "no CUDA compiler; put nvcc on the PATH to have it")
  endif()
endif()

if(JCCL_HAS_CUDA)
  enable_language(CUDA)
  # The compiler's report and the PTX are kept for scripts/check-kernels.
  set(JCCL_KERNEL_PTX "${CMAKE_BINARY_DIR}/kernels-ptx")
  file(MAKE_DIRECTORY "${JCCL_KERNEL_PTX}")
  set(JCCL_CUDA_FLAGS -Werror=all-warnings --compiler-options=-Wall,-Wextra,-Werror --resource-usage
    --compress-mode=size --keep --keep-dir=${JCCL_KERNEL_PTX})
  file(GLOB JCCL_KERNEL_SOURCES CONFIGURE_DEPENDS cuda/kernels/*.cu)
  add_library(jccl_kernels OBJECT ${JCCL_KERNEL_SOURCES})
  set_target_properties(jccl_kernels PROPERTIES CUDA_STANDARD 17 CUDA_STANDARD_REQUIRED ON CUDA_EXTENSIONS OFF
    CUDA_RUNTIME_LIBRARY Static CUDA_VISIBILITY_PRESET hidden
    CUDA_COMPILER_LAUNCHER "${CMAKE_CURRENT_SOURCE_DIR}/cmake/kernel-compiler")
  target_include_directories(jccl_kernels PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}" native)
  target_compile_options(jccl_kernels PRIVATE ${JCCL_CUDA_FLAGS})

  file(GLOB_RECURSE JCCL_CUDA_SOURCES CONFIGURE_DEPENDS cuda/kernels/*.cc cuda/runtime/*.cc)
  if(JCCL_JNI_HEADERS)
    file(GLOB JCCL_CUDA_JNI_SOURCES CONFIGURE_DEPENDS cuda/jni/*.cc)
    list(APPEND JCCL_CUDA_SOURCES ${JCCL_CUDA_JNI_SOURCES} ${JCCL_BUILD_ID_SOURCE})
  endif()
  add_library(jccl_cuda SHARED ${JCCL_CUDA_SOURCES} $<TARGET_OBJECTS:jccl_kernels>)
  add_dependencies(jccl_cuda jccl_build_id_digest)
  target_include_directories(jccl_cuda PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}" native ${JAVA_INCLUDE_PATH}
    ${JAVA_INCLUDE_PATH2} ${JCCL_JNI_HEADERS} ${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES})
  set_target_properties(jccl_cuda PROPERTIES CUDA_STANDARD 17 CUDA_RUNTIME_LIBRARY Static LINKER_LANGUAGE CUDA
    LIBRARY_OUTPUT_DIRECTORY "${JCCL_OUTPUT}")
  jccl_shared_library(jccl_cuda -l:librt.so.1)
  # A build of the library for the jar makes both: they are side by side there.
  if(TARGET jccl)
    add_dependencies(jccl jccl_cuda)
  endif()
else()
  message(STATUS "No libjccl_cuda.so, in the jar neither: ${JCCL_NO_CUDA}")
  file(REMOVE "${JCCL_OUTPUT}/libjccl_cuda.so")  # of an earlier build, which had a compiler
endif()
