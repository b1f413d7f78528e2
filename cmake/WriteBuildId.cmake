# Script of the target jccl_build_id_digest. Its variables: ROOT, HEADERS (may be empty), SOURCE and RESOURCE.
file(GLOB_RECURSE files RELATIVE "${ROOT}" "${ROOT}/native/*.cc" "${ROOT}/native/*.h" "${ROOT}/cuda/*.cc" "${ROOT}/cuda/*.cu"
  "${ROOT}/cuda/*.h")
list(FILTER files EXCLUDE REGEX "^(native/(lightgbm|test|bench|fuzz)|cuda/test)/")
list(SORT files)
set(digests "")
foreach(file IN LISTS files)
  file(SHA256 "${ROOT}/${file}" digest)
  string(APPEND digests "${file} ${digest}\n")
endforeach()
file(SHA256 "${ROOT}/CMakeLists.txt" digest)
string(APPEND digests "CMakeLists.txt ${digest}\n")
if(HEADERS)
  file(GLOB headers RELATIVE "${HEADERS}" "${HEADERS}/*.h")
  list(SORT headers)
  foreach(file IN LISTS headers)
    file(SHA256 "${HEADERS}/${file}" digest)
    string(APPEND digests "${file} ${digest}\n")
  endforeach()
endif()
string(SHA256 id "${digests}")
string(SUBSTRING "${id}" 0 32 id)

function(write_if_changed path text)
  if(EXISTS "${path}")
    file(READ "${path}" before)
    if(before STREQUAL text)
      return()
    endif()
  endif()
  file(WRITE "${path}" "${text}")
endfunction()

write_if_changed("${SOURCE}" "#include \"base/build_id.h\"

namespace jccl {

const char* buildId() { return \"${id}\"; }

}  // namespace jccl
")
write_if_changed("${RESOURCE}" "${id}\n")
