package io.jccl.cli.tune;

import io.jccl.Communicator;
import io.jccl.CommunicatorConfig;
import io.jccl.cli.output.ByteSizes;
import io.jccl.cli.output.Progress;
import io.jccl.cli.perf.Timing;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** One rank's part in a trial. All ranks come to the same times, so all take the same decisions. */
final class TrialRank {

    /** A way that even at its best is so many times slower than the best of its size is not timed again. */
    private static final double HOPELESS = 4;

    private static final int FAIR_ROUNDS = 2;
    /**
     * Untimed rounds of the smallest operation: with ranks that spin on every core the JIT compiler gets little time, and
     * every communicator brings it something new.
     */
    private static final int WARMUP_ROUNDS = 25;

    /** Forms the communicators one after the other. */
    @FunctionalInterface
    interface Forming {
        Communicator form(int index, CommunicatorConfig config);
    }

    private final Trial trial;
    private final Progress progress;
    private final List<Communicator> communicators = new ArrayList<>();
    /** By size, then by way. */
    private final Map<Long, Map<Integer, Times>> times = new TreeMap<>();

    TrialRank(Trial trial, Progress progress) {
        this.trial = trial;
        this.progress = progress;
    }

    /** How many communicators a trial forms. */
    static int communicators(Trial trial) {
        return trial.ways().size() + 1;
    }

    /** Forms the communicators, times all ways until the time is up, and closes them. */
    List<Times> run(Forming forming) {
        try {
            Communicator lead = form(forming, 0, Way.automatic(trial.transport(), List.of()));
            for (int way = 0; way < trial.ways().size(); way++) {
                form(forming, way + 1, trial.ways().get(way));
            }
            List<Long> sizes = trial.sizes();
            try (Timing timing = new Timing(lead, sizes.get(sizes.size() - 1), trial.secondsEach())) {
                rounds(timing);
            }
        } finally {
            progress.clear();
            communicators.forEach(Communicator::close);
        }
        return times.values().stream()
                .flatMap(ways -> ways.values().stream())
                .map(TrialRank::warm)
                .toList();
    }

    /** The first round still finds cold code at some sizes: it counts only where there are few others. */
    private static Times warm(Times all) {
        int rounds = all.micros().size();
        return rounds > FAIR_ROUNDS
                ? new Times(all.way(), all.bytes(), List.copyOf(all.micros().subList(1, rounds)))
                : all;
    }

    private Communicator form(Forming forming, int index, Way way) {
        Communicator communicator = forming.form(index, way.config());
        communicators.add(communicator);
        return communicator;
    }

    private void warmUp(Timing timing) {
        long smallest = trial.sizes().get(0);
        progress.begin(trial.title() + ", warm-up:", WARMUP_ROUNDS);
        for (int round = 0; round < WARMUP_ROUNDS; round++) {
            progress.step(ByteSizes.format(smallest));
            for (int way = 0; way < trial.ways().size(); way++) {
                micros(timing, way, smallest);
            }
        }
    }

    private double micros(Timing timing, int way, long bytes) {
        return timing.micros(
                communicators.get(way + 1),
                trial.collective(),
                bytes,
                trial.ways().get(way).sharedMemory());
    }

    private void rounds(Timing timing) {
        warmUp(timing);
        long begin = System.nanoTime();
        double spent = 0;
        for (int round = 0; spent * (round + 1) <= trial.seconds() * Math.max(1, round); round++) {
            progress.begin(
                    trial.title() + ", round " + (round + 1) + ":",
                    trial.sizes().size());
            for (long bytes : trial.sizes()) {
                progress.step(ByteSizes.format(bytes));
                time(timing, bytes, round);
            }
            spent = timing.max((System.nanoTime() - begin) / 1e9);
        }
    }

    private void time(Timing timing, long bytes, int round) {
        Map<Integer, Times> ofSize = times.computeIfAbsent(bytes, any -> new TreeMap<>());
        double best = ofSize.values().stream().mapToDouble(Times::median).min().orElse(Double.POSITIVE_INFINITY);
        int count = trial.ways().size();
        for (int i = 0; i < count; i++) {
            int index = (i + round) % count; // whoever comes first does so once
            Way way = trial.ways().get(index);
            Times before = ofSize.get(index);
            if (way.sizes().contains(bytes) && (before == null || !isHopeless(before, best))) {
                List<Double> micros = new ArrayList<>(before == null ? List.of() : before.micros());
                micros.add(micros(timing, index, bytes));
                ofSize.put(index, new Times(index, bytes, micros));
            }
        }
    }

    private static boolean isHopeless(Times before, double best) {
        return before.micros().size() >= FAIR_ROUNDS && Collections.min(before.micros()) > HOPELESS * best;
    }
}
