package io.jccl;

/**
 * What joins this rank to one peer, and why it was chosen.
 *
 * @param peer the other rank
 * @param kind the transport in use
 * @param reason why this transport and not a faster one, as text
 */
public record PeerTransport(int peer, TransportKind kind, String reason) {}
