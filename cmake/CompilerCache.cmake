# What makes compiling quicker and changes nothing of what is compiled: ccache where it is installed, unless the user names a
# launcher (CMAKE_CXX_COMPILER_LAUNCHER, empty for none); else the standard library's headers are precompiled, which ccache
# does not support.
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
