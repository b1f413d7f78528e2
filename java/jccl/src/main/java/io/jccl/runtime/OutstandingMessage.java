package io.jccl.runtime;

/**
 * A call that sends, receives or probes messages, and is not over.
 *
 * @param call the call with rank, tag and length, for example {@code receive(source=any tag=7 bytes=8)}
 * @param begunNanos the time at which the call, or its current wait, began, by {@link System#nanoTime}
 * @param isAwaited true if a thread waits for the end
 */
record OutstandingMessage(String call, long begunNanos, boolean isAwaited) {}
