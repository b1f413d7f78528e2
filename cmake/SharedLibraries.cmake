# How the libraries of the jar are linked, so that they load on other hosts than this one: they contain the C++ library, export
# native methods only, and do with an older C library (native/glibc). scripts/check-natives fails the build where that is not
# so: with a newer distribution's compiler, native/glibc may lack a symbol. For use on the host that builds, turn it off.
set(JCCL_GLIBC_FLOOR "2.28" CACHE STRING "The oldest glibc that the libraries must load with; empty: not checked")
include(CheckSymbolExists)
check_symbol_exists(__GLIBC__ features.h JCCL_HAS_GLIBC)

# No symbol that is unique in a process: it would keep a library loaded for ever.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fno-gnu-unique>)
endif()
if(NOT JCCL_SANITIZE)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fstack-protector-strong>)
  # The compiler may have a level of its own, and without optimization none works.
  add_compile_options("$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<NOT:$<CONFIG:Debug>>>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>")
endif()

# jccl_shared_library(TARGET [LIBRARY...]): the libraries are those of older C libraries that it needs beside libpthread and libdl.
function(jccl_shared_library target)
  set(source "${CMAKE_CURRENT_SOURCE_DIR}/native/glibc/older.cc")
  target_sources(${target} PRIVATE "${source}")
  jccl_link_options(${target} -static-libgcc -static-libstdc++ -Wl,--exclude-libs,ALL)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${source}")
  if(JCCL_HAS_GLIBC)
    file(STRINGS "${source}" pins REGEX "^PIN\\(")
    list(TRANSFORM pins REPLACE "^PIN\\(([a-z_]+),.*" "-Wl,--wrap=\\1")
    target_link_options(${target} PRIVATE ${pins})
    target_link_libraries(${target} PRIVATE -Wl,--push-state,--no-as-needed -l:libpthread.so.0 -l:libdl.so.2 ${ARGN} -Wl,--pop-state)
  endif()
  jccl_check_native(${target})
endfunction()

# jccl_shared_library_beside(TARGET LIBRARY...): one that shares libraries of the host, such as the C++ library, with those of
# another project that its exceptions pass through.
function(jccl_shared_library_beside target)
  jccl_link_options(${target} -Wl,--as-needed)
  list(TRANSFORM ARGN PREPEND --with=)
  jccl_check_native(${target} ${ARGN})
endfunction()

function(jccl_link_options target)
  set(exports "${CMAKE_CURRENT_SOURCE_DIR}/native/exports.map")
  target_link_options(${target} PRIVATE ${ARGN} -Wl,-z,defs -Wl,-z,now -Wl,--gc-sections "-Wl,--version-script=${exports}")
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${exports}")
endfunction()

function(jccl_check_native target)
  if(JCCL_HAS_GLIBC AND JCCL_GLIBC_FLOOR)
    add_custom_command(TARGET ${target} POST_BUILD VERBATIM
      COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/scripts/check-natives" ${ARGN} ${JCCL_GLIBC_FLOOR} "$<TARGET_FILE:${target}>")
  endif()
endfunction()
