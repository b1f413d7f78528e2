package io.jccl.cli.tune;

import io.jccl.Collective;
import io.jccl.TransportKind;
import java.util.List;
import java.util.TreeSet;

/**
 * The measurements of one group of ranks. Each round times all configurations, so that all meet the same noise.
 *
 * @param transport transport between the ranks; with {@code p2p} they are threads of one process, else processes
 * @param ranks number of ranks
 * @param collective the operation
 * @param configurations the configurations, each of which has a communicator of its own
 * @param seconds time for all rounds; the first round is always complete
 * @param secondsEach time for one measurement
 * @param phase its place among all runs
 * @param progress true if its first rank shows the progress
 */
record MeasurementRun(
        TransportKind transport,
        int ranks,
        Collective collective,
        List<Configuration> configurations,
        double seconds,
        double secondsEach,
        Phase phase,
        boolean progress) {

    /** Returns the same run with another phase and another time for all rounds. */
    MeasurementRun at(Phase where, double allRounds) {
        return new MeasurementRun(
                transport, ranks, collective, configurations, allRounds, secondsEach, where, progress);
    }

    /** Returns the number of measurements of a round. */
    int measurements() {
        return configurations.stream()
                .mapToInt(configuration -> configuration.sizes().size())
                .sum();
    }

    /** Returns a title for people, for example {@code shm, 2 ranks}. */
    String title() {
        return transport.label() + ", " + ranks + (ranks == 1 ? " rank" : " ranks");
    }

    /** Returns true if the ranks are threads of one process. */
    boolean threads() {
        return transport == TransportKind.P2P;
    }

    /** Returns all sizes of all configurations, ascending. */
    List<Long> sizes() {
        TreeSet<Long> sizes = new TreeSet<>();
        configurations.forEach(configuration -> sizes.addAll(configuration.sizes()));
        return List.copyOf(sizes);
    }
}
