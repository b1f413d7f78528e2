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

/** One rank's part in a run. All ranks have the same times, so all make the same decisions. */
final class MeasurementRank {

    /**
     * A configuration is not timed again at a size if its best time there exceeds the best time of all configurations
     * by this factor.
     */
    private static final double HOPELESS = 4;

    private static final int FAIR_ROUNDS = 2;
    /**
     * Number of untimed rounds of the smallest operation. If ranks spin on every core, the JIT compiler gets little
     * time, and every communicator brings it new code.
     */
    private static final int WARMUP_ROUNDS = 25;

    /**
     * Number of rounds after which the communicators are initialised again. Where the kernel places a connection in
     * memory and in the caches makes the connection slower or faster until it is closed.
     */
    private static final int ROUNDS_OF_A_COMMUNICATOR = 6;

    /** Initialises the communicators one after the other; {@code index} counts them. */
    @FunctionalInterface
    interface CommunicatorFactory {
        Communicator create(int index, CommunicatorConfig config);
    }

    private final MeasurementRun run;
    private final Progress progress;
    private final CommunicatorFactory factory;
    /** The communicator of each configuration. */
    private final List<Communicator> communicators = new ArrayList<>();

    private int made;
    /** The times by size, then by configuration. */
    private final Map<Long, Map<Integer, Times>> times = new TreeMap<>();

    MeasurementRank(MeasurementRun run, Progress progress, CommunicatorFactory factory) {
        this.run = run;
        this.progress = progress;
        this.factory = factory;
    }

    /** Initialises the communicators, times all configurations until the time is up, and closes them. */
    List<Times> run() {
        show("initialisation", 0);
        try (Communicator lead = initialise(Configuration.automatic(run.transport(), List.of()))) {
            run.configurations().forEach(configuration -> communicators.add(initialise(configuration)));
            List<Long> sizes = run.sizes();
            try (Timing timing = new Timing(lead, sizes.get(sizes.size() - 1), run.secondsEach())) {
                rounds(timing);
            }
        } finally {
            progress.clear();
            communicators.forEach(Communicator::close);
        }
        return times.values().stream()
                .flatMap(configurations -> configurations.values().stream())
                .map(MeasurementRank::warm)
                .toList();
    }

    /**
     * Returns the times without the first round, which runs cold code at some sizes, unless there are few other rounds.
     */
    private static Times warm(Times all) {
        int rounds = all.micros().size();
        return rounds > FAIR_ROUNDS
                ? new Times(
                        all.configuration(),
                        all.bytes(),
                        List.copyOf(all.micros().subList(1, rounds)))
                : all;
    }

    private Communicator initialise(Configuration configuration) {
        return factory.create(made++, configuration.config());
    }

    /**
     * Initialises the communicators again. Those with shared buffers stay, because the buffers belong to the
     * communicator that allocated them.
     */
    private void renew(Timing timing) {
        for (int index = 0; index < communicators.size(); index++) {
            Configuration configuration = run.configurations().get(index);
            if (!configuration.sharedMemory()) {
                communicators.get(index).close();
                communicators.set(index, initialise(configuration));
            }
        }
        warmUp(timing, 1);
    }

    private void warmUp(Timing timing, int rounds) {
        long smallest = run.sizes().get(0);
        for (int round = 0; round < rounds; round++) {
            show("warm-up", 0);
            for (int configuration = 0; configuration < run.configurations().size(); configuration++) {
                micros(timing, configuration, smallest);
            }
        }
    }

    private double micros(Timing timing, int configuration, long bytes) {
        return timing.micros(
                communicators.get(configuration),
                run.collective(),
                bytes,
                run.configurations().get(configuration).sharedMemory());
    }

    private void rounds(Timing timing) {
        warmUp(timing, WARMUP_ROUNDS);
        long begin = System.nanoTime();
        double spent = 0;
        for (int round = 0; spent * (round + 1) <= run.seconds() * Math.max(1, round); round++) {
            if (round > 0 && round % ROUNDS_OF_A_COMMUNICATOR == 0) {
                renew(timing);
            }
            for (long bytes : run.sizes()) {
                show("round " + (round + 1) + ", " + ByteSizes.format(bytes), secondsSince(begin));
                time(timing, bytes, round);
            }
            spent = timing.max(secondsSince(begin));
        }
    }

    private static double secondsSince(long begin) {
        return (System.nanoTime() - begin) / 1e9;
    }

    private void show(String what, double seconds) {
        progress.show(run.phase().describe(run, what, seconds));
    }

    private void time(Timing timing, long bytes, int round) {
        Map<Integer, Times> ofSize = times.computeIfAbsent(bytes, any -> new TreeMap<>());
        double best = ofSize.values().stream().mapToDouble(Times::median).min().orElse(Double.POSITIVE_INFINITY);
        int count = run.configurations().size();
        for (int i = 0; i < count; i++) {
            int index = (i + round) % count; // configurations take turns at being first
            Configuration configuration = run.configurations().get(index);
            Times before = ofSize.get(index);
            if (configuration.sizes().contains(bytes) && (before == null || !isHopeless(before, best))) {
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
