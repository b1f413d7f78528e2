/**
 * JMH benchmarks of the cost of a call between application and engine. {@code scripts/benchmark-overhead} runs them.
 */
package io.jccl.benchmarks;
