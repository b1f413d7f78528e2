// Gives short names to Java constants, which javac -h writes into headers as macros, and checks layouts of rows.
#pragma once

#include "io_jccl_nativelib_Code.h"
#include "io_jccl_nativelib_Numbers.h"
#include "io_jccl_nativelib_Rows.h"

#define JCCL_CODE(name) io_jccl_nativelib_Code_##name
#define JCCL_NUMBER(name) io_jccl_nativelib_Numbers_##name
#define JCCL_ROW(name) io_jccl_nativelib_Rows_##name

namespace jccl::jni {

// Returns true if `places` contains each number from 0 to length - 1 exactly once.
template <int kCount>
constexpr bool isLayout(const long (&places)[kCount], long length) {
  if (length != kCount) return false;
  for (long place = 0; place < length; ++place) {
    int found = 0;
    for (const long one : places) found += one == place ? 1 : 0;
    if (found != 1) return false;
  }
  return true;
}

}  // namespace jccl::jni
