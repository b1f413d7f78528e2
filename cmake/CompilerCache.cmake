# What makes compiling quicker and changes nothing of the product: ccache where it is installed, unless the user names a
# launcher (CMAKE_CXX_COMPILER_LAUNCHER, empty for none); else the standard library's headers are precompiled, which ccache
# does not support, and sources of tests are compiled several at once, after which ccache would find less.
find_program(JCCL_CCACHE ccache)
if(JCCL_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER AND NOT DEFINED ENV{CMAKE_CXX_COMPILER_LAUNCHER})
  set(CMAKE_CXX_COMPILER_LAUNCHER "${JCCL_CCACHE}")
endif()
if(CMAKE_CXX_COMPILER_LAUNCHER)
  set(jccl_precompile OFF)
else()
  set(jccl_precompile ON)
endif()
option(JCCL_PRECOMPILE "Compile the standard library's headers beforehand; clang-tidy cannot read them" ${jccl_precompile})

# jccl_precompile_headers(TARGET [HEADER]...): for the sources of a target but those that are compiled with options of their
# own. The first target precompiles the standard library's headers, and later ones use the result. A target that names further
# headers has a result of its own: its definitions may be part of them.
function(jccl_precompile_headers target)
  get_property(first GLOBAL PROPERTY jccl_precompiled)
  if(NOT JCCL_PRECOMPILE)
    return()
  elseif(first AND NOT ARGN)
    target_precompile_headers(${target} REUSE_FROM ${first})
    return()
  elseif(NOT ARGN)
    set_property(GLOBAL PROPERTY jccl_precompiled ${target})
  endif()
  target_precompile_headers(${target} PRIVATE <algorithm> <array> <atomic> <chrono> <cstdint> <cstring> <functional> <map>
    <memory> <mutex> <set> <span> <string> <thread> <utility> <vector> ${ARGN})
endfunction()

# jccl_compile_together(TARGET): eight sources at once, which parses their headers once; 40 % less processor time. Two of them
# cannot define the same name in the same unnamed namespace: each test has a namespace of its own name. For tests only: what
# the compiler makes of the product does not depend on the tools that are installed.
function(jccl_compile_together target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${JCCL_PRECOMPILE} UNITY_BUILD_BATCH_SIZE 8)
endfunction()
