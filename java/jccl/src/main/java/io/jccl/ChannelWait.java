package io.jccl;

/**
 * Where one channel of one rank stood still: a row of the table that an exception shows.
 *
 * @param rank the rank that waits
 * @param channel its channel
 * @param peer the rank that it waits for
 * @param transport what joins the two
 * @param receiving whether it waits for data; otherwise it waits for credit to send
 * @param protocol the protocol in use
 * @param step the step of the connection that it waits for
 */
public record ChannelWait(
        int rank, int channel, int peer, TransportKind transport, boolean receiving, Protocol protocol, long step) {

    /** The row as one line of text: {@code rank=0 channel=1 waits for data from peer=3 over shm, ll128 step=912}. */
    public String describe() {
        return "rank=" + rank + " channel=" + channel + " waits for " + (receiving ? "data from" : "credit to send to")
                + " peer=" + peer + " over " + transport.label() + ", " + protocol.label() + " step=" + step;
    }
}
