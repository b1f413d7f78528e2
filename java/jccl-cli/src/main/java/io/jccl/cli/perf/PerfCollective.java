package io.jccl.cli.perf;

import io.jccl.Collective;
import io.jccl.cli.output.NearestLabel;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

/**
 * A collective that a run can measure.
 *
 * @param kind the collective
 * @param vector true for the v-form, in which each rank has a count of its own
 */
record PerfCollective(Collective kind, boolean vector) {

    private static final String VECTOR_SUFFIX = "_v";

    PerfCollective {
        if (vector && !hasVectorForm(kind)) {
            throw new IllegalArgumentException("collective=" + kind.label()
                    + ": has no v-form; expected all_gather, reduce_scatter, all_to_all, gather or scatter");
        }
    }

    /** Returns the form with one count. */
    static PerfCollective of(Collective kind) {
        return new PerfCollective(kind, false);
    }

    /** Returns all collectives that can be measured. */
    static List<PerfCollective> all() {
        return Arrays.stream(Collective.values())
                .flatMap(kind ->
                        hasVectorForm(kind) ? Stream.of(of(kind), new PerfCollective(kind, true)) : Stream.of(of(kind)))
                .toList();
    }

    private static boolean hasVectorForm(Collective kind) {
        return switch (kind) {
            case ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, GATHER, SCATTER -> true;
            case ALL_REDUCE, REDUCE, BROADCAST, SEND_RECV, BARRIER, SCAN, EXSCAN -> false;
        };
    }

    /**
     * Returns the collective with a label. Case is ignored, and {@code -} may stand for {@code _}.
     *
     * @throws IllegalArgumentException if there is none; the message names the nearest label
     */
    static PerfCollective parse(String label) {
        String expected = label.trim().replace('-', '_').toLowerCase(Locale.ROOT);
        List<PerfCollective> all = all();
        for (PerfCollective collective : all) {
            if (collective.label().equals(expected)) {
                return collective;
            }
        }
        List<String> labels = all.stream().map(PerfCollective::label).toList();
        throw new IllegalArgumentException("collective=\"" + label + "\": unknown; name one of " + labels
                + NearestLabel.suggestion(label, labels));
    }

    /** Returns the label, as in commands and reports. */
    String label() {
        return kind.label() + (vector ? VECTOR_SUFFIX : "");
    }

    boolean reduces() {
        return kind.reduces();
    }

    boolean hasRoot() {
        return kind.hasRoot();
    }
}
