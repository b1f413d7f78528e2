# JCCL_SANITIZE builds everything with a sanitizer; a finding ends the test that caused it.
if(JCCL_SANITIZE STREQUAL "address")
  set(jccl_sanitizers address,undefined)
elseif(JCCL_SANITIZE STREQUAL "thread")
  set(jccl_sanitizers thread)
elseif(JCCL_SANITIZE)
  message(FATAL_ERROR "JCCL_SANITIZE=${JCCL_SANITIZE}: expected address, thread or nothing")
endif()

if(jccl_sanitizers)
  # Sanitized builds look for mistakes, not speed: -O1 compiles in a fraction of the time.
  set(CMAKE_CXX_FLAGS_RELEASE "-O1")
  add_compile_options(-fsanitize=${jccl_sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${jccl_sanitizers})
  # The code that sanitizers insert makes GCC warn of accesses out of bounds that cannot happen. So this build turns all
  # warnings off; the build without sanitizers has them on.
  add_compile_options(-w)
endif()
