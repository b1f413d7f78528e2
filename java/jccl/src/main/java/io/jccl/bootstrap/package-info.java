/**
 * How ranks find each other, and the network that they use beside the data network.
 *
 * <p>All ranks register once at the {@code RendezvousServer}, and stay connected to the {@code CoordinatorServer} at
 * rank 0. Each server runs on one {@code Reactor} thread, and reads no frame of a connection that has not proved the
 * secret ({@code Handshake}). {@code Bootstrap} executes these steps for one rank; then it provides the
 * {@code OutOfBand} network and the {@code ControlNetwork}, both over the one connection to the coordinator.
 */
package io.jccl.bootstrap;
