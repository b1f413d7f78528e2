/** {@code jccl ps}: shows what the ranks of a running job do, and which of them hold the others up. */
package io.jccl.cli.ps;
