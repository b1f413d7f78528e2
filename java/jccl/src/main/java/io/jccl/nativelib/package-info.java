/**
 * The border to the native library: loading it, every {@code native} method, and native errors as exceptions. One class
 * here has its natives in one file of {@code native/jni}.
 */
package io.jccl.nativelib;
