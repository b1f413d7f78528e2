/**
 * The interface to the native library: loads it, declares every {@code native} method, and turns native errors into
 * exceptions. The natives of one class are in one file of {@code native/jni} or {@code cuda/jni}.
 */
package io.jccl.nativelib;
