package io.jccl.bootstrap;

import java.time.Duration;
import java.util.List;

/**
 * The out-of-band channel: the TCP network on which the ranks of one communicator exchange small messages.
 *
 * <p>Rank 0 forwards the messages, which costs two hops whatever the number of ranks; pack what belongs together into
 * one message. The result of a collective call comes from rank 0 if it is short, else along a tree of ranks. Every call
 * ends by its time-out with a {@link io.jccl.CommunicationTimeoutException} that names the ranks that did not arrive.
 * When the group has failed, it ends at once with a {@link io.jccl.PeerFailedException} or the exception of the agreed
 * failure.
 *
 * <p>Threads: {@link #send} and {@link #receive} may be called by any number of threads. The collective calls
 * ({@link #allGather}, {@link #broadcast}, {@link #barrier}) must be called in the same order by every rank and by one
 * thread at a time.
 */
public interface OutOfBand {

    /** The maximum number of bytes that one rank may pass to one call. */
    int MAX_PAYLOAD_BYTES = 16 << 20;

    /** This rank, from 0. */
    int rank();

    /** The number of ranks. */
    int size();

    /**
     * Every rank gives a blob, of any size up to {@link #MAX_PAYLOAD_BYTES}, and gets those of all ranks.
     *
     * @param mine this rank's blob; copied
     * @param timeout the longest this call may take
     * @return the blobs by rank; immutable list of fresh arrays, of which equal neighbours may be one
     */
    List<byte[]> allGather(byte[] mine, Duration timeout);

    /**
     * The root's blob reaches every rank.
     *
     * @param data the blob at the root; ignored, and may be null, elsewhere
     * @param root the rank that gives
     * @param timeout the longest this call may take
     * @return the root's blob
     */
    byte[] broadcast(byte[] data, int root, Duration timeout);

    /**
     * No rank leaves before every rank has entered.
     *
     * @param timeout the longest this call may take
     */
    void barrier(Duration timeout);

    /**
     * Sends a message; returns when it is queued. Messages of one sender with one tag arrive in order.
     *
     * @param peer the receiver, which may be this rank
     * @param tag any number that both sides agree on
     * @param data the message; copied
     */
    void send(int peer, int tag, byte[] data);

    /**
     * Waits for the next message of a peer with a tag.
     *
     * @param peer the sender
     * @param tag the tag it was sent with
     * @param timeout the longest this call may take
     */
    byte[] receive(int peer, int tag, Duration timeout);
}
