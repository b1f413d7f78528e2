/** The local launcher: starts the ranks of one job as processes of this machine and ends them together. */
package io.jccl.cli.launch;
