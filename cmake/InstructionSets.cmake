# The library runs on every x86-64: code for newer instruction sets lives in files that end in the set's name and is
# chosen at run time.
function(jccl_instruction_sets)
  set(avx2 -mavx2 -mf16c -mfma)
  set(avx512 ${avx2} -mavx512f -mavx512bw -mavx512vl -mavx512dq)
  foreach(source IN LISTS ARGN)
    if(source MATCHES "_(avx2|avx512)\\.cc$")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${${CMAKE_MATCH_1}}")
    endif()
  endforeach()
endfunction()
