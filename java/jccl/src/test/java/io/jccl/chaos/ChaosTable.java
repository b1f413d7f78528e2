package io.jccl.chaos;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;

/** Counts rounds by outcome, phase and fault. Thread-safe. */
final class ChaosTable {

    private static final int WIDTH = 18;

    private final Map<Fault, Map<Phase, int[]>> counts = new EnumMap<>(Fault.class);
    private final Map<Fault, Double> slowest = new EnumMap<>(Fault.class);
    private final List<String> failed = new ArrayList<>();

    synchronized void add(Round round, Judge.Decision decision) {
        counts.computeIfAbsent(round.fault(), fault -> new EnumMap<>(Phase.class))
                .computeIfAbsent(round.phase(), phase -> new int[Judge.Outcome.values().length])[
                decision.outcome().ordinal()]++;
        if (!Double.isNaN(decision.seconds())) {
            slowest.merge(round.fault(), decision.seconds(), Math::max);
        }
        if (decision.outcome() == Judge.Outcome.FAILED) {
            failed.add("    --seed " + round.seed() + "    # " + round + ": "
                    + decision.faults().get(0));
        }
    }

    synchronized boolean hasFailed() {
        return !failed.isEmpty();
    }

    /** Returns the table and the arguments that repeat the failed rounds. */
    synchronized String describe() {
        StringBuilder text = new StringBuilder("\nrounds by outcome: right / went on / ended / FAILED\n\n");
        text.append(cell("fault"));
        Stream.of(Phase.values()).forEach(phase -> text.append(cell(phase.label())));
        text.append("noticed at last\n");
        int[] all = new int[Judge.Outcome.values().length];
        counts.forEach((fault, phases) -> {
            text.append(cell(fault.label()));
            for (Phase phase : Phase.values()) {
                int[] cell = phases.getOrDefault(phase, new int[all.length]);
                text.append(cell(join(cell)));
                for (int i = 0; i < all.length; i++) {
                    all[i] += cell[i];
                }
            }
            Double seconds = slowest.get(fault);
            text.append(seconds == null ? "-" : String.format(Locale.ROOT, "%.2f s", seconds))
                    .append('\n');
        });
        text.append('\n').append("all: ").append(join(all)).append('\n');
        if (!failed.isEmpty()) {
            text.append("\nrepeat with scripts/check-chaos and\n");
            failed.forEach(line -> text.append(line.split("\\|")[0]).append('\n'));
        }
        return text.toString();
    }

    private static String join(int[] cell) {
        return cell[0] + " / " + cell[1] + " / " + cell[2] + " / " + cell[3];
    }

    private static String cell(String text) {
        return String.format("%-" + WIDTH + "s", text);
    }
}
