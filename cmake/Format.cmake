# Targets format and format-check: clang-format over every native and CUDA source. Target tidy: clang-tidy over the library without
# its JNI part; tidy-jni: over that, which compiles only in Maven's build, where javac has made the headers. They exist only
# where the tools do.
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
file(GLOB_RECURSE JCCL_FORMATTED CONFIGURE_DEPENDS native/*.cc native/*.h cuda/*.cc cuda/*.h cuda/*.cu)
file(GLOB_RECURSE JCCL_TIDIED CONFIGURE_DEPENDS native/*.cc)
set(JCCL_TIDIED_JNI ${JCCL_TIDIED})
list(FILTER JCCL_TIDIED_JNI INCLUDE REGEX "/native/jni/")
list(FILTER JCCL_TIDIED EXCLUDE REGEX "/native/(jni|test|bench)/")

find_program(JCCL_CLANG_FORMAT NAMES clang-format-14 clang-format)
if(JCCL_CLANG_FORMAT)
  add_custom_target(format COMMAND ${JCCL_CLANG_FORMAT} -i ${JCCL_FORMATTED} VERBATIM)
  add_custom_target(format-check COMMAND ${JCCL_CLANG_FORMAT} --dry-run --Werror ${JCCL_FORMATTED} VERBATIM)
endif()

find_program(JCCL_CLANG_TIDY NAMES run-clang-tidy-14 run-clang-tidy)
if(JCCL_CLANG_TIDY)
  # reduce.cc asks the processor with GCC's builtin for a feature that clang 14 does not know.
  list(FILTER JCCL_TIDIED EXCLUDE REGEX "/reduce\\.cc$")
  add_custom_target(tidy COMMAND ${JCCL_CLANG_TIDY} -p ${CMAKE_BINARY_DIR} -quiet ${JCCL_TIDIED} VERBATIM)
  add_custom_target(tidy-jni COMMAND ${JCCL_CLANG_TIDY} -p ${CMAKE_BINARY_DIR} -quiet ${JCCL_TIDIED_JNI} VERBATIM)
endif()
