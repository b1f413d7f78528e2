package io.jccl.cli.trace;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * Aligns the clocks of several hosts to one time axis. Ranks that share a clock need no alignment. Between clocks, the
 * system time is a first guess. Operations that synchronise all ranks tell more: none ends on a rank before it has
 * begun on all, so each bounds the offset between two clocks from both sides.
 */
final class Clocks {

    /**
     * The time, by one clock, at which the last of its ranks began an operation, and at which the first of them ended
     * it.
     */
    private record Bounds(long lastBegin, long firstEnd) {
        Bounds join(Bounds other) {
            return new Bounds(Math.max(lastBegin, other.lastBegin), Math.min(firstEnd, other.firstEnd));
        }
    }

    /**
     * The alignment of a clock with the first clock. Times are in nanoseconds.
     *
     * @param offset nanoseconds to add to the clock's times
     * @param error largest error of the offset; if negative, the bounds contradict each other by this much
     * @param known true if operations bound the offset from both sides; false if it comes from the system time
     */
    record Alignment(long offset, long error, boolean known) {}

    private static final List<String> SYNCHRONISING =
            List.of("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "barrier");

    private final Map<String, Alignment> alignments;

    private Clocks(Map<String, Alignment> alignments) {
        this.alignments = alignments;
    }

    /** Aligns the clocks of a communicator's ranks. The first clock is that of the lowest rank. */
    static Clocks of(List<Dump> dumps) {
        Map<String, Dump> clocks = new TreeMap<>();
        for (Dump dump : dumps) {
            clocks.putIfAbsent(dump.clock(), dump);
        }
        Map<String, Map<String, Bounds>> bounds = bounds(dumps);
        Dump first = dumps.get(0);
        Map<String, Alignment> alignments = new HashMap<>();
        clocks.forEach((clock, dump) -> alignments.put(
                clock,
                clock.equals(first.clock())
                        ? new Alignment(0, 0, true)
                        : align(bounds.get(first.clock()), bounds.get(clock), dump.wallOffset() - first.wallOffset())));
        return new Clocks(alignments);
    }

    private static Alignment align(Map<String, Bounds> first, Map<String, Bounds> other, long guess) {
        long min = Long.MIN_VALUE;
        long max = Long.MAX_VALUE;
        for (Map.Entry<String, Bounds> entry : other.entrySet()) {
            Bounds here = first.get(entry.getKey());
            Bounds there = entry.getValue();
            if (here == null) {
                continue;
            }
            if (there.firstEnd != Long.MAX_VALUE) {
                min = Math.max(min, here.lastBegin - there.firstEnd);
            }
            if (here.firstEnd != Long.MAX_VALUE) {
                max = Math.min(max, here.firstEnd - there.lastBegin);
            }
        }
        if (min != Long.MIN_VALUE && max != Long.MAX_VALUE) {
            return new Alignment(min + (max - min) / 2, (max - min) / 2, true);
        }
        return new Alignment(Math.max(min, Math.min(max, guess)), 0, false);
    }

    /** Returns the bounds by clock and operation. */
    private static Map<String, Map<String, Bounds>> bounds(List<Dump> dumps) {
        Map<String, Map<String, Bounds>> all = new HashMap<>();
        for (Dump dump : dumps) {
            Map<String, Bounds> ofClock = all.computeIfAbsent(dump.clock(), clock -> new HashMap<>());
            add(ofClock, "host ", dump.operations());
            add(ofClock, "device ", dump.deviceOperations());
        }
        return all;
    }

    private static void add(Map<String, Bounds> bounds, String kind, Collection<Dump.Operation> operations) {
        for (Dump.Operation one : operations) {
            boolean synchronises = SYNCHRONISING.contains(one.name())
                    && (one.bytes() > 0 || one.name().equals("barrier"));
            if (synchronises && one.times().hasBegun()) {
                boolean ended = one.isDone() && one.times().ended() != Dump.UNKNOWN;
                bounds.merge(
                        kind + one.sequence(),
                        new Bounds(one.times().begun(), ended ? one.times().ended() : Long.MAX_VALUE),
                        Bounds::join);
            }
        }
    }

    /** Returns a time of a dump on the common axis. */
    long align(Dump dump, long nanos) {
        return nanos + alignments.get(dump.clock()).offset();
    }

    /** Describes how well the clocks are aligned. */
    String describe() {
        List<String> parts = new ArrayList<>();
        long worst = 0;
        int guessed = 0;
        long contradiction = 0;
        for (Alignment one : alignments.values()) {
            worst = Math.max(worst, one.error());
            guessed += one.known() ? 0 : 1;
            contradiction = Math.min(contradiction, one.error());
        }
        if (alignments.size() == 1) {
            return "one clock";
        }
        parts.add(alignments.size() + " clocks");
        if (guessed < alignments.size() - 1) {
            parts.add("aligned to " + micros(worst) + " by operations that all ranks ended");
        }
        if (guessed > 0) {
            parts.add(guessed + " by the systems' time only, as no operation bounds them");
        }
        if (contradiction < 0) {
            parts.add("which drifted by " + micros(-contradiction));
        }
        return String.join(", ", parts);
    }

    private static String micros(long nanos) {
        return String.format(Locale.ROOT, "%.1f us", nanos / 1e3);
    }
}
