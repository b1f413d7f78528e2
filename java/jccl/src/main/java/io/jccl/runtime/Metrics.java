package io.jccl.runtime;

import io.jccl.Collective;
import io.jccl.CommunicatorMetrics;
import io.jccl.CommunicatorMetrics.OfCollective;
import io.jccl.CommunicatorMetrics.OfTransport;
import io.jccl.TransportKind;
import io.jccl.nativelib.NativeEngine;
import io.jccl.nativelib.Numbers;
import io.jccl.nativelib.Rows;
import java.time.Duration;
import java.util.EnumMap;
import java.util.Map;

/** Converts the counters of an engine to {@link CommunicatorMetrics}. */
final class Metrics {

    private Metrics() {}

    /** @param row the row of {@link NativeEngine#counters}; empty if nothing was counted */
    static CommunicatorMetrics of(long[] row, boolean failed) {
        Map<Collective, OfCollective> collectives = new EnumMap<>(Collective.class);
        for (Collective collective : Collective.values()) {
            int at = Numbers.of(collective) * Rows.COLLECTIVE_LENGTH;
            collectives.put(
                    collective,
                    row.length == 0
                            ? new OfCollective(0, 0, 0, Duration.ZERO)
                            : new OfCollective(
                                    row[at + Rows.COLLECTIVE_OPERATIONS],
                                    row[at + Rows.COLLECTIVE_IN_PLACE],
                                    row[at + Rows.COLLECTIVE_BYTES],
                                    Duration.ofNanos(row[at + Rows.COLLECTIVE_NANOS])));
        }
        Map<TransportKind, OfTransport> transports = new EnumMap<>(TransportKind.class);
        for (TransportKind kind : TransportKind.values()) {
            int at = Numbers.COLLECTIVES * Rows.COLLECTIVE_LENGTH + Numbers.of(kind) * Rows.TRANSPORT_LENGTH;
            transports.put(
                    kind,
                    row.length == 0
                            ? new OfTransport(0, 0, Duration.ZERO)
                            : new OfTransport(
                                    row[at + Rows.TRANSPORT_SENT_BYTES],
                                    row[at + Rows.TRANSPORT_LONG_WAITS],
                                    Duration.ofNanos(row[at + Rows.TRANSPORT_WAITED])));
        }
        return new CommunicatorMetrics(collectives, transports, failed ? 1 : 0);
    }
}
