package io.jccl.tuning;

import io.jccl.Algorithm;
import io.jccl.Collective;
import io.jccl.Protocol;
import io.jccl.config.LoggedOnce;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Function;

/**
 * The algorithm-selection table of one communicator: the choice for every collective and size. The first look-up of a
 * collective makes its table; later look-ups allocate nothing.
 *
 * <p>Sizes are grouped into buckets, {@value #STEPS_PER_OCTAVE} between a power of two and the next. The choice of a
 * bucket is the best one for its smallest size, so that powers of two get exactly their best choice. Safe to share
 * between threads.
 */
public final class ChoiceTable {

    static final int STEPS_PER_OCTAVE = 4;
    private static final int STEP_BITS = 2;
    /** Number of octaves; sizes from 2^44 on share the last bucket. */
    private static final int OCTAVES = 44;

    private static final int BUCKETS = OCTAVES * STEPS_PER_OCTAVE + 1;

    private final TimeModel model;
    private final TuningOverrides overrides;
    private final List<String> notes = new ArrayList<>();
    private final List<List<Candidate>> candidates = new ArrayList<>();
    private final Set<Collective> changed = EnumSet.noneOf(Collective.class); // collectives with choices of a tuner
    private final AtomicReferenceArray<long[]> choices = new AtomicReferenceArray<>(Collective.values().length);

    /** An algorithm and protocol that can execute a collective. */
    public record Candidate(Algorithm algorithm, Protocol protocol) {}

    private ChoiceTable(TimeModel model, TuningOverrides overrides) {
        this.model = model;
        this.overrides = overrides;
        notes.addAll(model.notes());
        for (Collective collective : Collective.values()) {
            candidates.add(allowed(collective));
        }
    }

    /**
     * Makes the table. All ranks get the same table from equal arguments.
     *
     * @throws IllegalArgumentException if a setting excludes every candidate of a collective that it names, or of all
     *     collectives
     */
    public static ChoiceTable build(TimeModel model, TuningOverrides overrides) {
        return new ChoiceTable(model, overrides);
    }

    /**
     * Returns the packed {@link Choice} for an operation.
     *
     * @param bytes the larger of one rank's send and receive buffer, as in the size column of {@code jccl perf}
     */
    public long choose(Collective collective, long bytes) {
        return packed(collective)[bucket(bytes)];
    }

    /** Returns the choice for an operation as an object, for reports. */
    public Choice choice(Collective collective, long bytes) {
        return Choice.unpack(choose(collective, bytes));
    }

    /**
     * Returns the same table with other choices for some collectives.
     *
     * @param changed for each changed collective, a packed choice for each bucket
     * @throws IllegalArgumentException if this communicator cannot execute one of the choices
     */
    public ChoiceTable with(Map<Collective, long[]> changed) {
        ChoiceTable other = new ChoiceTable(model, overrides);
        changed.forEach((collective, packed) -> {
            long[] table = packed(collective).clone();
            if (packed.length != table.length) {
                throw new IllegalArgumentException(
                        collective.label() + " choices=" + packed.length + ": expected " + table.length);
            }
            for (int bucket = 0; bucket < table.length; bucket++) {
                long bytes = smallestSize(bucket);
                if (packed[bucket] != table[bucket]) {
                    table[bucket] = rebuild(collective, bytes, packed[bucket])
                            .orElseThrow(() -> new IllegalArgumentException(collective.label() + " bytes=" + bytes
                                    + ": no such choice with " + model.described()))
                            .pack();
                }
            }
            other.choices.set(collective.ordinal(), table);
            other.changed.add(collective);
        });
        return other;
    }

    /**
     * Returns the table for the same operations if their elements are narrowed between hosts; this table if the model
     * is the same. Choices that a tuner has changed stay.
     *
     * @param share number of bytes that cross hosts for each byte of the elements, at most 1
     */
    ChoiceTable narrowed(double share) {
        TimeModel other = model.narrowed(share);
        return other == model ? this : new ChoiceTable(this, other);
    }

    /** Replaces what narrowed operations do not have as the engine does: other protocols by SIMPLE, algorithms by rings. */
    private ChoiceTable(ChoiceTable exact, TimeModel narrowed) {
        model = narrowed;
        overrides = exact.overrides;
        for (Collective collective : Collective.values()) {
            Set<Candidate> allowed = new LinkedHashSet<>();
            for (Candidate candidate : exact.candidates(collective)) {
                boolean exists = narrowed.exists(collective, candidate.algorithm, Protocol.SIMPLE);
                allowed.add(new Candidate(exists ? candidate.algorithm : Algorithm.RING, Protocol.SIMPLE));
            }
            candidates.add(List.copyOf(allowed));
        }
        ChoiceTable untuned = new ChoiceTable(exact.model, overrides);
        for (Collective collective : exact.changed) {
            long[] own = untuned.packed(collective);
            long[] tuned = exact.packed(collective);
            long[] table = tabulate(collective);
            for (int bucket = 0; bucket < BUCKETS; bucket++) {
                table[bucket] = tuned[bucket] == own[bucket] ? table[bucket] : tuned[bucket];
            }
            changed.add(collective);
        }
    }

    /**
     * Returns the choice that an entry of another rank's table stands for; empty if this communicator has no such
     * choice.
     *
     * @param packed the entry; a returned choice has the same packed form
     */
    private Optional<Choice> rebuild(Collective collective, long bytes, long packed) {
        for (Candidate candidate : candidates(collective)) {
            if (Choice.has(packed, candidate.algorithm(), candidate.protocol())
                    && Choice.channels(packed) >= 1
                    && Choice.chunkBytes(packed) >= 1) {
                TuningOverrides exactly = overrides.exactly(Choice.channels(packed), Choice.chunkBytes(packed));
                return model
                        .candidates(collective, candidate.algorithm(), candidate.protocol(), bytes, exactly)
                        .stream()
                        .map(choice -> Choice.triesZeroCopy(packed) ? choice : choice.withoutZeroCopy())
                        .filter(choice -> choice.pack() == packed)
                        .findFirst();
            }
        }
        return Optional.empty();
    }

    /** Returns the packed choice of each bucket. */
    public long[] packed(Collective collective) {
        long[] table = choices.get(collective.ordinal());
        return table == null ? tabulate(collective) : table;
    }

    public List<Candidate> candidates(Collective collective) {
        return candidates.get(collective.ordinal());
    }

    public TuningOverrides overrides() {
        return overrides;
    }

    public double micros(Collective collective, Choice choice, long bytes) {
        return model.micros(collective, choice, bytes);
    }

    public boolean worthComparing(Collective collective, Algorithm algorithm, long bytes) {
        return model.worthComparing(collective, algorithm, bytes);
    }

    /** Returns the best choice with a given algorithm and protocol. */
    public Choice best(Collective collective, Candidate candidate, long bytes, TuningOverrides bounds) {
        Choice best = null;
        double bestMicros = Double.POSITIVE_INFINITY;
        for (Choice choice : model.candidates(collective, candidate.algorithm, candidate.protocol, bytes, bounds)) {
            double micros = model.micros(collective, choice, bytes);
            if (best == null || micros < bestMicros) {
                bestMicros = micros;
                best = choice;
            }
        }
        if (best == null) {
            throw new IllegalStateException(
                    "collective=" + collective.label() + " bytes=" + bytes + ": no choice of " + candidate);
        }
        return best;
    }

    /** Returns the predicted time of the choice for an operation, in microseconds. */
    public double predictedMicros(Collective collective, long bytes) {
        return model.micros(collective, choice(collective, bytes), bytes);
    }

    /** Returns the least time in microseconds in which the links can carry an operation as it is executed. */
    public double linkMicros(Collective collective, long bytes) {
        return model.linkMicros(collective, choice(collective, bytes), bytes);
    }

    /** Returns notes for the log about settings that do not apply to a collective; empty if all apply. */
    public List<String> notes() {
        return List.copyOf(notes);
    }

    public static int bucket(long bytes) {
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

    public static long smallestSize(int bucket) {
        if (bucket == 0) {
            return 0;
        }
        int octave = (bucket - 1) / STEPS_PER_OCTAVE;
        long steps = STEPS_PER_OCTAVE + (bucket - 1) % STEPS_PER_OCTAVE;
        // Below four bytes an octave has fewer sizes than buckets; the other buckets are never looked up.
        return octave >= STEP_BITS ? steps << (octave - STEP_BITS) : steps >>> (STEP_BITS - octave);
    }

    private long[] tabulate(Collective collective) {
        List<Candidate> allowed = candidates.get(collective.ordinal());
        long[] table = new long[BUCKETS];
        for (int bucket = 0; bucket < BUCKETS; bucket++) {
            table[bucket] = best(collective, allowed, smallestSize(bucket)).pack();
        }
        choices.set(collective.ordinal(), table); // concurrent threads make equal tables
        return table;
    }

    /**
     * Returns the candidates of a collective that the settings allow. Restricts the algorithms first, then their
     * protocols.
     */
    private List<Candidate> allowed(Collective collective) {
        List<Candidate> existing = new ArrayList<>();
        for (Algorithm algorithm : Algorithm.values()) {
            for (Protocol protocol : Protocol.values()) {
                if (model.exists(collective, algorithm, protocol)) {
                    existing.add(new Candidate(algorithm, protocol));
                }
            }
        }
        List<Candidate> some = restrict(collective, overrides.algorithms(), existing, Candidate::algorithm);
        return restrict(collective, overrides.protocols(), some, Candidate::protocol);
    }

    private <E extends Enum<E>> List<Candidate> restrict(
            Collective collective, Selection<E> selection, List<Candidate> existing, Function<Candidate, E> part) {
        List<Candidate> allowed = new ArrayList<>();
        for (Candidate candidate : existing) {
            if (selection.allows(collective, part.apply(candidate))) {
                allowed.add(candidate);
            }
        }
        if (!allowed.isEmpty()) {
            return allowed;
        }
        String what = selection.described() + ": " + collective.label() + " has only "
                + existing.stream().map(part).distinct().map(ChoiceTable::label).toList() + " with "
                + model.described();
        // All-reduce has every candidate that any collective has: a setting that allows none of them is a mistake.
        boolean mistaken = selection.names(collective) || collective == Collective.ALL_REDUCE;
        if (mistaken && !selection.isOfNccl()) {
            throw new IllegalArgumentException(what + "; allow one of these, or unset the setting");
        }
        if (mistaken) {
            LoggedOnce.warn(ChoiceTable.class, what + "; the setting is ignored for it");
        } else {
            notes.add(what + "; the setting does not apply to it");
        }
        return existing;
    }

    private static String label(Enum<?> value) {
        return value.name().toLowerCase(Locale.ROOT);
    }

    private Choice best(Collective collective, List<Candidate> allowed, long bytes) {
        boolean several = false;
        for (Candidate candidate : allowed) {
            several |= candidate.algorithm != allowed.get(0).algorithm;
        }
        Choice best = null;
        double bestMicros = Double.POSITIVE_INFINITY;
        for (Candidate candidate : allowed) {
            if (several && !model.worthComparing(collective, candidate.algorithm, bytes)) {
                continue;
            }
            Choice choice = best(collective, candidate, bytes, overrides);
            double micros = model.micros(collective, choice, bytes);
            if (micros < bestMicros) {
                bestMicros = micros;
                best = choice;
            }
        }
        if (best == null) {
            throw new IllegalStateException(
                    "collective=" + collective.label() + " bytes=" + bytes + ": no choice of " + allowed);
        }
        return best;
    }
}
