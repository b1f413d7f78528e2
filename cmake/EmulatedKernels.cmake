# Compiles the sources of the CUDA kernels for the CPU, under the emulator of cuda/test/emulator, and the runtime over
# emulated GPUs. Nothing needs nvcc. Left out under ThreadSanitizer: the emulator runs threads as fibers of one OS
# thread, so the sanitizer would need annotations for each fiber and would find no data races.
if(NOT JCCL_SANITIZE STREQUAL "thread")
  # Objects that the tests and the libraries for Java's tests share.
  add_library(jccl_cuda_runtime OBJECT ${JCCL_RUNTIME_SOURCES} cuda/driver/driver.cc cuda/kernels/registry.cc
    cuda/test/device/emulated_images.cc)
  target_include_directories(jccl_cuda_runtime PUBLIC "${CMAKE_CURRENT_SOURCE_DIR}" native)
  jccl_precompile_headers(jccl_cuda_runtime)
  jccl_compile_together(jccl_cuda_runtime)
  file(GLOB JCCL_EMULATED_SOURCES CONFIGURE_DEPENDS cuda/test/emulated_*.cc cuda/*/test/emulated_*.cc
    cuda/test/device/*.cc cuda/test/emulator/*.cc)
  list(FILTER JCCL_EMULATED_SOURCES EXCLUDE REGEX "/emulated_images\\.cc$")
  add_library(jccl_emulated OBJECT ${JCCL_EMULATED_SOURCES})
  file(GLOB JCCL_EMULATOR_HEADERS CONFIGURE_DEPENDS cuda/test/emulator_device cuda/*/test/emulator_device)
  target_include_directories(jccl_emulated PUBLIC "${CMAKE_CURRENT_SOURCE_DIR}" native ${JCCL_EMULATOR_HEADERS})
  jccl_precompile_headers(jccl_emulated)
  target_compile_definitions(jccl_emulated PRIVATE
    JCCL_KERNEL_BUDGET="${CMAKE_CURRENT_SOURCE_DIR}/cuda/kernels/budget.txt")

  if(JCCL_HAS_GTEST)
    file(GLOB JCCL_EMULATED_TESTS CONFIGURE_DEPENDS cuda/test/*_test.cc cuda/*/test/*_test.cc)
    jccl_test_program(jccl_cuda_emulated_test ${JCCL_EMULATED_TESTS} native/test/faulty_net.cc)
    target_link_libraries(jccl_cuda_emulated_test PRIVATE jccl_emulated jccl_cuda_runtime)
    foreach(library IN LISTS jccl_reducing)
      string(TOUPPER ${library} name)
      target_compile_definitions(jccl_cuda_emulated_test PRIVATE ${name}="$<TARGET_FILE:${library}>")
      add_dependencies(jccl_cuda_emulated_test ${library})
    endforeach()
    set_source_files_properties(cuda/test/transactions_test.cc PROPERTIES COMPILE_DEFINITIONS
      JCCL_TRANSACTIONS="${CMAKE_CURRENT_SOURCE_DIR}/cuda/test/transactions.txt")
    # If the CUDA toolkit is installed, a test compares the toolkit's declarations of the driver's interface with ours.
    find_program(JCCL_NVCC nvcc)
    if(JCCL_NVCC)
      get_filename_component(nvcc "${JCCL_NVCC}" REALPATH)
      get_filename_component(bin "${nvcc}" DIRECTORY)
    endif()
    find_path(JCCL_CUDA_HEADERS cudaTypedefs.h HINTS "${bin}/../include" PATHS /usr/local/cuda/include)
    if(JCCL_CUDA_HEADERS)
      set_source_files_properties(cuda/test/driver_api_test.cc PROPERTIES COMPILE_DEFINITIONS JCCL_HAS_CUDA_HEADERS
        COMPILE_OPTIONS "-isystem;${JCCL_CUDA_HEADERS}")
    endif()
    # These tests have one thread each and may share the cores.
    jccl_add_tests(cuda-emulated jccl_cuda_emulated_test 4 "*")
  endif()

  # Builds two driver libraries, each under the file name of NVIDIA's driver: the emulated driver, and one that is too
  # old. A test program runs JCCL's code that opens a driver, once for each pair of a driver version and a CUDA version
  # of the kernels. Sanitized builds leave this out. They check the same code in jccl_cuda_emulated_test, and sanitizers
  # would mistake two copies of the code in one process for one.
  if(NOT JCCL_SANITIZE)
    add_library(jccl_emulated_libcuda MODULE cuda/test/libcuda/exports.cc native/base/cycle_clock.cc native/base/limit_hint.cc)
    target_link_libraries(jccl_emulated_libcuda PRIVATE jccl_emulated jccl_cuda_runtime Threads::Threads)
    target_link_options(jccl_emulated_libcuda PRIVATE -static-libgcc -static-libstdc++ -Wl,--exclude-libs,ALL -Wl,-z,defs)
    add_library(jccl_too_old_libcuda MODULE cuda/test/libcuda/too_old.cc)
    foreach(library jccl_emulated_libcuda jccl_too_old_libcuda)
      set_target_properties(${library} PROPERTIES OUTPUT_NAME cuda SUFFIX .so.1
        LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/${library}")
      add_dependencies(jccl_tests ${library})
    endforeach()
    if(JCCL_HAS_GTEST)
      file(GLOB JCCL_DRIVER_SOURCES CONFIGURE_DEPENDS cuda/driver/*.cc)
      list(FILTER JCCL_DRIVER_SOURCES EXCLUDE REGEX "/driver/driver\\.cc$")
      jccl_test_program(jccl_cuda_driver_test cuda/test/libcuda/driver_levels_test.cc ${JCCL_DRIVER_SOURCES})
      target_link_libraries(jccl_cuda_driver_test PRIVATE jccl_cuda_runtime)
      add_dependencies(jccl_cuda_driver_test jccl_emulated_libcuda jccl_too_old_libcuda)
      target_compile_definitions(jccl_cuda_driver_test PRIVATE
        JCCL_VERSIONS_PAGE="${CMAKE_CURRENT_SOURCE_DIR}/docs/versions.md")
      foreach(level 470 525 550 580)
        set(library jccl_emulated_libcuda)
        if(level EQUAL 470)
          set(library jccl_too_old_libcuda)
        endif()
        foreach(kernels 12090 13000 13000-without-ptx)
          set(ptx on)
          if(kernels MATCHES "without-ptx")
            set(ptx off)
          endif()
          string(REGEX MATCH "^[0-9]+" version ${kernels})
          add_test(NAME cuda-driver-${level}-${kernels} COMMAND jccl_cuda_driver_test)
          set(environment "LD_LIBRARY_PATH=${CMAKE_BINARY_DIR}/${library};JCCL_EMULATED_DRIVER=${level}"
            "JCCL_EMULATED_KERNELS=${version};JCCL_EMULATED_PTX=${ptx};JCCL_EMULATED_MPS=1;GTEST_BRIEF=1")
          set_tests_properties(cuda-driver-${level}-${kernels} PROPERTIES TIMEOUT 300 ENVIRONMENT "${environment}")
        endforeach()
      endforeach()
    endif()
  endif()

  # The libraries that Java's tests load instead of libjccl_cuda.so and libjccl_cuda_mutated.so.
  if(JCCL_JNI_HEADERS)
    add_library(jccl_cuda_jni OBJECT ${JCCL_CUDA_JNI_SOURCES} ${JCCL_BUILD_ID_SOURCE} native/base/cycle_clock.cc
      native/base/limit_hint.cc)
    add_dependencies(jccl_cuda_jni jccl_build_id_digest)
    target_include_directories(jccl_cuda_jni PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}" native ${JAVA_INCLUDE_PATH}
      ${JAVA_INCLUDE_PATH2} ${JCCL_JNI_HEADERS})
    jccl_precompile_headers(jccl_cuda_jni)
    add_library(jccl_cuda_emulated MODULE)
    add_library(jccl_cuda_emulated_mutated MODULE cuda/test/mutated/emulated.cc)
    foreach(library jccl_cuda_emulated jccl_cuda_emulated_mutated)
      set_target_properties(${library} PROPERTIES LINKER_LANGUAGE CXX)
      add_dependencies(jccl_tests ${library})
      target_link_libraries(${library} PRIVATE jccl_cuda_jni jccl_emulated jccl_cuda_runtime Threads::Threads)
      target_link_options(${library} PRIVATE -static-libgcc -static-libstdc++ -Wl,--exclude-libs,ALL -Wl,-z,defs)
    endforeach()
  endif()
endif()
