/** The {@code jccl} command: measures JCCL, launches ranks and inspects running jobs from a shell. */
package io.jccl.cli;
