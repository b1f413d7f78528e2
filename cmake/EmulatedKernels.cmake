# The CUDA kernels' own sources on the CPU, under the emulator of cuda/test/emulator; no part of it needs nvcc.
# Fibers share one OS thread, and ThreadSanitizer would have to be told of each: nothing there for it to find.
if(NOT JCCL_SANITIZE STREQUAL "thread")
  file(GLOB JCCL_EMULATED_SOURCES CONFIGURE_DEPENDS cuda/test/*.cc cuda/test/emulator/*.cc)
  add_executable(jccl_cuda_emulated_test ${JCCL_EMULATED_SOURCES})
  target_include_directories(jccl_cuda_emulated_test PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}" cuda/test/emulator_device)
  target_link_libraries(jccl_cuda_emulated_test PRIVATE jccl_core GTest::gtest GTest::gtest_main)
  add_dependencies(jccl_tests jccl_cuda_emulated_test)
  set(shards 4)
  math(EXPR last "${shards} - 1")
  foreach(shard RANGE ${last})
    add_test(NAME cuda-emulated-${shard} COMMAND jccl_cuda_emulated_test)
    set_tests_properties(cuda-emulated-${shard} PROPERTIES TIMEOUT 900
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${shard};GTEST_BRIEF=1")
  endforeach()
endif()
