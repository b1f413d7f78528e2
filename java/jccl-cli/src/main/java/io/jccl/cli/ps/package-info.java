/** {@code jccl ps}: what the ranks of a running job do, and which of them holds the others up. */
package io.jccl.cli.ps;
