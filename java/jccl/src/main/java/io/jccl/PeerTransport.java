package io.jccl;

/**
 * The transport between this rank and one peer, and the reason for the choice.
 *
 * @param peer the other rank
 * @param kind the transport in use
 * @param reason why the ranks use this transport and not a faster one, as text
 */
public record PeerTransport(int peer, TransportKind kind, String reason) {}
