/**
 * Messages and connections between the processes of a job: reading and writing of messages, frames, the handshake that proves
 * the secret, and the {@code Reactor} thread that serves connections. A {@code Server} reads no frame of a connection that has
 * not proved the secret.
 */
package io.jccl.wire;
