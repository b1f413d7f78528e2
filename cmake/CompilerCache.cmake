# Speeds up compilation without changing the product. Uses ccache if it is installed, unless the user names a launcher
# (CMAKE_CXX_COMPILER_LAUNCHER, empty for none). Otherwise precompiles the headers of the standard library, which ccache
# does not support, and compiles several test sources as one. With ccache, a change of one of these sources would
# compile all of them again.
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

# jccl_precompile_headers(TARGET [HEADER]...): precompiles headers for a target's sources, except sources with compile
# options of their own. The first target precompiles the headers of the standard library, and later targets use the
# result. A target that names further headers gets its own result, because the target's definitions may influence these
# headers.
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

# jccl_compile_together(TARGET): compiles eight sources as one, so that their headers are parsed once. This takes 40 %
# less processor time. Two of the sources cannot define the same name in the same unnamed namespace, so each test has a
# namespace of its own name. For tests only: the code of the product must not depend on the tools that are installed.
function(jccl_compile_together target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${JCCL_PRECOMPILE} UNITY_BUILD_BATCH_SIZE 8)
endfunction()
