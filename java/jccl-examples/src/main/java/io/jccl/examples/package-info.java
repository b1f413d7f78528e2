/**
 * Programs that use JCCL, to read and to copy. Each is one file with a main, which {@code jccl run} starts as several
 * ranks. {@code docs/examples.md} explains them.
 */
package io.jccl.examples;
