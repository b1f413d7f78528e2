/** {@code jccl perf}: times and checks one collective over a range of sizes. */
package io.jccl.cli.perf;
