package io.jccl.bootstrap;

import java.nio.ByteBuffer;
import java.util.List;

/** The {@link CoordinatorServer}'s connections by rank. For one thread, that of the server. */
final class RankLinks {

    private final FrameLink[] links; // null where a rank is gone
    private int here; // how many of these are not gone

    /** Connections of all ranks, in their order. */
    RankLinks(List<FrameLink> all) {
        links = all.toArray(new FrameLink[0]);
        here = links.length;
    }

    /** A rank's connection, or null if the rank is gone. */
    FrameLink of(int rank) {
        return links[rank];
    }

    /** A rank is gone. */
    void remove(int rank) {
        if (links[rank] != null) {
            links[rank] = null;
            here--;
        }
    }

    boolean isEmpty() {
        return here == 0;
    }

    /** Sends a frame to a rank that is not gone. */
    void send(int rank, FrameType type, WireWriter content) {
        if (links[rank] != null) {
            links[rank].send(type, content);
        }
    }

    /** Sends a frame made by {@link FrameLink#encode} to a rank that is not gone. */
    void send(int rank, ByteBuffer frame) {
        if (links[rank] != null) {
            links[rank].send(frame);
        }
    }

    /** Sends a frame made by {@link FrameLink#encode} to all ranks. */
    void broadcast(ByteBuffer frame) {
        for (int rank = 0; rank < links.length; rank++) {
            send(rank, frame);
        }
    }

    /** Sends a short frame from a direct buffer to all ranks. Allocates nothing where no earlier frames wait to be sent. */
    void broadcastShort(ByteBuffer frame) {
        ByteBuffer copy = null;
        for (FrameLink link : links) {
            if (link != null && !link.sendShort(frame.rewind())) {
                copy = copy == null
                        ? ByteBuffer.allocate(frame.remaining()).put(frame).flip()
                        : copy;
                link.send(copy);
            }
        }
    }
}
