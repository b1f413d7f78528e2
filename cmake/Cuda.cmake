# libjccl_cuda.so: the kernels and the code that launches them. Compiling the kernels takes minutes, so AUTO does it
# only if they can run, which needs NVIDIA's driver. Nothing else depends on the library, which is opened at run time.
set(JCCL_CUDA "AUTO" CACHE STRING "Build libjccl_cuda.so: AUTO (where nvcc and a GPU's driver are), ON (or fail), OFF")
set_property(CACHE JCCL_CUDA PROPERTY STRINGS AUTO ON OFF)
# A build for one architecture is fast, and its PTX runs on all newer GPUs. A release is built for all architectures.
set(JCCL_CUDA_ARCHITECTURES "80" CACHE STRING "GPU architectures, or all: 75 80 86 89 90 100 110 120 and PTX for later ones")
# A driver loads the output of compilers of its own major version of CUDA and of earlier ones (CUDA Compatibility, minor
# version compatibility). Output of CUDA 12 needs driver 525 or later, output of CUDA 13 driver 580 or later. images.cc
# stores the version for the check at run time. For drivers from 525 on, builds with CUDA 13 also contain PTX of an old
# version in images of its own (.ptxbin), which these drivers compile.

# The runtime of a rank on a GPU, its natives, and the folders that can be left out (docs/architecture.md). Such a folder
# may have a file part.cmake; JCCL_LEAST_ARCHITECTURE_x in it is the lowest architecture for which x.cu compiles.
file(GLOB JCCL_RUNTIME_SOURCES CONFIGURE_DEPENDS cuda/*/*.cc)
list(FILTER JCCL_RUNTIME_SOURCES EXCLUDE REGEX "/cuda/(bench|driver|jni|kernels|test)/|/native_[a-z_]+\\.cc$")
file(GLOB JCCL_CUDA_JNI_SOURCES CONFIGURE_DEPENDS cuda/jni/*.cc cuda/*/native_*.cc)
file(GLOB JCCL_CUDA_PARTS CONFIGURE_DEPENDS cuda/*/part.cmake)
foreach(part IN LISTS JCCL_CUDA_PARTS)
  include("${part}")
endforeach()

set(JCCL_HAS_CUDA OFF)
file(GLOB JCCL_GPU_DRIVER /proc/driver/nvidia/version /dev/nvidia[0-9]* /dev/nvidiactl /usr/lib/*/libcuda.so.1
  /usr/lib64/libcuda.so.1)
if(NOT JCCL_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "JCCL_CUDA=${JCCL_CUDA}, expected AUTO, ON or OFF")
elseif(JCCL_CUDA STREQUAL "OFF")
  set(JCCL_NO_CUDA "JCCL_CUDA=OFF")
elseif(JCCL_CUDA STREQUAL "AUTO" AND NOT JCCL_GPU_DRIVER)
  set(JCCL_NO_CUDA "this host has no GPU driver; JCCL_CUDA=ON (Maven: -Djccl.cuda=ON) builds it all the same")
elseif(JCCL_SANITIZE)
  set(JCCL_NO_CUDA "JCCL_SANITIZE=${JCCL_SANITIZE} is for host code")
else()
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    set(JCCL_HAS_CUDA ON)
  elseif(JCCL_CUDA STREQUAL "ON")
    message(FATAL_ERROR "JCCL_CUDA=ON, but no CUDA compiler was found; put nvcc on the PATH or set CMAKE_CUDA_COMPILER")
  else()
    set(JCCL_NO_CUDA "no CUDA compiler; put nvcc on the PATH to build it")
  endif()
endif()

if(JCCL_HAS_CUDA)
  execute_process(COMMAND "${CMAKE_CUDA_COMPILER}" --version OUTPUT_VARIABLE version)
  if(NOT version MATCHES "release ([0-9]+)\\.([0-9]+)" OR CMAKE_MATCH_1 LESS 12)
    message(FATAL_ERROR "CUDA compiler=${CMAKE_CUDA_COMPILER}, expected one of CUDA 12 or later; it says: ${version}")
  endif()
  math(EXPR JCCL_CUDA_VERSION "${CMAKE_MATCH_1} * 1000 + ${CMAKE_MATCH_2} * 10")
  get_filename_component(bin "${CMAKE_CUDA_COMPILER}" DIRECTORY)
  find_program(JCCL_PTXAS ptxas HINTS "${bin}" REQUIRED)
  find_program(JCCL_FATBINARY fatbinary HINTS "${bin}" REQUIRED)
  # Lists the architectures to compile to SASS, and those to compile to PTX for GPUs without SASS. If the compiler does
  # not know 11.0, GPUs of 11.0 use the PTX of 10.0.
  set(JCCL_KERNEL_PTX)
  if(NOT JCCL_CUDA_ARCHITECTURES STREQUAL "all")
    set(JCCL_KERNEL_ARCHITECTURES ${JCCL_CUDA_ARCHITECTURES})
    list(GET JCCL_KERNEL_ARCHITECTURES -1 JCCL_KERNEL_PTX)
  elseif(JCCL_CUDA_VERSION GREATER_EQUAL 13000)
    set(JCCL_KERNEL_ARCHITECTURES 75 80 86 89 90 100 110 120)
    set(JCCL_KERNEL_PTX 120)
  elseif(JCCL_CUDA_VERSION GREATER_EQUAL 12080)
    set(JCCL_KERNEL_ARCHITECTURES 75 80 86 89 90 100 120)
    set(JCCL_KERNEL_PTX 100 120)
  else()
    set(JCCL_KERNEL_ARCHITECTURES 75 80 86 89 90)
    set(JCCL_KERNEL_PTX 90)
  endif()
  # The mode "size" of CUDA 13 means zstd. Drivers before 550 cannot read such images, but CUDA 13 needs 580 anyway.
  set(JCCL_KERNEL_COMPRESSION --compress-all)
  if(JCCL_CUDA_VERSION GREATER_EQUAL 13000)
    list(APPEND JCCL_KERNEL_COMPRESSION --compress-mode=size)
  endif()

  set(JCCL_OLD_DRIVERS_PTX)
  if(JCCL_CUDA_VERSION GREATER_EQUAL 13000)
    if(JCCL_CUDA_ARCHITECTURES STREQUAL "all")
      set(JCCL_OLD_DRIVERS_PTX 75 80 90)
    else()
      list(GET JCCL_KERNEL_ARCHITECTURES 0 JCCL_OLD_DRIVERS_PTX)
    endif()
  endif()

  # Each file of kernels becomes an image that the driver loads, with the code of all architectures. Nothing is linked
  # with NVIDIA's libraries. scripts/check-kernels reads files that the compiler leaves in the build folder:
  # NAME.sm_80.ptx, .cubin, and .usage, the assembler's report.
  set(JCCL_KERNEL_IMAGES "${CMAKE_BINARY_DIR}/kernels")
  set(JCCL_KERNEL_FLAGS -std=c++17 -O3 -Werror=all-warnings --compiler-options=-Wall,-Wextra,-Werror
    "-I${CMAKE_CURRENT_SOURCE_DIR}" "-I${CMAKE_CURRENT_SOURCE_DIR}/native")
  set(JCCL_MUTATED_IMAGES "${CMAKE_BINARY_DIR}/mutated-kernels")
  set(JCCL_BENCH_IMAGES "${CMAKE_BINARY_DIR}/bench-kernels")
  file(MAKE_DIRECTORY "${JCCL_KERNEL_IMAGES}" "${JCCL_MUTATED_IMAGES}" "${JCCL_BENCH_IMAGES}")
  file(GLOB JCCL_KERNEL_SOURCES CONFIGURE_DEPENDS cuda/*/*.cu cuda/test/mutated/*.cu)
  set(JCCL_KERNEL_FATBINS)
  set(JCCL_MUTATED_FATBINS)
  set(JCCL_BENCH_FATBINS)
  set(JCCL_KERNEL_NAMES)
  set(JCCL_KERNEL_PTX_NAMES)
  set(JCCL_MUTATED_NAMES)
  set(JCCL_BENCH_NAMES)
  foreach(source IN LISTS JCCL_KERNEL_SOURCES)
    get_filename_component(name ${source} NAME_WE)
    set(kind KERNEL)
    if(source MATCHES "/cuda/test/mutated/")
      set(kind MUTATED)
    elseif(source MATCHES "/cuda/bench/")
      set(kind BENCH)
    endif()
    set(architectures)
    foreach(number IN LISTS JCCL_KERNEL_ARCHITECTURES)
      if(NOT DEFINED JCCL_LEAST_ARCHITECTURE_${name} OR NOT number LESS JCCL_LEAST_ARCHITECTURE_${name})
        list(APPEND architectures ${number})
      endif()
    endforeach()
    if(NOT architectures)
      continue()
    endif()
    set(image "${JCCL_${kind}_IMAGES}/${name}.fatbin")
    set(parts)
    set(old)
    set(cubins)
    foreach(number IN LISTS architectures)
      set(part "${JCCL_${kind}_IMAGES}/${name}.sm_${number}")
      add_custom_command(OUTPUT "${part}.cubin" BYPRODUCTS "${part}.ptx" "${part}.usage" VERBATIM
        COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/cmake/kernel-compiler" "${CMAKE_CUDA_COMPILER}" "${JCCL_PTXAS}" ${number}
          "${part}" "${source}" ${JCCL_KERNEL_FLAGS}
        DEPENDS "${source}" cmake/kernel-compiler DEPFILE "${part}.d"
        COMMENT "Compiling the kernels of ${name}.cu for sm_${number}")
      list(APPEND cubins "${part}.cubin")
      list(APPEND parts "--image3=kind=elf,sm=${number},file=${part}.cubin")
      if(number IN_LIST JCCL_KERNEL_PTX)
        list(APPEND parts "--image3=kind=ptx,sm=${number},file=${part}.ptx")
      endif()
      if(number IN_LIST JCCL_OLD_DRIVERS_PTX)
        list(APPEND old "--image3=kind=ptx,sm=${number},file=${part}.ptx")
      endif()
    endforeach()
    add_custom_command(OUTPUT "${image}" VERBATIM DEPENDS ${cubins}
      COMMAND "${JCCL_FATBINARY}" -64 "--ident=${name}" "--create=${image}" ${JCCL_KERNEL_COMPRESSION} ${parts})
    list(APPEND JCCL_${kind}_FATBINS "${image}")
    list(APPEND JCCL_${kind}_NAMES ${name})
    if(old AND kind STREQUAL "KERNEL")
      # The mode "speed" means LZ4, which all these drivers read.
      set(image "${JCCL_KERNEL_IMAGES}/${name}.ptxbin")
      add_custom_command(OUTPUT "${image}" VERBATIM DEPENDS ${cubins}
        COMMAND "${JCCL_FATBINARY}" -64 "--ident=${name}" "--create=${image}" --compress-all --compress-mode=speed ${old})
      list(APPEND JCCL_KERNEL_FATBINS "${image}")
      list(APPEND JCCL_KERNEL_PTX_NAMES ${name})
    endif()
  endforeach()
  add_custom_target(jccl_kernels DEPENDS ${JCCL_KERNEL_FATBINS})

  # jccl_embed_images(SOURCE FOLDER VARIABLE): compiles SOURCE, which embeds images of a folder. VARIABLE_NAMES are the
  # names of the images, VARIABLE_PTX_NAMES those of PTX for older drivers, and VARIABLE_FATBINS their files.
  function(jccl_embed_images source folder variable)
    set(lines)
    foreach(name IN LISTS ${variable}_NAMES)
      string(APPEND lines "JCCL_IMAGE(${name})\n")
    endforeach()
    foreach(name IN LISTS ${variable}_PTX_NAMES)
      string(APPEND lines "JCCL_PTX(${name})\n")
    endforeach()
    file(CONFIGURE OUTPUT "${folder}/images.inc" CONTENT "${lines}" @ONLY)
    set_source_files_properties("${CMAKE_CURRENT_SOURCE_DIR}/${source}" PROPERTIES
      COMPILE_DEFINITIONS "JCCL_KERNEL_IMAGES=\"${folder}\";JCCL_KERNEL_LIST=\"${folder}/images.inc\";JCCL_CUDA_VERSION=${JCCL_CUDA_VERSION}"
      OBJECT_DEPENDS "${${variable}_FATBINS}")
  endfunction()

  file(GLOB JCCL_CUDA_SOURCES CONFIGURE_DEPENDS cuda/driver/*.cc cuda/kernels/*.cc native/base/cycle_clock.cc
    native/base/limit_hint.cc)
  list(APPEND JCCL_CUDA_SOURCES ${JCCL_RUNTIME_SOURCES})
  jccl_embed_images(cuda/kernels/images.cc "${JCCL_KERNEL_IMAGES}" JCCL_KERNEL)
  if(JCCL_JNI_HEADERS)
    list(APPEND JCCL_CUDA_SOURCES ${JCCL_CUDA_JNI_SOURCES} ${JCCL_BUILD_ID_SOURCE})
  endif()
  add_library(jccl_cuda SHARED ${JCCL_CUDA_SOURCES})
  add_dependencies(jccl_cuda jccl_build_id_digest jccl_kernels)
  target_include_directories(jccl_cuda PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}" native ${JAVA_INCLUDE_PATH}
    ${JAVA_INCLUDE_PATH2} ${JCCL_JNI_HEADERS})
  set_target_properties(jccl_cuda PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${JCCL_OUTPUT}")
  jccl_shared_library(jccl_cuda)

  # A variant of the library with kernels that fail on purpose, for scripts/gpu-bundle. Its other kernels are the real
  # ones. Kernels that only some architectures have are left out, so that operations use the kernels that fail.
  set(copied ${JCCL_KERNEL_NAMES})
  list(REMOVE_ITEM copied ${JCCL_MUTATED_NAMES})
  foreach(image IN LISTS copied)
    if(DEFINED JCCL_LEAST_ARCHITECTURE_${image})
      continue()
    endif()
    add_custom_command(OUTPUT "${JCCL_MUTATED_IMAGES}/${image}.fatbin" VERBATIM DEPENDS "${JCCL_KERNEL_IMAGES}/${image}.fatbin"
      COMMAND "${CMAKE_COMMAND}" -E copy "${JCCL_KERNEL_IMAGES}/${image}.fatbin" "${JCCL_MUTATED_IMAGES}")
    list(APPEND JCCL_MUTATED_NAMES ${image})
    list(APPEND JCCL_MUTATED_FATBINS "${JCCL_MUTATED_IMAGES}/${image}.fatbin")
  endforeach()
  set(mutated ${JCCL_CUDA_SOURCES})
  list(FILTER mutated EXCLUDE REGEX "/cuda/kernels/images\\.cc$")
  jccl_embed_images(cuda/test/mutated/images.cc "${JCCL_MUTATED_IMAGES}" JCCL_MUTATED)
  add_custom_target(jccl_mutated_kernels DEPENDS ${JCCL_MUTATED_FATBINS})
  add_library(jccl_cuda_mutated SHARED EXCLUDE_FROM_ALL ${mutated} cuda/test/mutated/images.cc)
  add_dependencies(jccl_cuda_mutated jccl_build_id_digest jccl_kernels jccl_mutated_kernels)
  target_include_directories(jccl_cuda_mutated PRIVATE $<TARGET_PROPERTY:jccl_cuda,INCLUDE_DIRECTORIES>)
  jccl_shared_library(jccl_cuda_mutated)
  # A build of libjccl.so for the jar also builds libjccl_cuda.so, because the jar contains both.
  if(TARGET jccl)
    add_dependencies(jccl jccl_cuda)
  endif()
else()
  message(STATUS "Building no libjccl_cuda.so, so the jar has none: ${JCCL_NO_CUDA}")
  file(REMOVE "${JCCL_OUTPUT}/libjccl_cuda.so")  # left by an earlier build that had nvcc
endif()
