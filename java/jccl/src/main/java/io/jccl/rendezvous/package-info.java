/**
 * Where ranks meet: the {@code RendezvousServer} at which every rank registers once, the {@code Connector} that finds a server,
 * and the network interfaces and addresses of this host.
 */
package io.jccl.rendezvous;
