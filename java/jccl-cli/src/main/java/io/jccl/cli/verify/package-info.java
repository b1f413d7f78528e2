/** What {@code gpu-verify} of a bundle runs: tests, kernels that go wrong on purpose, benchmarks, and the report. */
package io.jccl.cli.verify;
