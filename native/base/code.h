// Results of operations: the numbers that Java, the host and device code share.
#pragma once

namespace jccl {

// io.jccl.nativelib.Code has the same numbers; jni/numbers.cc compares them.
enum class Code : int {
  Ok = 0,
  Invalid = -1,    // an argument or the order of calls is wrong
  Timeout = -2,    // the deadline of an operation passed
  Aborted = -3,    // the communicator was aborted
  Mismatch = -4,   // a peer runs another operation, or the same one with other arguments
  Transport = -5,  // a connection failed
  System = -6,     // a system call failed
  Internal = -7,   // an invariant of the library does not hold
  NoMemory = -8,   // memory could not be allocated
  Paused = -9,     // an operation has not ended and can be resumed
};

}  // namespace jccl
