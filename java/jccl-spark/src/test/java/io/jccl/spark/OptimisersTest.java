package io.jccl.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;
import static org.assertj.core.api.Assertions.withinPercentage;

import io.jccl.Communicator;
import io.jccl.CommunicatorConfig;
import io.jccl.UniqueId;
import io.jccl.WireFormat;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Function;
import java.util.function.IntFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of the optimisers on two ranks, which are threads. */
class OptimisersTest {

    private static final int ROWS = 200;
    private static final int FEATURES = 300; // more than two blocks of the formats

    /**
     * Returns this rank's part of the chained Rosenbrock function and adds its gradient. Rank 0 has the terms of even
     * i, rank 1 those of odd i.
     */
    private static double rosenbrock(int rank, double[] x, double[] gradient) {
        double sum = 0;
        for (int i = 0; i + 1 < x.length; i++) {
            if (i % 2 == rank) {
                double valley = x[i + 1] - x[i] * x[i];
                double slope = 1 - x[i];
                sum += 100 * valley * valley + slope * slope;
                gradient[i] += -400 * x[i] * valley - 2 * slope;
                gradient[i + 1] += 200 * valley;
            }
        }
        return sum;
    }

    @Test
    void lbfgsFindsTheMinimumWithTheSameBitsOnAllRanks() throws Exception {
        List<Minimum> minima = onTwoRanks(all -> {
            int rank = all.communicator().rank();
            double[] start = {-1.2, 1, -1.2, 1, rank, rank}; // differs between the ranks; that of rank 0 is used
            return new Lbfgs(500, 1e-9).minimize(all, (x, gradient) -> rosenbrock(rank, x, gradient), start);
        });

        assertThat(minima.get(0).converged()).isTrue();
        assertThat(minima.get(0).weights()).containsExactly(new double[] {1, 1, 1, 1, 1, 1}, within(1e-6));
        assertThat(minima.get(0).value())
                .isLessThan(1e-12)
                .isEqualTo(minima.get(0).values()[minima.get(0).iterations()]);
        assertThat(minima.get(1).weights()).isEqualTo(minima.get(0).weights());
        assertThat(minima.get(1).values()).isEqualTo(minima.get(0).values());
    }

    @Test
    void gradientDescentFindsTheMinimumOfASumWithASharedPart() throws Exception {
        List<Minimum> minima = onTwoRanks(all -> {
            int rank = all.communicator().rank();
            Objective distance = new Objective() {
                @Override
                public double local(double[] weights, double[] gradient) {
                    gradient[0] += weights[0] - rank; // over both ranks: (w - 0)² / 2 + (w - 1)² / 2
                    return (weights[0] - rank) * (weights[0] - rank) / 2;
                }

                @Override
                public double shared(double[] weights, double[] gradient) {
                    gradient[0] += weights[0];
                    return weights[0] * weights[0] / 2;
                }
            };
            return new GradientDescent(0.1, 200, 1e-9).minimize(all, distance, new double[] {5});
        });

        assertThat(minima.get(0).converged()).isTrue();
        assertThat(minima.get(0).weights()[0]).isCloseTo(1.0 / 3, within(1e-8));
        assertThat(minima.get(0).iterations()).isLessThan(200);
        assertThat(minima.get(1).weights()).isEqualTo(minima.get(0).weights());
    }

    /** Logistic regression over rows that each rank draws, and a penalty that makes the minimum unique. */
    private static Objective logistic(int rank) {
        Random random = new Random(rank);
        double[][] rows = new double[ROWS][FEATURES];
        double[] labels = new double[ROWS];
        for (int row = 0; row < ROWS; row++) {
            double margin = 0;
            for (int i = 0; i < FEATURES; i++) {
                rows[row][i] = random.nextGaussian();
                margin += rows[row][i] * Math.sin(i);
            }
            labels[row] = margin + random.nextGaussian() > 0 ? 1 : 0;
        }
        return new Objective() {
            @Override
            public double local(double[] weights, double[] gradient) {
                double loss = 0;
                for (int row = 0; row < ROWS; row++) {
                    double margin = 0;
                    for (int i = 0; i < FEATURES; i++) {
                        margin += rows[row][i] * weights[i];
                    }
                    loss += Math.log1p(Math.exp(-Math.abs(margin))) + Math.max(margin, 0) - labels[row] * margin;
                    double error = 1 / (1 + Math.exp(-margin)) - labels[row];
                    for (int i = 0; i < FEATURES; i++) {
                        gradient[i] += error * rows[row][i];
                    }
                }
                return loss;
            }

            @Override
            public double shared(double[] weights, double[] gradient) {
                double penalty = 0;
                for (int i = 0; i < FEATURES; i++) {
                    gradient[i] += weights[i];
                    penalty += weights[i] * weights[i] / 2;
                }
                return penalty;
            }
        };
    }

    @ParameterizedTest
    @ValueSource(strings = {"bfloat16", "float16", "float8_block", "int8_block", "int8_block:seed=1"})
    void optimisersThatRoundGradientsBetweenHostsReachTheExactMinimum(String format) throws Exception {
        double[] start = new double[FEATURES];
        double exact = onTwoRanks(all -> new Lbfgs(200, 1e-9)
                        .minimize(all, logistic(all.communicator().rank()), start))
                .get(0)
                .value();
        for (boolean lbfgs : new boolean[] {true, false}) {
            List<Minimum> minima = onTwoHosts(WireFormat.parse(format), all -> {
                Objective objective = logistic(all.communicator().rank());
                return lbfgs
                        ? new Lbfgs(60, 1e-9).minimize(all, objective, start)
                        : new GradientDescent(0.005, 300, 1e-9).minimize(all, objective, start);
            });

            // The loss counts exactly, and its slope at the minimum is 0: a rounded gradient changes it little.
            assertThat(minima.get(0).value()).as("lbfgs=%s", lbfgs).isCloseTo(exact, withinPercentage(0.1));
            assertThat(minima.get(0).value()).isLessThan(minima.get(0).values()[0] * 0.8);
            assertThat(minima.get(1).weights()).isEqualTo(minima.get(0).weights());
        }
    }

    @Test
    void minimisationEndsAtTheLimitOfIterations() throws Exception {
        Minimum minimum = onTwoRanks(all -> new Lbfgs(3, 0)
                        .minimize(
                                all,
                                (x, gradient) -> rosenbrock(all.communicator().rank(), x, gradient),
                                new double[] {-1.2, 1}))
                .get(1);

        assertThat(minimum.iterations()).isEqualTo(3);
        assertThat(minimum.converged()).isFalse();
        assertThat(minimum.values()).isSortedAccordingTo((a, b) -> Double.compare(b, a));
    }

    @Test
    void objectiveThatIsNotANumberIsReportedOnAllRanks() throws Exception {
        List<String> errors = onTwoRanks(all -> {
            try {
                new GradientDescent(1, 1, 0)
                        .minimize(all, (x, gradient) -> all.communicator().rank() / 0.0, new double[] {1});
                return "none";
            } catch (ArithmeticException e) {
                return e.getMessage();
            }
        });

        assertThat(errors).allMatch(error -> error.startsWith("value=NaN gradient=0.0: expected finite numbers"));
    }

    @Test
    void badLimitsAndRatesAreNamed() {
        assertThatThrownBy(() -> new Lbfgs(-1, 0)).hasMessageStartingWith("maxIterations=-1");
        assertThatThrownBy(() -> new Lbfgs(1, Double.NaN)).hasMessageStartingWith("tolerance=NaN");
        assertThatThrownBy(() -> new GradientDescent(0, 1, 0)).hasMessageStartingWith("rate=0.0");
    }

    private static <R> List<R> onTwoRanks(Function<JcclAggregate, R> body) throws Exception {
        return on(rank -> CommunicatorConfig.defaults(), body);
    }

    /** Runs ranks that take each other for ranks of other hosts, so that they round what they send. */
    private static <R> List<R> onTwoHosts(WireFormat format, Function<JcclAggregate, R> body) throws Exception {
        return on(
                rank -> CommunicatorConfig.builder()
                        .hostId("host" + rank)
                        .wireFormat(format)
                        .build(),
                body);
    }

    private static <R> List<R> on(IntFunction<CommunicatorConfig> configs, Function<JcclAggregate, R> body)
            throws Exception {
        UniqueId id = UniqueId.create();
        ExecutorService threads = Executors.newFixedThreadPool(2);
        try {
            List<Future<R>> ranks = new ArrayList<>();
            for (int i = 0; i < 2; i++) {
                int rank = i;
                ranks.add(threads.submit(() -> {
                    try (Communicator comm = Communicator.init(id, rank, 2, configs.apply(rank))) {
                        return body.apply(JcclAggregate.over(comm));
                    }
                }));
            }
            return List.of(ranks.get(0).get(), ranks.get(1).get());
        } finally {
            threads.shutdownNow();
        }
    }
}
