package io.jccl.examples;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.testing.RankProcesses;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Runs the examples as readers do, as several processes. Each example itself compares the results of its ranks. */
@Timeout(value = 180, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ExamplesTest {

    private static final int KILLED = 137;

    @TempDir
    Path folder;

    private RankProcesses.Builder processes() {
        return RankProcesses.in(folder).jvm("-XX:TieredStopAtLevel=1");
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3})
    void kMeansFindsTheSameCentresOnAnyNumberOfRanks(int size) throws Exception {
        String[] arguments = {"--points", "3000", "--clusters", "12"};
        String one = processes().run(1, KMeans.class, arguments).get(0);
        String several = processes().run(size, KMeans.class, arguments).get(0);
        assertThat(linesOf(several, "(iteration|cluster) ")).hasSizeGreaterThan(13);
        assertThat(linesOf(several, "(iteration|cluster) ")).isEqualTo(linesOf(one, "(iteration|cluster) "));
        assertThat(value(several, "ranks=" + size + ": the same centres, hash (\\w+)"))
                .isEqualTo(value(one, "ranks=1: the same centres, hash (\\w+)"));
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3})
    void aPlateCoolsTheSameOnAnyNumberOfRanks(int size) throws Exception {
        String[] arguments = {"--width", "40", "--height", "31", "--steps", "100"};
        String one = processes().run(1, HeatStencil.class, arguments).get(0);
        String several = processes().run(size, HeatStencil.class, arguments).get(0);
        assertThat(value(several, "ranks=" + size + ": (heat \\S+, hash \\w+)"))
                .isEqualTo(value(one, "ranks=1: (heat \\S+, hash \\w+)"));
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3})
    void aWorkQueueGivesEachRowToOneRank(int size) throws Exception {
        String[] arguments = {"--width", "60", "--height", "400", "--limit", "300"};
        String one = processes().run(1, WorkQueue.class, arguments).get(0);
        String several = processes().run(size, WorkQueue.class, arguments).get(0);
        assertThat(value(several, "ranks=" + size + ": picture with hash (\\w+)"))
                .isEqualTo(value(one, "ranks=1: picture with hash (\\w+)"));
        int rows = linesOf(several, "rank \\d+ computed").stream()
                .mapToInt(line -> Integer.parseInt(line.split(" ")[3]))
                .sum();
        assertThat(rows).isEqualTo(400);
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3})
    void dataParallelTrainingEqualsThatOfOneRankWithTheWholeBatch(int size) throws Exception {
        String[] arguments = {"--hidden", "64", "--steps", "100", "--check"};
        String output =
                processes().run(size, DataParallelTraining.class, arguments).get(0);
        value(output, "ranks=" + size + ": the same parameters, hash (\\w+)");
        value(output, "largest difference from one rank with the whole batch: (\\S+)");
        assertThat(number(output, "step 90: loss (\\S+)")).isLessThan(number(output, "step 0: loss (\\S+)") / 2);
    }

    @Test
    void roundedGradientsLowerTheLossAsExactOnesDo() throws Exception {
        String output = processes()
                .environment("JCCL_HOST_ID", rank -> "host" + rank)
                .run(2, RoundedGradients.class, "--samples", "400", "--features", "300", "--steps", "60")
                .get(0);
        String[] names = value(output, "loss after step, (.*)").split(", ");
        double begin = number(output, "step 0: (\\S+)");
        String[] losses = value(output, "step 60: (.*)").split(" ");
        assertThat(losses).hasSize(9).hasSameSizeAs(names);
        double exact = Double.parseDouble(losses[0]);
        assertThat(exact).isLessThan(begin - 0.05);
        for (int i = 1; i < losses.length; i++) {
            double left = Double.parseDouble(losses[i]) - exact;
            assertThat(left).as(names[i]).isBetween(-0.01, (begin - exact) / 20);
        }
    }

    /** With three ranks, the two teams have unequal sizes. */
    @ParameterizedTest
    @CsvSource({"2, 2", "3, 2", "4, 3"})
    void aSweepHasTheSameResultsWithAnyNumberOfRanksAndTeams(int size, int teams) throws Exception {
        String one = sweep(1, 1);
        String several = sweep(size, teams);
        assertThat(several).contains("(team 0)").contains("(team " + (teams - 1) + ")");
        assertThat(several.replaceAll(" \\(team .\\)", "")).isEqualTo(one.replaceAll(" \\(team .\\)", ""));
        List<String> losses = linesOf(one, "rate ");
        assertThat(losses).hasSize(9).anyMatch(line -> one.contains("best: " + line));
    }

    private String sweep(int size, int teams) throws Exception {
        String[] arguments = {"--points", "200", "--steps", "50", "--teams", Integer.toString(teams)};
        return processes().run(size, ParameterSweep.class, arguments).get(0);
    }

    @ParameterizedTest
    @CsvSource({"3, 1", "3, 0", "4, '0 2'"})
    void trainingContinuesAndLosesNoStepWhenRanksAreKilled(int size, String killed) throws Exception {
        String[] arguments = {"--steps", "5000", "--batch", "30"};
        Set<String> victims = Set.of(killed.split(" "));
        try (RankProcesses ranks = processes().start(size, ElasticTraining.class, arguments)) {
            ranks.awaitOutput(0, "step 1000: loss");
            victims.forEach(victim -> ranks.kill(Integer.parseInt(victim)));
            requireSameEnd(ranks, size, victims, arguments);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 2})
    void trainingContinuesWhenARankEndsItself(int victim) throws Exception {
        String dying = Integer.toString(victim);
        String[] arguments = {"--steps", "300", "--batch", "30", "--dying-step", "150", "--dying-rank", dying};
        try (RankProcesses ranks = processes().start(3, ElasticTraining.class, arguments)) {
            requireSameEnd(ranks, 3, Set.of(dying), "--steps", "300", "--batch", "30");
        }
    }

    /**
     * Two ranks are killed, one after the other, and processes replace them. The losses equal those of one undisturbed
     * rank.
     */
    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void processesThatJoinReplaceKilledRanks(int victim) throws Exception {
        String[] undisturbed = {"--steps", "20000", "--batch", "30"};
        String[] arguments = {"--steps", "20000", "--batch", "30", "--rejoin-after", "100"};
        try (RankProcesses ranks = processes().start(3, ElasticTraining.class, arguments)) {
            ranks.awaitOutput(0, "step 2000:");
            ranks.startJoining(arguments);
            ranks.kill(victim);
            int leader = victim == 0 ? 1 : 0;
            ranks.awaitOutput(leader, "3 ranks go on in generation 2");
            ranks.startJoining(arguments);
            ranks.kill(leader);
            String one = processes().run(1, ElasticTraining.class, undisturbed).get(0);
            String expected = value(one, "rank 0 of 1 in generation 0: (loss .*)");
            int newRank = 0;
            for (int process : List.of(2, 3, 4)) {
                assertThat(ranks.awaitExit(process)).as(ranks.output(process)).isZero();
                String pattern = "rank " + newRank++ + " of 3 in generation 4: (loss .*)";
                assertThat(value(ranks.output(process), pattern)).isEqualTo(expected);
            }
        }
    }

    /** Requires that the remaining ranks end with the weights and the losses of one undisturbed rank. */
    private void requireSameEnd(RankProcesses ranks, int size, Set<String> victims, String... undisturbed)
            throws Exception {
        String one = processes().run(1, ElasticTraining.class, undisturbed).get(0);
        String end = null;
        int newRank = 0;
        for (int rank = 0; rank < size; rank++) {
            int status = ranks.awaitExit(rank);
            if (victims.contains(Integer.toString(rank))) {
                assertThat(status).isEqualTo(KILLED);
                continue;
            }
            String output = ranks.output(rank);
            assertThat(status).as(output).isZero();
            String ownEnd = value(
                    output, "rank " + newRank + " of " + (size - victims.size()) + " in generation [1-9]: (loss .*)");
            end = end == null ? ownEnd : end;
            assertThat(ownEnd).isEqualTo(end);
            newRank++;
        }
        assertThat(end).isEqualTo(value(one, "of 1 in generation 0: (loss .*)"));
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3})
    void aTransformerSplitAmongRanksHasTheLogitsOfAnUnsplitOne(int size) throws Exception {
        String[] arguments = {
            "--layers", "2", "--heads", "4", "--head-size", "16", "--vocabulary", "50", "--tokens", "20", "--check"
        };
        String output = processes().run(size, TensorParallel.class, arguments).get(0);
        value(output, "ranks=" + size + ": the same logits, hash (\\w+)");
        value(output, "largest difference of a logit from one rank: (\\S+)");
        assertThat(number(output, "ranks=" + size + ": (\\S+) tokens/s")).isPositive();
        assertThat(number(output, "ranks=1: (\\S+) tokens/s")).isPositive();
    }

    @ParameterizedTest
    @ValueSource(
            classes = {
                KMeans.class,
                DataParallelTraining.class,
                RoundedGradients.class,
                ParameterSweep.class,
                ElasticTraining.class,
                TensorParallel.class
            })
    void wrongOptionsGetAUsageMessage(Class<?> example) throws Exception {
        try (RankProcesses ranks = processes().start(1, example, "--nonsense", "--steps", "many", "17")) {
            assertThat(ranks.awaitExit(0)).isEqualTo(2);
            assertThat(ranks.output(0))
                    .contains("option=--nonsense: there is none of this name", "argument=17: expected an option")
                    .containsPattern("steps=many: expected a number from 1 to|option=--steps: there is none")
                    .contains("usage: " + example.getName());
        }
    }

    @ParameterizedTest
    @CsvSource({
        "KMeans, --points, 10, points=10: expected 8 or more for each of 2 ranks",
        "DataParallelTraining, --batch, 7, batch=7: expected a multiple of the 2 ranks",
        "ParameterSweep, --teams, 3, 'teams=3: expected at most the number of ranks, 2'",
        "ElasticTraining, --dying-rank, 2, dying-rank=2 dying-step=1000: expected a rank below 2",
        "TensorParallel, --heads, 1, 'heads=1: expected at least the number of ranks, 2'"
    })
    void optionsThatDoNotFitTheNumberOfRanksGetAUsageMessage(
            String example, String option, String value, String message) throws Exception {
        Class<?> type = Class.forName("io.jccl.examples." + example);
        try (RankProcesses ranks = processes().start(2, type, option, value)) {
            for (int rank = 0; rank < 2; rank++) {
                assertThat(ranks.awaitExit(rank)).isEqualTo(2);
                assertThat(ranks.output(rank)).contains(message, "usage: ");
            }
        }
    }

    @Test
    void helpEndsWithoutAnError() throws Exception {
        assertThat(processes().run(1, KMeans.class, "--help").get(0))
                .contains("usage: io.jccl.examples.KMeans", "--points NUMBER", "points of all ranks together (200000)");
    }

    private static List<String> linesOf(String output, String beginning) {
        return output.lines()
                .filter(line -> Pattern.compile(beginning).matcher(line).lookingAt())
                .toList();
    }

    /** Returns the text of the pattern's group. Fails if the output does not contain the pattern. */
    private static String value(String output, String pattern) {
        Matcher matcher = Pattern.compile(pattern).matcher(output);
        assertThat(matcher.find()).as("\"%s\" in: %s", pattern, output).isTrue();
        return matcher.group(1);
    }

    private static double number(String output, String pattern) {
        return Double.parseDouble(value(output, pattern));
    }
}
