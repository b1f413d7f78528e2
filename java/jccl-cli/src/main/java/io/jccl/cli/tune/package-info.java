/** {@code jccl tune}: measures the constants of the cost model, and how good its choices are. */
package io.jccl.cli.tune;
