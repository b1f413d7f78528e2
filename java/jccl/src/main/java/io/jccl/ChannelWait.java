package io.jccl;

/**
 * The point at which one channel of one rank waited: a row of the table that an exception shows.
 *
 * @param rank the rank that waits
 * @param channel its channel
 * @param peer the rank that it waits for
 * @param transport the transport between the two ranks
 * @param waitFor what the rank waits for
 * @param protocol the protocol in use
 * @param step the step of the connection that the rank waits for
 */
public record ChannelWait(
        int rank, int channel, int peer, TransportKind transport, WaitFor waitFor, Protocol protocol, long step) {

    /**
     * Returns the row as one line of text: {@code rank=0 channel=1 waits for data from peer=3 over shm, ll128
     * step=912}.
     */
    public String describe() {
        return "rank=" + rank + " channel=" + channel + " waits for " + waitFor.describe(peer) + " over "
                + transport.label() + ", " + protocol.label() + " step=" + step;
    }

    /** Returns true if the rank waits to receive, which is every wait except that for credit to send. */
    public boolean receiving() {
        return waitFor != WaitFor.CREDIT;
    }
}
