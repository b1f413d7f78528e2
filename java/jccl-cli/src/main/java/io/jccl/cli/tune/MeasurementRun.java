package io.jccl.cli.tune;

import io.jccl.Collective;
import io.jccl.TransportKind;
import java.util.List;
import java.util.TreeSet;

/**
 * What one group of ranks is to time: configurations beside each other, in rounds, so that all meet the same noise.
 *
 * @param transport that joins the ranks; with {@code p2p} they are threads of one process, else processes
 * @param ranks how many
 * @param collective the operation
 * @param configurations each has a communicator of its own
 * @param seconds the time for all rounds; the first is always made in full
 * @param secondsEach the time for one measurement
 * @param phase its place among all runs
 * @param progress whether its first rank shows how far it is
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

    /** The same run at another place, and with another time for all rounds. */
    MeasurementRun at(Phase where, double allRounds) {
        return new MeasurementRun(
                transport, ranks, collective, configurations, allRounds, secondsEach, where, progress);
    }

    /** How many measurements a round has. */
    int measurements() {
        return configurations.stream()
                .mapToInt(configuration -> configuration.sizes().size())
                .sum();
    }

    /** For people, for example {@code shm, 2 ranks}. */
    String title() {
        return transport.label() + ", " + ranks + (ranks == 1 ? " rank" : " ranks");
    }

    /** Whether the ranks are threads of one process. */
    boolean threads() {
        return transport == TransportKind.P2P;
    }

    /** All sizes of all configurations, ascending. */
    List<Long> sizes() {
        TreeSet<Long> sizes = new TreeSet<>();
        configurations.forEach(configuration -> sizes.addAll(configuration.sizes()));
        return List.copyOf(sizes);
    }
}
