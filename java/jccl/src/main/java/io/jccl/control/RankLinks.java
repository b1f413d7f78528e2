package io.jccl.control;

import io.jccl.wire.FrameLink;
import io.jccl.wire.FrameType;
import io.jccl.wire.Link;
import io.jccl.wire.WireWriter;
import java.nio.ByteBuffer;
import java.util.List;

/** The connections of the {@link CompleteGroup}, by rank. Used only by the server's thread. */
final class RankLinks {

    private final Link[] links; // null for a rank that is gone
    private int here; // number of ranks that are not gone

    /** Takes the connections of all ranks, in their order. */
    RankLinks(List<? extends Link> all) {
        links = all.toArray(new Link[0]);
        here = links.length;
    }

    /** Returns a rank's connection, or null if the rank is gone. */
    Link of(int rank) {
        return links[rank];
    }

    /** Notes that a rank is gone. */
    void remove(int rank) {
        if (links[rank] != null) {
            links[rank] = null;
            here--;
        }
    }

    boolean isEmpty() {
        return here == 0;
    }

    /** Closes the connections to all ranks that are not gone. */
    void close() {
        for (int rank = 0; rank < links.length; rank++) {
            Link link = links[rank];
            remove(rank);
            if (link != null) {
                link.close();
            }
        }
    }

    /** Sends a frame to a rank, unless the rank is gone. */
    void send(int rank, FrameType type, WireWriter content) {
        if (links[rank] != null) {
            links[rank].send(type, content);
        }
    }

    /** Sends a frame made by {@link FrameLink#encode} to a rank, unless the rank is gone. */
    void send(int rank, ByteBuffer frame) {
        if (links[rank] != null) {
            links[rank].send(frame);
        }
    }

    /** Sends a frame made by {@link FrameLink#encode} to all ranks that are not gone. */
    void broadcast(ByteBuffer frame) {
        for (int rank = 0; rank < links.length; rank++) {
            send(rank, frame);
        }
    }

    /**
     * Sends a short frame from a direct buffer to all ranks that are not gone. Allocates nothing unless earlier frames
     * wait to be sent.
     */
    void broadcastShort(ByteBuffer frame) {
        ByteBuffer copy = null;
        for (Link link : links) {
            if (link != null && !link.sendShort(frame.rewind())) {
                copy = copy == null
                        ? ByteBuffer.allocate(frame.remaining()).put(frame).flip()
                        : copy;
                link.send(copy);
            }
        }
    }
}
