package io.jccl.runtime;

import io.jccl.Collective;
import io.jccl.CommunicatorMetrics;
import io.jccl.CommunicatorMetrics.OfCollective;
import io.jccl.CommunicatorMetrics.OfTransport;
import io.jccl.TransportKind;
import io.jccl.nativelib.NativeCommunicator;
import java.time.Duration;
import java.util.EnumMap;
import java.util.Map;

/** The engine's counters as the API has them. */
final class Metrics {

    private Metrics() {}

    /** @param row of {@link NativeCommunicator#counters}; empty: nothing was counted */
    static CommunicatorMetrics of(long[] row, boolean failed) {
        Map<Collective, OfCollective> collectives = new EnumMap<>(Collective.class);
        int at = 0;
        for (Collective collective : Collective.values()) {
            collectives.put(
                    collective,
                    row.length == 0
                            ? new OfCollective(0, 0, 0, Duration.ZERO)
                            : new OfCollective(row[at], row[at + 3], row[at + 1], Duration.ofNanos(row[at + 2])));
            at += NativeCommunicator.COLLECTIVE_COUNTERS;
        }
        Map<TransportKind, OfTransport> transports = new EnumMap<>(TransportKind.class);
        for (TransportKind kind : TransportKind.values()) {
            transports.put(
                    kind,
                    row.length == 0
                            ? new OfTransport(0, 0, Duration.ZERO)
                            : new OfTransport(row[at], row[at + 1], Duration.ofNanos(row[at + 2])));
            at += NativeCommunicator.TRANSPORT_COUNTERS;
        }
        return new CommunicatorMetrics(collectives, transports, failed ? 1 : 0);
    }
}
