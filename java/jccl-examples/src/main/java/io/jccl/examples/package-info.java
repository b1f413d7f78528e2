/**
 * Programs that use JCCL, to read and to copy. Each is one file with a main, started as several ranks by {@code jccl
 * run}; {@code docs/examples.md} explains them.
 */
package io.jccl.examples;
