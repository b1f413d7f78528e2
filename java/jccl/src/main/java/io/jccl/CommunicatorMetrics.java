package io.jccl;

import java.time.Duration;
import java.util.Collections;
import java.util.EnumMap;
import java.util.Map;
import java.util.function.Supplier;

/**
 * Counters of what a communicator has done in this process since it was initialised. They only grow. Operations are
 * counted when they end with success. Operations that kernels of a GPU execute are not counted.
 *
 * @param collectives the counters of each collective; every collective has an entry
 * @param transports the counters of each transport; every transport has an entry
 * @param failures 1 if the communicator has failed, else 0
 */
public record CommunicatorMetrics(
        Map<Collective, OfCollective> collectives, Map<TransportKind, OfTransport> transports, int failures) {

    /**
     * Counters of the operations of one collective. {@link Collective#SEND_RECV} counts sends and receives that were
     * executed together as one operation.
     *
     * @param operations the number of operations
     * @param inPlace the number of operations that read and wrote the buffers of other ranks in place
     * @param bytes the total size of the operations, each counted by the larger of this rank's buffers; for sends and
     *     receives the bytes sent
     * @param time the total time from the beginning of each operation to its end. Small operations of a communicator of
     *     one rank are not timed, and with {@code JCCL_RECORDER_OPERATIONS=0} none is
     */
    public record OfCollective(long operations, long inPlace, long bytes, Duration time) {}

    /**
     * Counters of one transport.
     *
     * @param sentBytes the bytes sent through slots, including the flags of the protocol. Bytes that operations move in
     *     place are not counted
     * @param longWaits the number of waits for peers over this transport that took a millisecond or more
     * @param waited the total time of these waits over all channels
     */
    public record OfTransport(long sentBytes, long longWaits, Duration waited) {}

    /** Copies the maps, so that the counters cannot change. */
    public CommunicatorMetrics {
        collectives = copy(collectives, () -> new EnumMap<>(Collective.class));
        transports = copy(transports, () -> new EnumMap<>(TransportKind.class));
    }

    private static <K, V> Map<K, V> copy(Map<K, V> map, Supplier<Map<K, V>> empty) {
        Map<K, V> copy = empty.get();
        copy.putAll(map);
        return Collections.unmodifiableMap(copy);
    }

    /** Returns the number of operations of all collectives. */
    public long operations() {
        return collectives.values().stream().mapToLong(OfCollective::operations).sum();
    }

    /** Returns the number of long waits over all transports. */
    public long longWaits() {
        return transports.values().stream().mapToLong(OfTransport::longWaits).sum();
    }
}
