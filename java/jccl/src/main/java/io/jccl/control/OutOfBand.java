package io.jccl.control;

import java.time.Duration;
import java.util.List;

/**
 * The out-of-band channel: the TCP network on which the ranks of one communicator exchange small messages.
 *
 * <p>Rank 0 forwards the messages. A message takes two hops for any number of ranks, so pack data that belongs together
 * into one message. The result of a collective call comes from rank 0 if it is short, else along a tree of ranks. A
 * call that does not succeed within its time-out throws a {@link io.jccl.CommunicationTimeoutException}, which names
 * the ranks that did not arrive. After the group has failed, every call ends at once with a
 * {@link io.jccl.PeerFailedException} or the exception of the agreed failure.
 *
 * <p>Threads: {@link #send} and {@link #receive} may be called by any number of threads. The collective calls ({@link
 * #allGather}, {@link #broadcast}, {@link #barrier}) must be called in the same order by every rank and by one thread
 * at a time.
 */
public interface OutOfBand {

    /** The maximum number of bytes that one rank may pass to one call. */
    int MAX_PAYLOAD_BYTES = 16 << 20;

    /** Returns this rank, numbered from 0. */
    int rank();

    /** Returns the number of ranks. */
    int size();

    /**
     * Collects a blob from every rank and returns the blobs of all ranks. A blob has at most
     * {@link #MAX_PAYLOAD_BYTES}.
     *
     * @param mine this rank's blob; copied
     * @param timeout the maximum time of this call
     * @return the blobs by rank, as an immutable list of new arrays; equal blobs of successive ranks may be the same
     *     array
     */
    List<byte[]> allGather(byte[] mine, Duration timeout);

    /**
     * Sends the root's blob to every rank.
     *
     * @param data the blob at the root; ignored, and may be null, on other ranks
     * @param root the rank whose blob is sent
     * @param timeout the maximum time of this call
     * @return the root's blob
     */
    byte[] broadcast(byte[] data, int root, Duration timeout);

    /**
     * Waits until every rank has called this method.
     *
     * @param timeout the maximum time of this call
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
     * Waits for the next message from a peer with a tag.
     *
     * @param peer the sender
     * @param tag the tag with which the message was sent
     * @param timeout the maximum time of this call
     */
    byte[] receive(int peer, int tag, Duration timeout);
}
