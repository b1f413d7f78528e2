/**
 * The bootstrap and the control network of a group, which is the set of ranks of one communicator: ranks find each
 * other, exchange small messages out of band, and agree on failures.
 *
 * <p>Every rank registers once at the {@code RendezvousServer} and then stays connected to the
 * {@code CoordinatorServer} in the process of rank 0. Each server runs on one {@code Reactor} thread and reads no frame
 * of a connection that has not proved the secret ({@code Handshake}). {@code Bootstrap} executes these steps for one
 * rank. Afterwards it provides the {@code OutOfBand} network and the {@code ControlNetwork}, both over the one
 * connection to the coordinator.
 */
package io.jccl.bootstrap;
