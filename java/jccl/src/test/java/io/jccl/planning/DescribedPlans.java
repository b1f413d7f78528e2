package io.jccl.tuning;

import io.jccl.plan.PlanOptions;
import io.jccl.search.SearchOptions.CrossNic;
import io.jccl.topology.PathPolicy;
import io.jccl.topology.XmlElement;

/** Requests for reports of described machines where nothing is set. */
final class ReportRequests {

    private static final int CORES = 8;

    private ReportRequests() {}

    /** A report of so many machines; every search seems to take {@code searchNanos}. */
    static TopologyReport report(
            XmlElement description, int machines, CommunicatorShape.SlotBytes slots, long searchNanos) {
        return report(description, machines, slots, searchNanos, TuningOverrides.none(), CrossNic.IF_BETTER);
    }

    /** The same with what settings say. */
    static TopologyReport report(
            XmlElement description,
            int machines,
            CommunicatorShape.SlotBytes slots,
            long searchNanos,
            TuningOverrides overrides,
            CrossNic crossNic) {
        long[] clock = {0};
        return TopologyReporter.report(
                request(description, machines, slots, overrides, crossNic), () -> clock[0] += searchNanos);
    }

    /** A request for so many machines. */
    static TopologyReporter.Request request(XmlElement description, int machines, CommunicatorShape.SlotBytes slots) {
        return request(description, machines, slots, TuningOverrides.none(), CrossNic.IF_BETTER);
    }

    private static TopologyReporter.Request request(
            XmlElement description,
            int machines,
            CommunicatorShape.SlotBytes slots,
            TuningOverrides overrides,
            CrossNic crossNic) {
        return new TopologyReporter.Request(
                "test",
                "0",
                description,
                machines,
                false,
                PathPolicy.defaults(),
                CORES,
                slots,
                HostCosts.builtIn(),
                overrides,
                PlanOptions.defaults(),
                crossNic);
    }
}
