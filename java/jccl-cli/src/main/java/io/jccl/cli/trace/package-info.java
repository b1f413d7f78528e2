/** {@code jccl trace}: compares the dumps of a job's ranks, and merges them into a timeline. */
package io.jccl.cli.trace;
