package io.jccl.tuning;

import io.jccl.plan.PlanOptions;
import io.jccl.topology.PathPolicy;
import io.jccl.topology.XmlElement;

/** Requests for reports of described machines where nothing is set. */
final class ReportRequests {

    private static final int CORES = 8;

    private ReportRequests() {}

    /** A report of so many machines; every search seems to take {@code searchNanos}. */
    static TopologyReport report(
            XmlElement description, int machines, CommunicatorShape.SlotBytes slots, long searchNanos) {
        long[] clock = {0};
        return TopologyReporter.report(
                new TopologyReporter.Request(
                        "test",
                        "0",
                        description,
                        machines,
                        false,
                        PathPolicy.defaults(),
                        CORES,
                        slots,
                        HostCosts.builtIn(),
                        TuningOverrides.none(),
                        PlanOptions.defaults()),
                () -> clock[0] += searchNanos);
    }
}
