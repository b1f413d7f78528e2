package io.jccl.tuning;

import io.jccl.Algorithm;
import io.jccl.Collective;
import io.jccl.Protocol;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReferenceArray;

/**
 * The choice for every collective and size of one communicator. A collective's table is made when it is first looked
 * up; from then on looking up allocates nothing.
 *
 * <p>Sizes fall into buckets, {@value #STEPS_PER_OCTAVE} between a power of two and the next; a bucket's choice is the
 * best one for its smallest size, so that powers of two get exactly theirs. Safe to share.
 */
public final class ChoiceTable {

    static final int STEPS_PER_OCTAVE = 4;
    private static final int STEP_BITS = 2;
    /** Sizes from 2^44 up share the last bucket. */
    private static final int OCTAVES = 44;

    private static final int BUCKETS = OCTAVES * STEPS_PER_OCTAVE + 1;

    private final CostModel model;
    private final TuningOverrides overrides;
    private final List<String> notes = new ArrayList<>();
    private final List<Ways> ways = new ArrayList<>();
    private final AtomicReferenceArray<long[]> choices = new AtomicReferenceArray<>(Collective.values().length);

    /** What may carry out a collective. */
    private record Ways(List<Algorithm> algorithms, List<Protocol> protocols) {}

    private ChoiceTable(CostModel model, TuningOverrides overrides) {
        this.model = model;
        this.overrides = overrides;
        for (Collective collective : Collective.values()) {
            ways.add(new Ways(algorithms(collective), protocols(collective)));
        }
    }

    /**
     * Makes the table. All ranks get the same one from equal arguments.
     *
     * @throws IllegalArgumentException if a setting leaves no way to carry out the collectives it names, or none at all
     */
    public static ChoiceTable build(CostModel model, TuningOverrides overrides) {
        return new ChoiceTable(model, overrides);
    }

    /**
     * The packed {@link Choice} for an operation.
     *
     * @param bytes the larger of one rank's send and receive buffer, as the perf table's size column counts
     */
    public long choose(Collective collective, long bytes) {
        long[] table = choices.get(collective.ordinal());
        return (table == null ? tabulate(collective) : table)[bucket(bytes)];
    }

    /** The choice for an operation as an object, for reports. */
    public Choice choice(Collective collective, long bytes) {
        return Choice.unpack(choose(collective, bytes));
    }

    /** The predicted time of the choice for an operation, in microseconds. */
    public double predictedMicros(Collective collective, long bytes) {
        return model.micros(collective, choice(collective, bytes), bytes);
    }

    /** What the settings could not be followed in, in words for the log; empty when they were followed throughout. */
    public List<String> notes() {
        return List.copyOf(notes);
    }

    static int bucket(long bytes) {
        if (bytes <= 0) {
            return 0;
        }
        int octave = 63 - Long.numberOfLeadingZeros(bytes);
        if (octave >= OCTAVES) {
            return BUCKETS - 1;
        }
        int fraction = (int) (octave >= STEP_BITS ? bytes >>> (octave - STEP_BITS) : bytes << (STEP_BITS - octave));
        return 1 + octave * STEPS_PER_OCTAVE + (fraction & STEPS_PER_OCTAVE - 1);
    }

    static long smallestSize(int bucket) {
        if (bucket == 0) {
            return 0;
        }
        int octave = (bucket - 1) / STEPS_PER_OCTAVE;
        long steps = STEPS_PER_OCTAVE + (bucket - 1) % STEPS_PER_OCTAVE;
        // Below four bytes an octave has fewer sizes than buckets; those left over are never looked up.
        return octave >= STEP_BITS ? steps << (octave - STEP_BITS) : steps >>> (STEP_BITS - octave);
    }

    private long[] tabulate(Collective collective) {
        Ways allowed = ways.get(collective.ordinal());
        long[] table = new long[BUCKETS];
        for (int bucket = 0; bucket < BUCKETS; bucket++) {
            table[bucket] = best(collective, allowed.algorithms, allowed.protocols, smallestSize(bucket))
                    .pack();
        }
        choices.set(collective.ordinal(), table); // whoever else makes it makes the same
        return table;
    }

    private List<Algorithm> algorithms(Collective collective) {
        List<Algorithm> existing = new ArrayList<>();
        List<Algorithm> allowed = new ArrayList<>();
        for (Algorithm algorithm : Algorithm.values()) {
            if (model.exists(collective, algorithm)) {
                existing.add(algorithm);
                if (overrides.algorithms().allows(collective, algorithm)) {
                    allowed.add(algorithm);
                }
            }
        }
        if (!allowed.isEmpty()) {
            return allowed;
        }
        String what = "JCCL_ALGO=" + overrides.algorithms() + ": " + collective.label() + " has only "
                + existing.stream().map(Algorithm::label).toList() + " with ranks="
                + model.shape().ranks()
                + " on machines=" + model.shape().machines();
        // All-reduce has every algorithm: a setting that fits nothing there can only be a mistake.
        if (overrides.algorithms().names(collective) || collective == Collective.ALL_REDUCE) {
            throw new IllegalArgumentException(what + "; allow one of these, or unset JCCL_ALGO");
        }
        notes.add(what + "; the setting does not apply to it");
        return existing;
    }

    private List<Protocol> protocols(Collective collective) {
        List<Protocol> allowed = new ArrayList<>();
        for (Protocol protocol : Protocol.values()) {
            if (overrides.protocols().allows(collective, protocol)) {
                allowed.add(protocol);
            }
        }
        return allowed;
    }

    private Choice best(Collective collective, List<Algorithm> algorithms, List<Protocol> protocols, long bytes) {
        Choice best = null;
        double bestMicros = Double.POSITIVE_INFINITY;
        for (Algorithm algorithm : algorithms) {
            if (algorithms.size() > 1 && algorithm == Algorithm.DIRECT && model.tooLargeForDirect(collective, bytes)) {
                continue;
            }
            for (Protocol protocol : protocols) {
                for (int channels : channelCounts()) {
                    int chunk = chunk(collective, algorithm, protocol, bytes, channels);
                    double micros = model.micros(collective, algorithm, protocol, bytes, channels, chunk);
                    if (micros < bestMicros) {
                        bestMicros = micros;
                        best = new Choice(algorithm, protocol, channels, chunk, zeroCopy(collective, bytes));
                    }
                }
            }
        }
        if (best == null) {
            throw new IllegalStateException("collective=" + collective.label() + " bytes=" + bytes + ": no choice of "
                    + algorithms + " and " + protocols);
        }
        return best;
    }

    private int chunk(Collective collective, Algorithm algorithm, Protocol protocol, long bytes, int channels) {
        int forced = overrides.chunkBytes();
        return forced > 0
                ? Math.min(forced, model.shape().slots().of(protocol))
                : model.bestChunk(collective, algorithm, protocol, bytes, channels);
    }

    /** In place means the direct algorithm in bulk: it is tried unless the settings forbid either. */
    private boolean zeroCopy(Collective collective, long bytes) {
        return model.worthZeroCopy(collective, bytes)
                && overrides.algorithms().allows(collective, Algorithm.DIRECT)
                && overrides.protocols().allows(collective, Protocol.SIMPLE);
    }

    /** Powers of two within the bounds, and the bounds. */
    private List<Integer> channelCounts() {
        int most = model.shape().channels();
        if (overrides.maxChannels() > 0) {
            most = Math.min(most, overrides.maxChannels());
        }
        int least = Math.min(most, Math.max(1, overrides.minChannels()));
        List<Integer> counts = new ArrayList<>();
        for (int count = least; count < most; count = Math.max(count + 1, Integer.highestOneBit(count) * 2)) {
            counts.add(count);
        }
        counts.add(most);
        return counts;
    }
}
