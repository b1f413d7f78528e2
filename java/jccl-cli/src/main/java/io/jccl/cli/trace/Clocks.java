package io.jccl.cli.trace;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * The clocks of several hosts on one time axis. Ranks of one clock need no alignment. Between clocks the system's time is a
 * first guess; operations that synchronise all ranks say more: none ends anywhere before it has begun everywhere, so each
 * bounds the difference of two clocks on both sides.
 */
final class Clocks {

    /** When one operation had begun everywhere, and had first ended somewhere, by one clock. */
    private record Bounds(long lastBegin, long firstEnd) {
        Bounds join(Bounds other) {
            return new Bounds(Math.max(lastBegin, other.lastBegin), Math.min(firstEnd, other.firstEnd));
        }
    }

    /**
     * A clock against the first.
     *
     * @param offset what is added to its times
     * @param error how far off that may be; negative: the bounds contradict each other by so much
     * @param known whether operations bound the offset on both sides; else it is the system's time
     */
    record Alignment(long offset, long error, boolean known) {}

    private static final List<String> SYNCHRONISING =
            List.of("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "barrier");

    private final Map<String, Alignment> alignments;

    private Clocks(Map<String, Alignment> alignments) {
        this.alignments = alignments;
    }

    /** Aligns the clocks of a communicator's ranks; the first is that of its lowest rank. */
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

    /** By clock and operation. */
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

    /** A time of a dump on the common axis. */
    long align(Dump dump, long nanos) {
        return nanos + alignments.get(dump.clock()).offset();
    }

    /** How well clocks are aligned, as text. */
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
