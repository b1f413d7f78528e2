package io.jccl;

import java.util.Locale;

/** The event that a channel of a rank waits for. */
public enum WaitFor {
    /** Credit to send the next chunk to a peer. */
    CREDIT("credit to send to peer="),
    /** Data of a peer. */
    DATA("data from peer="),
    /** The addresses of a peer's buffers, or the end of the peer's work on this rank's buffers. */
    BUFFER_EXCHANGE("the buffer exchange with peer="),
    /** The end of a reduction that the network does (CollNet). */
    COLLNET("a reduction of the network, next peer=");

    private final String text;

    WaitFor(String text) {
        this.text = text;
    }

    /** The name that reports use, for example {@code buffer_exchange}. */
    public String label() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** Describes a wait for a peer: {@code data from peer=3}. */
    String describe(int peer) {
        return text + peer;
    }
}
