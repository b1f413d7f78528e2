/**
 * The program that {@code scripts/gpu-verify} starts: runs tests, kernels with deliberate errors and benchmarks on a
 * host with a GPU, and writes a report.
 */
package io.jccl.verify;
