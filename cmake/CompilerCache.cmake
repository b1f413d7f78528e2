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

# jccl_precompile_headers(TARGET [HEADER]...): those of the standard library and the headers named, for the sources of a
# target but those that are compiled with options of their own.
function(jccl_precompile_headers target)
  if(JCCL_PRECOMPILE)
    target_precompile_headers(${target} PRIVATE <algorithm> <array> <atomic> <chrono> <cstdint> <cstring> <functional> <map>
      <memory> <mutex> <set> <span> <string> <thread> <utility> <vector> ${ARGN})
  endif()
endfunction()
