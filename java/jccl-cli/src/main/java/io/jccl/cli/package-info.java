/** The {@code jccl} command: measuring, launching and questioning JCCL from a shell. */
package io.jccl.cli;
