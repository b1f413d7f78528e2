/** {@code jccl trace}: compares and merges what the ranks of a job have dumped. */
package io.jccl.cli.trace;
