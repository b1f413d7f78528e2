/**
 * The subcommand of {@code gpu-verify}: runs tests, kernels with deliberate errors and benchmarks, and writes a report.
 */
package io.jccl.cli.verify;
