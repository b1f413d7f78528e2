# The build id ties the native library to the classes that call it. It is a digest of the native sources and of the
# headers that javac generates from native methods. Every build computes the id and rewrites it only if it changes. The
# library contains it, and so does the file build-id next to the library.
set(JCCL_BUILD_ID_SOURCE "${CMAKE_BINARY_DIR}/generated/build_id.cc")
add_custom_target(jccl_build_id_digest
  COMMAND ${CMAKE_COMMAND} "-DROOT=${CMAKE_CURRENT_SOURCE_DIR}" "-DHEADERS=${JCCL_JNI_HEADERS}"
    "-DSOURCE=${JCCL_BUILD_ID_SOURCE}" "-DRESOURCE=${JCCL_OUTPUT}/build-id"
    -P "${CMAKE_CURRENT_SOURCE_DIR}/cmake/WriteBuildId.cmake"
  BYPRODUCTS "${JCCL_BUILD_ID_SOURCE}"
  VERBATIM)
