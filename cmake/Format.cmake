# Targets format and format-check: run clang-format on every native and CUDA source, if the tool is installed.
# scripts/check-tidy runs clang-tidy with the compile commands that are exported here.
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
file(GLOB_RECURSE JCCL_FORMATTED CONFIGURE_DEPENDS native/*.cc native/*.h cuda/*.cc cuda/*.h cuda/*.cu)

find_program(JCCL_CLANG_FORMAT NAMES clang-format-14 clang-format)
if(JCCL_CLANG_FORMAT)
  add_custom_target(format COMMAND ${JCCL_CLANG_FORMAT} -i ${JCCL_FORMATTED} VERBATIM)
  add_custom_target(format-check COMMAND ${JCCL_CLANG_FORMAT} --dry-run --Werror ${JCCL_FORMATTED} VERBATIM)
endif()
