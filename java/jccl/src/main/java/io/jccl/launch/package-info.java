/** What launchers tell a process: the variables of {@code jccl run}, torchrun, MPI, Slurm and others, and the rendezvous of their job. */
package io.jccl.launch;
