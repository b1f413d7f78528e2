/** The local launcher: starts the ranks of one job as processes of this host, and ends them together. */
package io.jccl.cli.launch;
