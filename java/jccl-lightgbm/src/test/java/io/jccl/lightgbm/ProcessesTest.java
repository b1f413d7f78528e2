package io.jccl.lightgbm;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.testing.RankProcesses;
import java.io.IOException;
import java.net.BindException;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Compares training over JCCL, by ranks that are processes, with training over LightGBM's own network of sockets. */
final class ProcessesTest {

    @TempDir
    Path folder;

    private RankProcesses.Builder processes() {
        return RankProcesses.in(folder);
    }

    @ParameterizedTest
    @CsvSource({"2,data,40", "3,data,40", "4,data,40", "2,voting,40", "4,voting,40", "3,data,3600"})
    void treesEqualThoseOfLightGbmsOwnNetwork(int size, String learner, int columns) throws Exception {
        try (RankProcesses ranks = processes()
                .start(size, TrainingRank.class, "compare", machines(size), Integer.toString(columns), learner)) {
            requireSameTrees(ranks, size);
        }
    }

    @Test
    void reductionsOtherThanSumsAreApplied() throws Exception {
        try (RankProcesses ranks = processes().start(2, TrainingRank.class, "many-categories")) {
            requireSameTrees(ranks, 2);
        }
    }

    @Test
    void killedRankIsNamedWithinSecondsAndTheOthersTrainTogether() throws Exception {
        try (RankProcesses ranks = processes().start(3, TrainingRank.class, "train")) {
            ranks.awaitOutput(0, "iteration 5\n");
            ranks.kill(1);
            for (int rank : new int[] {0, 2}) {
                ranks.awaitOutput(rank, "failed ranks [1]\n", Duration.ofSeconds(10));
            }
            for (int rank : new int[] {0, 2}) {
                assertThat(ranks.awaitExit(rank))
                        .as("exit status%s", ranks.allOutput())
                        .isZero();
            }
            assertThat(trees(ranks, 0)).startsWith("trees ").isEqualTo(trees(ranks, 2));
        }
    }

    @Test
    void errorOfLightGbmOnOneRankEndsTheOthers() throws Exception {
        try (RankProcesses ranks = processes().start(2, TrainingRank.class, "fail")) {
            assertThat(ranks.awaitExit(1))
                    .as("exit status%s", ranks.allOutput())
                    .isEqualTo(4);
            assertThat(ranks.output(1)).contains("LightGbmException: Unknown objective type name: nonsense");
            assertThat(ranks.awaitExit(0, Duration.ofSeconds(10)))
                    .as("exit status%s", ranks.allOutput())
                    .isEqualTo(3);
            assertThat(ranks.output(0)).contains("failed ranks [1]: ");
        }
    }

    private static void requireSameTrees(RankProcesses ranks, int size) throws IOException, InterruptedException {
        List<String> outcomes = new ArrayList<>();
        for (int rank = 0; rank < size; rank++) {
            assertThat(ranks.awaitExit(rank))
                    .as("exit status%s", ranks.allOutput())
                    .isZero();
            outcomes.add(trees(ranks, rank));
        }
        assertThat(outcomes.get(0)).as("of rank 0%s", ranks.allOutput()).endsWith(" are the same");
        assertThat(outcomes).as("of all ranks").containsOnly(outcomes.get(0));
    }

    private static String trees(RankProcesses ranks, int rank) {
        return ranks.output(rank)
                .lines()
                .filter(line -> line.startsWith("trees "))
                .collect(Collectors.joining());
    }

    /**
     * Returns addresses for LightGBM's own network, on ports that are free now. The ports are below those that the
     * system assigns to outgoing connections, so no such connection can take them before LightGBM does.
     */
    static String machines(int size) throws IOException {
        List<String> machines = new ArrayList<>();
        while (machines.size() < size) {
            int port = ThreadLocalRandom.current().nextInt(10_000, 32_000);
            try (ServerSocket socket = new ServerSocket(port)) {
                machines.add("127.0.0.1:" + socket.getLocalPort());
            } catch (BindException e) {
                continue; // tries another port
            }
        }
        return String.join(",", machines);
    }
}
