/**
 * How ranks find each other, and how they stay in touch beside the data.
 *
 * <p>{@code RendezvousServer} is where all ranks meet once; {@code CoordinatorServer}, at rank 0, is what they
 * stay connected to. Both are servers on one {@code Reactor} thread; nothing that a connection says is
 * looked at before it has proved the secret ({@code Handshake}). {@code Bootstrap} is
 * one rank's way through it, top to bottom; afterwards it gives the {@code OutOfBand} network and the
 * {@code ControlNetwork}, both over the one connection to the coordinator.
 */
package io.jccl.bootstrap;
