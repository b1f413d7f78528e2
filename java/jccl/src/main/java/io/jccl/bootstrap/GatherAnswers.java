package io.jccl.bootstrap;

import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * How the coordinator answers gathers. A short answer goes to every rank. A long one goes to rank 0 and the first ranks
 * of the tree of {@link Relay}s, which pass it on: the coordinator sends the same number of answers to any number of
 * ranks. It keeps the last one for ranks that it has not reached, because a rank above is slow. For one thread.
 */
final class GatherAnswers {

    /** All answers of this length together are as long as one that grows with the number of ranks. */
    private static final int SHORT_BYTES = 256;

    private final int size;
    private final Set<Integer> unrelayed = new HashSet<>(); // ranks without a connection to the rank above
    private final Map<Integer, Integer> asked = new HashMap<>(); // how often each rank has, for the last answer
    private long number; // of the last answer
    private boolean relayed;
    private ByteBuffer frame;

    GatherAnswers(int size) {
        this.size = size;
    }

    /** A gather is complete. */
    void answer(long ofNumber, byte[][] parts) {
        WireWriter table = new WireWriter();
        GatherTable.write(table, parts);
        byte[] bytes = table.toBytes();
        number = ofNumber;
        relayed = Relay.isUsed(size) && bytes.length > SHORT_BYTES;
        frame = FrameLink.encode(
                FrameType.GATHERED,
                new WireWriter().i64(number).flag(relayed).raw(bytes).toBytes());
        asked.clear();
    }

    /** The last answer. */
    ByteBuffer frame() {
        return frame;
    }

    /** Whether the coordinator sends the last answer to a rank. */
    boolean isDirectTo(int rank) {
        return !relayed || rank <= Relay.FAN_OUT || unrelayed.contains(rank);
    }

    /** The number of the last answer that other ranks pass on. */
    long relayedNumber() {
        return relayed ? number : 0;
    }

    /**
     * A rank has no connection to the rank above it.
     *
     * @param last the last answer that it has got by it
     * @return whether it misses the last answer
     */
    boolean unrelayed(int rank, long last) {
        return unrelayed.add(rank) && relayed && last < number;
    }

    /**
     * A rank misses the answer of a gather. Where the rank above asks too, it passes on what it gets; so the first time
     * only shows who asks.
     *
     * @param last whether the rank waits no longer
     * @return whether it is sent the last answer
     */
    boolean asks(int rank, long ofNumber, boolean last) {
        if (frame == null || ofNumber != number) {
            return false;
        }
        int times = asked.merge(rank, 1, Integer::sum);
        return last || times > 2 || times == 2 && !asked.containsKey(Relay.above(rank));
    }
}
