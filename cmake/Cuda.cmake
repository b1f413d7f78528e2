# libjccl_cuda.so: the kernels and what launches them. Compiling them takes minutes, so AUTO does it only where they can
# run: with NVIDIA's driver. Nothing else depends on the library, which is opened at run time.
set(JCCL_CUDA "AUTO" CACHE STRING "Build libjccl_cuda.so: AUTO (where nvcc and a GPU's driver are), ON (or fail), OFF")
set_property(CACHE JCCL_CUDA PROPERTY STRINGS AUTO ON OFF)
# One architecture with its PTX builds fast and runs on all newer GPUs; a release names all.
set(JCCL_CUDA_ARCHITECTURES "80" CACHE STRING "GPU architectures, or all: 75 80 86 89 90 100 110 120 and PTX for later ones")

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
    set(JCCL_KERNEL_ARCHITECTURES 75-real 80-real 86-real 89-real 90-real 100-real 110-real 120)
  else()
    set(JCCL_KERNEL_ARCHITECTURES ${JCCL_CUDA_ARCHITECTURES})
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
  # Each file of kernels becomes an image that the driver loads, with the code of all architectures. Nothing is linked with
  # NVIDIA's libraries.
  set(JCCL_KERNEL_IMAGES "${CMAKE_BINARY_DIR}/kernels")
  set(JCCL_KERNEL_FLAGS -std=c++17 -O3 -Werror=all-warnings --compiler-options=-Wall,-Wextra,-Werror --resource-usage
    --compress-mode=size "-I${CMAKE_CURRENT_SOURCE_DIR}" "-I${CMAKE_CURRENT_SOURCE_DIR}/native")
  foreach(architecture IN LISTS JCCL_KERNEL_ARCHITECTURES)
    string(REPLACE "-real" "" number ${architecture})
    list(APPEND JCCL_KERNEL_FLAGS -gencode=arch=compute_${number},code=sm_${number})
    if(number STREQUAL architecture)
      list(APPEND JCCL_KERNEL_FLAGS -gencode=arch=compute_${number},code=compute_${number})
    endif()
  endforeach()
  # The compiler's report and the PTX are kept for scripts/check-kernels.
  file(MAKE_DIRECTORY "${JCCL_KERNEL_IMAGES}/ptx")
  file(GLOB JCCL_KERNEL_SOURCES CONFIGURE_DEPENDS cuda/kernels/*.cu)
  set(JCCL_KERNEL_FATBINS)
  foreach(source IN LISTS JCCL_KERNEL_SOURCES)
    get_filename_component(name ${source} NAME_WE)
    set(image "${JCCL_KERNEL_IMAGES}/${name}.fatbin")
    add_custom_command(OUTPUT "${image}" BYPRODUCTS "${image}.usage" VERBATIM
      COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/cmake/kernel-compiler" "${CMAKE_CUDA_COMPILER}" ${JCCL_KERNEL_FLAGS}
        --keep "--keep-dir=${JCCL_KERNEL_IMAGES}/ptx" -MD -MF "${image}.d" -MT "${image}" -fatbin -o "${image}" "${source}"
      DEPENDS "${source}" cmake/kernel-compiler DEPFILE "${image}.d" COMMENT "Compiling the kernels of ${name}.cu")
    list(APPEND JCCL_KERNEL_FATBINS "${image}")
  endforeach()
  add_custom_target(jccl_kernels DEPENDS ${JCCL_KERNEL_FATBINS})

  file(GLOB_RECURSE JCCL_CUDA_SOURCES CONFIGURE_DEPENDS cuda/driver/*.cc cuda/kernels/*.cc cuda/runtime/*.cc)
  set_source_files_properties("${CMAKE_CURRENT_SOURCE_DIR}/cuda/kernels/images.cc" PROPERTIES
    COMPILE_DEFINITIONS "JCCL_KERNEL_IMAGES=\"${JCCL_KERNEL_IMAGES}\"" OBJECT_DEPENDS "${JCCL_KERNEL_FATBINS}")
  if(JCCL_JNI_HEADERS)
    file(GLOB JCCL_CUDA_JNI_SOURCES CONFIGURE_DEPENDS cuda/jni/*.cc)
    list(APPEND JCCL_CUDA_SOURCES ${JCCL_CUDA_JNI_SOURCES} ${JCCL_BUILD_ID_SOURCE})
  endif()
  add_library(jccl_cuda SHARED ${JCCL_CUDA_SOURCES})
  add_dependencies(jccl_cuda jccl_build_id_digest jccl_kernels)
  target_include_directories(jccl_cuda PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}" native ${JAVA_INCLUDE_PATH}
    ${JAVA_INCLUDE_PATH2} ${JCCL_JNI_HEADERS})
  set_target_properties(jccl_cuda PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${JCCL_OUTPUT}")
  jccl_shared_library(jccl_cuda)
  # A build of the library for the jar makes both: they are side by side there.
  if(TARGET jccl)
    add_dependencies(jccl jccl_cuda)
  endif()
else()
  message(STATUS "No libjccl_cuda.so, in the jar neither: ${JCCL_NO_CUDA}")
  file(REMOVE "${JCCL_OUTPUT}/libjccl_cuda.so")  # of an earlier build, which had a compiler
endif()
