/** {@code jccl tune}: measures the constants of the cost model, and how good the choices are that it makes. */
package io.jccl.cli.tune;
