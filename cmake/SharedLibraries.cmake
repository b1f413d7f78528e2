# Links the libraries of the jar so that they load on other hosts than this one: they contain the C++ library, export
# only native methods, and work with an older C library (native/glibc). If they do not, scripts/check-natives fails the
# build. A newer distribution's compiler can use a symbol of glibc that native/glibc does not replace. To build only for
# this host, set JCCL_GLIBC_FLOOR to the empty string.
set(JCCL_GLIBC_FLOOR "2.28" CACHE STRING "The oldest glibc that the libraries must load with; empty: not checked")
include(CheckSymbolExists)
check_symbol_exists(__GLIBC__ features.h JCCL_HAS_GLIBC)

# Avoids symbols that are unique in a process (STB_GNU_UNIQUE): a library that contains one can never be unloaded.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fno-gnu-unique>)
endif()
if(NOT JCCL_SANITIZE)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fstack-protector-strong>)
  # Removes the level of _FORTIFY_SOURCE that the compiler may predefine, and sets ours. No level works without
  # optimisation.
  add_compile_options("$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<NOT:$<CONFIG:Debug>>>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>")
endif()

# jccl_shared_library(TARGET [LIBRARY...]): links a library of the jar. LIBRARY names parts of older C libraries that
# the target needs in addition to libpthread and libdl.
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

# jccl_shared_library_beside(TARGET LIBRARY...): links a library whose exceptions pass through another project's
# library. Both libraries use the LIBRARY files of the host, such as its C++ library.
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
