package io.jccl.cli.perf;

import io.jccl.Collective;
import io.jccl.cli.output.NearestLabel;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

/**
 * What a run measures.
 *
 * @param kind the collective
 * @param vector whether each rank has a count of its own: the v-form
 */
record PerfCollective(Collective kind, boolean vector) {

    private static final String VECTOR_SUFFIX = "_v";

    PerfCollective {
        if (vector && !hasVectorForm(kind)) {
            throw new IllegalArgumentException("collective=" + kind.label()
                    + ": has no v-form; expected all_gather, reduce_scatter, all_to_all, gather or scatter");
        }
    }

    /** The form with one count. */
    static PerfCollective of(Collective kind) {
        return new PerfCollective(kind, false);
    }

    /** All that can be measured. */
    static List<PerfCollective> all() {
        return Arrays.stream(Collective.values())
                .flatMap(kind ->
                        hasVectorForm(kind) ? Stream.of(of(kind), new PerfCollective(kind, true)) : Stream.of(of(kind)))
                .toList();
    }

    private static boolean hasVectorForm(Collective kind) {
        return switch (kind) {
            case ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, GATHER, SCATTER -> true;
            case ALL_REDUCE, REDUCE, BROADCAST, SEND_RECV, BARRIER -> false;
        };
    }

    /**
     * The collective of a label. Case does not matter, and {@code -} may stand for {@code _}.
     *
     * @throws IllegalArgumentException if there is none; names the nearest
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

    /** The name by which it is asked for and reported. */
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
