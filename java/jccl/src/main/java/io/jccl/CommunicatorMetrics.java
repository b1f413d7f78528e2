package io.jccl;

import java.time.Duration;
import java.util.Collections;
import java.util.EnumMap;
import java.util.Map;
import java.util.function.Supplier;

/**
 * What a communicator has done in this process since it was initialised: counters that only grow. Operations are counted when
 * they have ended well, those that kernels of a GPU execute are not.
 *
 * @param collectives by collective; every one has an entry
 * @param transports by transport; every one has an entry
 * @param failures 1 if the communicator has failed, else 0
 */
public record CommunicatorMetrics(
        Map<Collective, OfCollective> collectives, Map<TransportKind, OfTransport> transports, int failures) {

    /**
     * What operations of one kind have done. {@link Collective#SEND_RECV} counts sends and receives that were executed
     * together as one.
     *
     * @param operations how many
     * @param inPlace how many of them have read and written the buffers of other ranks in place
     * @param bytes of the larger buffer of this rank, of all together; of sends and receives what was sent
     * @param time from when each began until it ended, of all together, as far as they were timed: small operations of a
     *     communicator of one rank are not, and none is with {@code JCCL_RECORDER_OPERATIONS=0}
     */
    public record OfCollective(long operations, long inPlace, long bytes, Duration time) {}

    /**
     * What one transport has done.
     *
     * @param sentBytes as they lay in slots: with the flags of a protocol, and without what operations in place move
     * @param longWaits waits for peers over it that took a millisecond or more
     * @param waited what these took, of all channels together
     */
    public record OfTransport(long sentBytes, long longWaits, Duration waited) {}

    /** Copies the maps. */
    public CommunicatorMetrics {
        collectives = copy(collectives, () -> new EnumMap<>(Collective.class));
        transports = copy(transports, () -> new EnumMap<>(TransportKind.class));
    }

    private static <K, V> Map<K, V> copy(Map<K, V> map, Supplier<Map<K, V>> empty) {
        Map<K, V> copy = empty.get();
        copy.putAll(map);
        return Collections.unmodifiableMap(copy);
    }

    /** The operations of all kinds. */
    public long operations() {
        return collectives.values().stream().mapToLong(OfCollective::operations).sum();
    }

    /** The long waits over all transports. */
    public long longWaits() {
        return transports.values().stream().mapToLong(OfTransport::longWaits).sum();
    }
}
