package io.jccl.control;

import io.jccl.wire.FrameLink;
import io.jccl.wire.FrameType;
import io.jccl.wire.WireWriter;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * Decides how the coordinator answers gathers. A short answer goes to every rank. A long answer goes to rank 0 and the
 * first ranks of the tree of {@link Relay}s, which pass the answer on. So the number of long answers that the
 * coordinator sends does not depend on the number of ranks. Keeps the last answer, for ranks that wait for it because a
 * rank above them is slow. For use by one thread.
 */
final class GatherAnswers {

    /**
     * The maximum length of a short answer in bytes. Sending n ranks a short answer each then takes about as many bytes
     * as sending one long answer, whose length is proportional to n.
     */
    private static final int SHORT_BYTES = 256;

    private final boolean hasRelays;
    private final Set<Integer> unrelayed = new HashSet<>(); // ranks without a connection to the rank above
    private final Map<Integer, Integer> asked = new HashMap<>(); // by rank: number of its requests for the last answer
    private long number; // number of the gather that was answered last
    private boolean relayed;
    private ByteBuffer frame;

    /** @param hasRelays true if ranks may pass answers on */
    GatherAnswers(boolean hasRelays) {
        this.hasRelays = hasRelays;
    }

    /** Makes the answer of a complete gather. */
    void answer(long ofNumber, byte[][] parts) {
        WireWriter table = new WireWriter();
        GatherTable.write(table, parts);
        byte[] bytes = table.toBytes();
        number = ofNumber;
        relayed = hasRelays && bytes.length > SHORT_BYTES;
        frame = FrameLink.encode(
                FrameType.GATHERED,
                new WireWriter().i64(number).flag(relayed).raw(bytes).toBytes());
        asked.clear();
    }

    /** Returns the frame of the last answer. */
    ByteBuffer frame() {
        return frame;
    }

    /** Returns true if the coordinator itself sends the last answer to a rank. */
    boolean isDirectTo(int rank) {
        return !relayed || rank <= Relay.FAN_OUT || unrelayed.contains(rank);
    }

    /** Returns the number of the last answer if ranks pass it on, else 0. */
    long relayedNumber() {
        return relayed ? number : 0;
    }

    /**
     * Notes that a rank has no connection to the rank above it.
     *
     * @param last the number of the last answer that the rank has received from the rank above
     * @return true if the rank has missed the last answer
     */
    boolean unrelayed(int rank, long last) {
        return unrelayed.add(rank) && relayed && last < number;
    }

    /**
     * Notes that a rank asks for the answer of a gather. After the first request the coordinator only notes who asks.
     * After the second, it sends the answer, unless the rank above has asked too and will pass the answer on. After the
     * third, or if {@code last} is true, it always sends the answer.
     *
     * @param last true if the time-out of the rank's call has passed
     * @return true if the rank must be sent the last answer now
     */
    boolean asks(int rank, long ofNumber, boolean last) {
        if (frame == null || ofNumber != number) {
            return false;
        }
        int times = asked.merge(rank, 1, Integer::sum);
        return last || times > 2 || times == 2 && !asked.containsKey(Relay.above(rank));
    }
}
