package io.jccl.tuner;

import io.jccl.Collective;
import io.jccl.JcclException;
import io.jccl.tuning.Choice;
import io.jccl.tuning.ChoiceTable;
import io.jccl.tuning.ChoiceTable.Candidate;
import io.jccl.tuning.TuningOverrides;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/**
 * Applies a {@link Tuner} to a table. The tuner is asked about the smallest size of each bucket of the table. The
 * table's own choice stays if the tuner changes nothing, fails, or gives an invalid answer.
 *
 * <p>The direct algorithm has no entry in the tuner's table: it keeps its predicted time, and wins if that is less than
 * all entries. An entry with cost 0 always wins. If an entry wins whose cost the tuner has set, the operation does not
 * try zero copy, because that would be the direct algorithm.
 */
final class TunedChoices {

    private static final int ENTRIES = Tuner.ALGORITHMS * Tuner.PROTOCOLS;
    private static final int MAX_CHANNELS = 64;
    private static final int LINE = 64;
    private static final int RANGES_SHOWN = 8;

    private final ChoiceTable table;
    private final Map<Collective, long[]> changed = new EnumMap<>(Collective.class);
    private final List<String> changes = new ArrayList<>();
    private final List<String> problems = new ArrayList<>();

    private TunedChoices(ChoiceTable table) {
        this.table = table;
    }

    /** Asks the tuner about all collectives and sizes. */
    static TunedChoices ask(ChoiceTable table, Tuner tuner) {
        TunedChoices choices = new TunedChoices(table);
        for (Collective collective : Collective.values()) {
            if (Tuner.function(collective) >= 0) {
                choices.ask(collective, tuner);
            }
        }
        return choices;
    }

    /**
     * Returns the packed choices of all buckets for each collective of which at least one choice differs from the
     * table's.
     */
    Map<Collective, long[]> changed() {
        return changed;
    }

    /** Returns a line for each collective with changed choices. */
    List<String> changes() {
        return List.copyOf(changes);
    }

    /** Returns a line for each collective with refused answers. */
    List<String> problems() {
        return List.copyOf(problems);
    }

    private void ask(Collective collective, Tuner tuner) {
        long[] own = table.packed(collective);
        long[] tuned = own.clone();
        int refused = 0;
        String first = "";
        for (int bucket = 1; bucket < tuned.length; bucket++) {
            long bytes = ChoiceTable.smallestSize(bucket);
            if (ChoiceTable.bucket(bytes) != bucket) {
                continue; // no size falls into this bucket
            }
            try {
                tuned[bucket] = new Question(collective, bytes).ask(tuner).pack();
            } catch (JcclException e) {
                first = refused == 0 ? "bytes=" + bytes + ": " + e.getMessage() : first;
                refused++;
            }
        }
        if (refused > 0) {
            problems.add(collective.label() + " " + first + "; JCCL's choice is kept"
                    + (refused == 1 ? "" : ", as for " + (refused - 1) + " other sizes"));
        }
        if (!Arrays.equals(own, tuned)) {
            changed.put(collective, tuned);
            changes.add(collective.label() + " " + ranges(own, tuned));
        }
    }

    private static String ranges(long[] own, long[] tuned) {
        List<String> ranges = new ArrayList<>();
        for (int bucket = 1; bucket < own.length; ) {
            int end = bucket + 1;
            String text = describe(own[bucket], tuned[bucket]);
            while (end < own.length && describe(own[end], tuned[end]).equals(text)) {
                end++;
            }
            if (!text.isEmpty()) {
                String to = end == own.length ? "" : " to " + (ChoiceTable.smallestSize(end) - 1);
                ranges.add("from " + ChoiceTable.smallestSize(bucket) + to + " bytes " + text);
            }
            bucket = end;
        }
        int more = ranges.size() - RANGES_SHOWN;
        return String.join(", ", ranges.subList(0, Math.min(RANGES_SHOWN, ranges.size())))
                + (more > 0 ? ", and in " + more + " other ranges" : "");
    }

    private static String describe(long own, long tuned) {
        return own == tuned ? "" : describe(own, own, tuned) + " -> " + describe(tuned, own, tuned);
    }

    /** Describes a choice, including the bytes of a step if only these differ. */
    private static String describe(long choice, long own, long tuned) {
        String text = Choice.algorithm(choice).label() + "/"
                + Choice.protocol(choice).label() + " channels=" + Choice.channels(choice)
                + (Choice.triesZeroCopy(choice) ? " or in place" : "");
        return (int) own == (int) tuned ? text + " chunk=" + Choice.chunkBytes(choice) : text;
    }

    /** The question about one collective and size. */
    private final class Question {

        private final Collective collective;
        private final long bytes;
        private final List<Candidate> candidates;
        private final float[] costs = new float[ENTRIES];
        private final double[] micros; // predicted, by candidate

        Question(Collective collective, long bytes) {
            this.collective = collective;
            this.bytes = bytes;
            this.candidates = table.candidates(collective);
            this.micros = new double[candidates.size()];
            Arrays.fill(costs, Tuner.IGNORED);
            for (int i = 0; i < micros.length; i++) {
                micros[i] = table.micros(collective, best(candidates.get(i), table.overrides()), bytes);
                int entry = entry(candidates.get(i));
                if (entry >= 0) {
                    costs[entry] = (float) micros[i];
                }
            }
        }

        /** @throws JcclException if the tuner fails or gives an invalid answer */
        Choice ask(Tuner tuner) {
            float[] answered = costs.clone();
            int channels = tuner.ask(Tuner.function(collective), bytes, answered);
            check(answered, channels);
            Candidate winner = winner(answered);
            TuningOverrides overrides =
                    channels == 0 ? table.overrides() : table.overrides().withChannels(channels);
            Choice choice = best(winner, overrides);
            if (says(winner, answered)) {
                choice = choice.withoutZeroCopy();
            }
            return entry(winner) < 0 || table.overrides().chunkBytes() > 0 ? choice : askChunk(tuner, choice, winner);
        }

        private boolean says(Candidate candidate, float[] answered) {
            int entry = entry(candidate);
            return entry >= 0 && answered[entry] != costs[entry];
        }

        private void check(float[] answered, int channels) {
            for (int entry = 0; entry < ENTRIES; entry++) {
                float cost = answered[entry];
                if (cost != Tuner.IGNORED && !(cost >= 0 && cost < Float.POSITIVE_INFINITY)) {
                    throw new JcclException("the cost of " + Tuner.describe(entry) + " is " + cost
                            + ", expected microseconds, or -1 to ignore it");
                }
            }
            if (channels < 0 || channels > MAX_CHANNELS) {
                throw new JcclException(
                        "channels=" + channels + ", expected 1 to " + MAX_CHANNELS + ", or 0 to leave that open");
            }
        }

        private Candidate winner(float[] answered) {
            boolean several =
                    candidates.stream().map(Candidate::algorithm).distinct().count() > 1;
            Candidate winner = null;
            double least = Double.POSITIVE_INFINITY;
            for (int i = 0; i < micros.length; i++) {
                Candidate candidate = candidates.get(i);
                boolean says = says(candidate, answered);
                double cost = says ? answered[entry(candidate)] : micros[i];
                boolean counts =
                        says ? cost >= 0 : !several || table.worthComparing(collective, candidate.algorithm(), bytes);
                if (counts && cost < least) {
                    least = cost;
                    winner = candidate;
                }
            }
            for (int entry = 0; entry < ENTRIES; entry++) {
                if (costs[entry] == Tuner.IGNORED && answered[entry] >= 0 && answered[entry] <= least) {
                    throw new JcclException("prefers " + Tuner.describe(entry)
                            + ", which this communicator cannot execute or a setting forbids");
                }
            }
            if (winner == null) {
                throw new JcclException("leaves no algorithm and protocol that can be executed");
            }
            return winner;
        }

        private Choice askChunk(Tuner tuner, Choice choice, Candidate winner) {
            long chunk = tuner.askChunk(
                    Tuner.function(collective),
                    bytes,
                    Tuner.row(choice.algorithm()),
                    Tuner.column(choice.protocol()),
                    choice.channels(),
                    choice.chunkBytes());
            if (chunk == choice.chunkBytes()) {
                return choice;
            }
            if (chunk < 1) {
                throw new JcclException("a step of chunkSize=" + chunk + " bytes, expected 1 or more");
            }
            int whole = (int) Math.max(LINE, Math.min(chunk, Integer.MAX_VALUE) / LINE * LINE);
            Choice other = best(winner, table.overrides().exactly(choice.channels(), whole));
            return choice.tryZeroCopy() ? other : other.withoutZeroCopy();
        }

        private Choice best(Candidate candidate, TuningOverrides overrides) {
            return table.best(collective, candidate, bytes, overrides);
        }
    }

    private static int entry(Candidate candidate) {
        int row = Tuner.row(candidate.algorithm());
        return row < 0 ? -1 : row * Tuner.PROTOCOLS + Tuner.column(candidate.protocol());
    }
}
