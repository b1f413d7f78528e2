package io.jccl.tuning;

import io.jccl.TransportKind;
import io.jccl.tuning.HostCosts.General;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Computes the rows of {@link HostCosts} from measurements: for each transport, algorithm and protocol, the hop time and
 * the time per byte with which the model's formula comes closest to what was measured. Closest means the least sum of
 * squared relative errors, so that microseconds and milliseconds count alike.
 *
 * <p>Measure on machines with a core for each rank, one machine for the local transports; for {@code socket} put each
 * rank on a machine of its own, or make ranks act so. Rows without at least two sizes stay as they were.
 */
public final class HostCostsFit {

    private static final double LEAST_NANOS_PER_BYTE = 1e-4;

    private HostCostsFit() {}

    /**
     * The table with the rows that the measurements give.
     *
     * @param base where the other rows and the general constants come from
     * @param source machine, command and date, for the table's readers
     */
    public static HostCosts fit(HostCosts base, List<Measurement> measurements, String source) {
        Map<String, List<Measurement>> groups = new LinkedHashMap<>();
        for (Measurement measurement : measurements) {
            String key = HostCosts.key(
                    transport(measurement.shape()),
                    measurement.choice().algorithm(),
                    measurement.choice().protocol());
            groups.computeIfAbsent(key, any -> new ArrayList<>()).add(measurement);
        }
        Map<String, LinkCost> rows = new LinkedHashMap<>();
        groups.forEach((key, group) -> {
            if (group.stream().mapToLong(Measurement::bytes).distinct().count() >= 2) {
                rows.put(key, solve(base, group));
            }
        });
        return base.with(source, rows);
    }

    private static TransportKind transport(CommunicatorShape shape) {
        return shape.oneMachine() ? shape.localTransport() : TransportKind.SOCKET;
    }

    /** Least squares in two unknowns; where one comes out negative it is zero and the other is solved alone. */
    private static LinkCost solve(HostCosts base, List<Measurement> group) {
        double hh = 0;
        double hb = 0;
        double bb = 0;
        double hy = 0;
        double by = 0;
        for (Measurement measurement : group) {
            Effort effort = effort(measurement);
            double weight = 1 / measurement.micros();
            double hops = (effort.localHops() + effort.netHops()) * weight;
            double kilobytes = effort.bytes() / 1000 * weight;
            double rest = (measurement.micros() - fixed(base, measurement, effort)) * weight;
            hh += hops * hops;
            hb += hops * kilobytes;
            bb += kilobytes * kilobytes;
            hy += hops * rest;
            by += kilobytes * rest;
        }
        double determinant = hh * bb - hb * hb;
        double hop = determinant == 0 ? -1 : (hy * bb - by * hb) / determinant;
        double perByte = determinant == 0 ? -1 : (by * hh - hy * hb) / determinant;
        if (hop < 0 || !(perByte >= 0)) {
            boolean onlyBytes = hop < 0 && bb > 0;
            hop = onlyBytes || hh == 0 ? 0 : Math.max(0, hy / hh);
            perByte = onlyBytes ? Math.max(0, by / bb) : 0;
        }
        return new LinkCost(rounded(hop), Math.max(LEAST_NANOS_PER_BYTE, rounded(perByte)));
    }

    private static Effort effort(Measurement measurement) {
        Choice choice = measurement.choice();
        return Effort.of(
                measurement.collective(),
                choice.algorithm(),
                measurement.shape(),
                measurement.bytes(),
                choice.channels(),
                choice.chunkBytes());
    }

    private static double fixed(HostCosts base, Measurement measurement, Effort effort) {
        return base.get(General.OPERATION_US)
                + (measurement.choice().channels() - 1) * base.get(General.CHANNEL_US)
                + effort.steps() * base.get(General.STEP_US);
    }

    private static double rounded(double value) {
        return Math.round(value * 1e5) / 1e5;
    }
}
