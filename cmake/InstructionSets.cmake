# The library runs on every x86-64 and every 64-bit ARM processor. Code for newer instruction sets is in files whose
# names end in the set's name, and is chosen at run time.

# Removes sources for other processors from the variable `list`.
function(jccl_keep_own_instruction_sets list)
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
    list(FILTER ${list} EXCLUDE REGEX "_(avx2|avx512)\\.cc$")
    set(${list} "${${list}}" PARENT_SCOPE)
  endif()
endfunction()

function(jccl_instruction_sets)
  set(avx2 -mavx2 -mf16c -mfma)
  set(avx512 ${avx2} -mavx512f -mavx512bw -mavx512vl -mavx512dq)
  foreach(source IN LISTS ARGN)
    if(source MATCHES "_(avx2|avx512)\\.cc$")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${${CMAKE_MATCH_1}}" SKIP_PRECOMPILE_HEADERS ON)
    endif()
    if(source MATCHES "/wire_[a-z0-9]+\\.cc$")
      # Without fused multiply-add, all instruction sets round alike.
      set_property(SOURCE ${source} PROPERTY SKIP_UNITY_BUILD_INCLUSION ON)
      set_property(SOURCE ${source} PROPERTY SKIP_PRECOMPILE_HEADERS ON)
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS -ffp-contract=off)
    endif()
    if(source MATCHES "/reduce_[a-z0-9]+\\.cc$")
      # Compiles each of these sources alone, because one takes longer than eight other sources together.
      set_property(SOURCE ${source} PROPERTY SKIP_UNITY_BUILD_INCLUSION ON)
      # The kernels unroll their loops themselves: -O3 makes none of them faster and takes three times as long to
      # compile.
      if(NOT JCCL_SANITIZE)
        set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS -O2)
        set_property(SOURCE ${source} PROPERTY SKIP_PRECOMPILE_HEADERS ON)
      endif()
    endif()
  endforeach()
endfunction()
