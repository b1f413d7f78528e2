# The native tests, and the fake hosts, adapters and GPUs that they and Java's tests use. Only jccl_native_test and
# jccl_cuda_emulated_test need GoogleTest; the target jccl_tests builds everything that can be built on this host.
include(cmake/GoogleTest.cmake)
enable_testing()
add_custom_target(jccl_tests)

# A library that tests load. A macro with the library's name in upper case contains its path for the native tests.
function(jccl_test_library name)
  add_library(${name} MODULE ${ARGN})
  target_include_directories(${name} PRIVATE native)
  add_dependencies(jccl_tests ${name})
endfunction()

# Management libraries that simulate hosts; Java's tests load them as well.
foreach(fake jccl_fake_nvml jccl_fake_nvml_old)
  jccl_test_library(${fake} native/test/nvml/fake_nvml.cc)
  target_link_libraries(${fake} PRIVATE ${CMAKE_DL_LIBS})
endforeach()
target_compile_definitions(jccl_fake_nvml_old PRIVATE FAKE_NVML_OLD)
set(jccl_loaded jccl_fake_nvml jccl_fake_nvml_old)
# A libibverbs with fake adapters.
jccl_test_library(jccl_fake_verbs native/test/verbs/fake_verbs.cc native/test/verbs/fake_transfers.cc)
list(APPEND jccl_loaded jccl_fake_verbs)
# The real libibverbs, with adapters that fail when a test asks them to.
find_library(JCCL_IBVERBS NAMES ibverbs libibverbs.so.1)
if(JCCL_IBVERBS)
  jccl_test_library(jccl_failing_verbs native/test/verbs/failing_verbs.cc)
  target_link_libraries(jccl_failing_verbs PRIVATE -Wl,--no-as-needed "${JCCL_IBVERBS}" ${CMAKE_DL_LIBS})
  list(APPEND jccl_loaded jccl_failing_verbs)
endif()
# Plug-ins, one library for each version of their interface. The objects contain the tables of all versions, and each
# library exports the tables of one version. Java's tests load them as well.
file(GLOB JCCL_TEST_PLUGINS CONFIGURE_DEPENDS native/test/plugin/*_plugin.cc native/*/test/*_plugin.cc)
set(jccl_plugin_kinds)
foreach(source IN LISTS JCCL_TEST_PLUGINS)
  string(REGEX REPLACE ".*/([a-z]+)_plugin\\.cc$" "\\1" kind "${source}")
  list(APPEND jccl_plugin_kinds ${kind})
  add_library(jccl_test_${kind}_plugin OBJECT ${source})
  target_include_directories(jccl_test_${kind}_plugin PRIVATE native)
  jccl_precompile_headers(jccl_test_${kind}_plugin)
endforeach()
# jccl_test_plugin_library(NAME VERSION KIND...): builds a library with plug-ins of these kinds, of which those of parts
# that are left out are missing.
function(jccl_test_plugin_library name version)
  set(exports "${CMAKE_BINARY_DIR}/plugin_v${version}.map")
  file(CONFIGURE OUTPUT "${exports}" CONTENT "{ global: nccl*_v@version@; jccl_test_*; local: *; };\n" @ONLY)
  set(objects)
  foreach(kind IN LISTS ARGN)
    if(kind IN_LIST jccl_plugin_kinds)
      list(APPEND objects $<TARGET_OBJECTS:jccl_test_${kind}_plugin>)
    endif()
  endforeach()
  jccl_test_library(${name} ${objects})
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX LINK_DEPENDS "${exports}")
  target_link_options(${name} PRIVATE "-Wl,--version-script=${exports}")
  target_link_libraries(${name} PRIVATE ${CMAKE_DL_LIBS})
endfunction()
foreach(version RANGE 6 12)
  jccl_test_plugin_library(jccl_test_plugin_v${version} ${version} socket)
  list(APPEND jccl_loaded jccl_test_plugin_v${version})
endforeach()
if(switch IN_LIST jccl_plugin_kinds)
  # A plug-in that simulates CollNet: its network reduces, in a process that simulates the switch.
  foreach(version RANGE 6 12)
    jccl_test_plugin_library(jccl_test_collnet_v${version} ${version} switch socket)
    list(APPEND jccl_reducing jccl_test_collnet_v${version})
  endforeach()
  add_executable(jccl_test_switch native/collnet/test/switch.cc)
  target_link_libraries(jccl_test_switch PRIVATE jccl_core)
  add_dependencies(jccl_tests jccl_test_switch)
  list(APPEND jccl_reducing jccl_test_switch)
endif()
# jccl_test_part_plugins(KIND FIRST LAST): builds the plug-ins of a part that can be left out.
macro(jccl_test_part_plugins kind first last)
  if(${kind} IN_LIST jccl_plugin_kinds)
    foreach(version RANGE ${first} ${last})
      jccl_test_plugin_library(jccl_test_${kind}_v${version} ${version} ${kind})
      list(APPEND jccl_loaded jccl_test_${kind}_v${version})
    endforeach()
  endif()
endmacro()
jccl_test_part_plugins(tuner 2 7)
jccl_test_part_plugins(profiler 1 7)
jccl_test_plugin_library(jccl_test_plugins 6 socket tuner profiler)
list(APPEND jccl_loaded ${jccl_reducing})
# A library that is linked like the libraries of the jar.
if(NOT JCCL_SANITIZE)
  jccl_test_library(jccl_portable native/test/glibc/portable.cc)
  jccl_shared_library(jccl_portable)
  list(APPEND jccl_loaded jccl_portable)
endif()
# A reduction function for Java's tests of user-defined reductions, a function that changes the environment of the test's
# process, and functions that count calls of native methods.
set(jccl_functions native/test/functions/environment.cc native/test/functions/scaled_sum.cc)
if(JCCL_JNI_HEADERS)
  list(APPEND jccl_functions native/test/functions/crossings.cc)
endif()
jccl_test_library(jccl_test_functions ${jccl_functions})
if(JCCL_JNI_HEADERS)
  target_include_directories(jccl_test_functions PRIVATE ${JAVA_INCLUDE_PATH} ${JAVA_INCLUDE_PATH2})
  target_link_libraries(jccl_test_functions PRIVATE ${CMAKE_DL_LIBS})
endif()
# A driver with fake GPUs, under the file name of NVIDIA's driver. Java's tests start programs whose library path
# contains it.
add_library(jccl_fake_cuda MODULE native/test/cuda/fake_cuda.cc)
set_target_properties(jccl_fake_cuda PROPERTIES OUTPUT_NAME cuda SUFFIX .so.1
  LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/fake-cuda")
add_dependencies(jccl_tests jccl_fake_cuda)

# jccl_add_tests(PREFIX TARGET SHARDS FILTER [property value]...): divides the tests that GoogleTest's FILTER selects in
# a program among a few entries of ctest. A process for each of a thousand tests would take longer than most of the
# tests.
function(jccl_add_tests prefix target shards filter)
  math(EXPR last "${shards} - 1")
  foreach(shard RANGE ${last})
    add_test(NAME ${prefix}-${shard} COMMAND ${target})
    set_tests_properties(${prefix}-${shard} PROPERTIES TIMEOUT 900 ${ARGN}
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${shard};GTEST_BRIEF=1;GTEST_FILTER=${filter}")
  endforeach()
endfunction()

# A GoogleTest program. The program's sources are compiled without optimisation, in half the time, except sources that
# set a level of optimisation themselves. The library that they test is optimised.
function(jccl_test_program target)
  add_executable(${target} ${ARGN})
  target_link_libraries(${target} PRIVATE jccl_core GTest::gtest GTest::gtest_main)
  jccl_precompile_headers(${target} <gtest/gtest.h>)
  jccl_compile_together(${target})
  target_compile_options(${target} PRIVATE -O0 -U_FORTIFY_SOURCE)
  add_dependencies(jccl_tests ${target})
endfunction()

if(JCCL_HAS_GTEST)
  file(GLOB JCCL_TEST_SOURCES CONFIGURE_DEPENDS native/test/*.cc native/*/test/*_test.cc)
  jccl_keep_own_instruction_sets(JCCL_TEST_SOURCES)
  jccl_instruction_sets(${JCCL_TEST_SOURCES})
  jccl_test_program(jccl_native_test ${JCCL_TEST_SOURCES})
  target_compile_definitions(jccl_native_test PRIVATE JCCL_FUZZ_CORPUS="${CMAKE_SOURCE_DIR}/native/fuzz/corpus")
  foreach(library IN LISTS jccl_loaded)
    string(TOUPPER ${library} name)
    target_compile_definitions(jccl_native_test PRIVATE ${name}="$<TARGET_FILE:${library}>")
    add_dependencies(jccl_native_test ${library})
  endforeach()
  # The native tests' threads and time limits need all cores. Tests that wait more than they compute may share the
  # cores: all tests under a sanitizer, and tests of plug-ins and hosts that do not answer.
  set(waiting "Faults/*:None/*:SinceV9/*:SinceV11/*:SocketStreamTest.*")
  if(JCCL_SANITIZE)
    jccl_add_tests(native jccl_native_test 6 "-AllKernels/*")
  else()
    jccl_add_tests(native-waiting jccl_native_test 2 "${waiting}")
    jccl_add_tests(native jccl_native_test 6 "-AllKernels/*:${waiting}" RUN_SERIAL TRUE)
  endif()
  # Each test of the reduction kernels has one thread: the thread sanitizer has nothing to find, and the tests may share
  # the cores.
  if(NOT JCCL_SANITIZE STREQUAL "thread")
    jccl_add_tests(native-kernels jccl_native_test 2 "AllKernels/*")
  endif()
elseif(JCCL_NO_GTEST)
  add_test(NAME native COMMAND "${CMAKE_COMMAND}" -E echo "${JCCL_NO_GTEST}")
  set_tests_properties(native PROPERTIES SKIP_REGULAR_EXPRESSION "^NATIVE TESTS SKIPPED")
endif()
include(cmake/EmulatedKernels.cmake)
if(JCCL_HAS_CUDA)
  add_dependencies(jccl_tests jccl_cuda)
  add_test(NAME cuda-kernel-budget
    COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/scripts/check-kernels" "${CMAKE_BINARY_DIR}")
  add_test(NAME cuda-kernel-check-finds
    COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/cuda/test/check_kernels_test" "${CMAKE_BINARY_DIR}")
else()
  add_test(NAME cuda-kernel-budget COMMAND "${CMAKE_COMMAND}" -E echo "skipped: ${JCCL_NO_CUDA}")
  set_tests_properties(cuda-kernel-budget PROPERTIES SKIP_REGULAR_EXPRESSION "^skipped: ")
endif()
