/** JMH benchmarks: what a call costs between the application and the engine. {@code scripts/benchmark-overhead} runs them. */
package io.jccl.benchmarks;
