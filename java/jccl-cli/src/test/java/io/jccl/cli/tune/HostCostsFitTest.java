package io.jccl.cli.tune;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.jccl.Algorithm;
import io.jccl.Collective;
import io.jccl.Protocol;
import io.jccl.TransportKind;
import io.jccl.tuning.Choice;
import io.jccl.tuning.CommunicatorShape;
import io.jccl.tuning.CostModel;
import io.jccl.tuning.HostCosts;
import io.jccl.tuning.HostCosts.General;
import io.jccl.tuning.LinkCost;
import java.io.IOException;
import java.io.StringReader;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.commons.math3.linear.Array2DRowRealMatrix;
import org.apache.commons.math3.linear.ArrayRealVector;
import org.junit.jupiter.api.Test;

class HostCostsFitTest {

    private static CommunicatorShape shape(int ranks, int hosts, int cores, int channels) {
        return new CommunicatorShape(
                ranks,
                hosts,
                ranks / hosts,
                cores,
                channels,
                CommunicatorShape.treeDepthOver(hosts) + ranks / hosts - 1,
                TransportKind.SHM,
                1.25,
                new CommunicatorShape.SlotBytes(8192, 30_712, 262_144));
    }

    @Test
    void aWrittenProfileReadsBackTheSame() throws IOException {
        String text = HostCostsWriter.write(HostCosts.builtIn());
        HostCosts copy = HostCosts.read(new StringReader(text), "copy");
        assertThat(HostCostsWriter.write(copy)).isEqualTo(text);
        assertThat(copy.fingerprint()).isEqualTo(HostCosts.builtIn().fingerprint());
    }

    private static double[] leastSquares(double[][] factors, double... values) {
        return HostCostsFit.leastSquares(new Array2DRowRealMatrix(factors), new ArrayRealVector(values));
    }

    @Test
    void consistentEquationsAreSolved() {
        double[][] factors = {{1, 2, 0}, {0, 1, 1}, {3, 0, 1}, {1, 1, 1}};
        assertThat(leastSquares(factors, 5, 5, 6, 6)).containsExactly(new double[] {1, 2, 3}, within(1e-9));
    }

    @Test
    void anUnknownThatWouldBeNegativeIsZeroAndTheOthersAreFittedWithoutIt() {
        double[] solution = leastSquares(new double[][] {{1, 1}, {1, 3}}, 1, 0);
        assertThat(solution).containsExactly(new double[] {0.5, 0}, within(1e-9));
    }

    @Test
    void anUnknownWithoutAnEquationIsZero() {
        assertThat(leastSquares(new double[][] {{2, 0}}, 3)).containsExactly(new double[] {1.5, 0}, within(1e-9));
    }

    @Test
    void costsOfStepsAndOversubscriptionAreRecoveredFromPredictions() {
        HostCosts real = HostCosts.builtIn()
                .with(General.STEP_US, 0.31)
                .with(General.OVERSUBSCRIBED_HOP_US, 2.5)
                .with(General.ZERO_COPY_MIN_BYTES, 0);
        List<Measurement> chunks = new ArrayList<>();
        CommunicatorShape dedicated = shape(2, 1, 2, 1);
        for (int chunk = 1024; chunk <= 16 << 10; chunk *= 2) {
            for (long bytes : new long[] {16 << 10, 64 << 10}) {
                Choice choice = new Choice(Algorithm.RING, Protocol.SIMPLE, 1, chunk, false);
                chunks.add(predicted(real, dedicated, choice, bytes));
            }
        }
        assertThat(HostCostsFit.stepMicros(chunks)).hasValueCloseTo(0.31, within(1e-6));
        assertThat(HostCostsFit.stepMicros(chunks.subList(0, 1))).isEmpty();

        List<Measurement> oversubscribed = new ArrayList<>();
        for (Algorithm algorithm : HostCosts.ALGORITHMS) {
            Choice choice = new Choice(algorithm, Protocol.LL, 1, 1024, false);
            oversubscribed.add(predicted(real, shape(4, 1, 2, 1), choice, 64));
        }
        assertThat(HostCostsFit.oversubscribed(real, General.OVERSUBSCRIBED_HOP_US, oversubscribed))
                .hasValueCloseTo(2.5, within(1e-6));
        assertThat(HostCostsFit.oversubscribed(real, General.OVERSUBSCRIBED_HOP_US, chunks))
                .isEmpty();
        assertThat(HostCostsFit.oversubscribed(
                        real.with(General.OVERSUBSCRIBED_DIRECT_FACTOR, 9),
                        General.OVERSUBSCRIBED_DIRECT_FACTOR,
                        oversubscribed))
                .hasValueCloseTo(real.get(General.OVERSUBSCRIBED_DIRECT_FACTOR), within(1e-6));
        HostCosts fitted = HostCostsFit.fit(HostCosts.builtIn(), oversubscribed, "oversubscribed");
        assertThat(fitted.link(TransportKind.SHM, Algorithm.RING, Protocol.LL))
                .as("rows come from ranks with a core each")
                .isEqualTo(HostCosts.builtIn().link(TransportKind.SHM, Algorithm.RING, Protocol.LL));
    }

    private static Measurement predicted(HostCosts costs, CommunicatorShape shape, Choice choice, long bytes) {
        double micros = new CostModel(costs, shape).micros(Collective.ALL_REDUCE, choice, bytes);
        return new Measurement(shape, Collective.ALL_REDUCE, choice, bytes, micros);
    }

    /** Fits times that the model itself predicts. The fit must find the constants behind the prediction. */
    @Test
    void calibrationRecoversTheConstantsBehindItsMeasurements() {
        HostCosts base = HostCosts.builtIn();
        LinkCost truth = new LinkCost(0.4, List.of(0.09, 0.07, 0.05, 0.06, 0.2));
        for (Algorithm algorithm : HostCosts.ALGORITHMS) {
            String key = HostCosts.key(TransportKind.SHM, algorithm, Protocol.SIMPLE);
            HostCosts real = base.with("truth", Map.of(key, truth));
            List<Measurement> measurements = new ArrayList<>();
            for (int ranks : new int[] {2, 4}) {
                CommunicatorShape shape = shape(ranks, 1, 8, 1);
                CostModel model = new CostModel(real, shape);
                for (long bytes = 8; bytes <= 16 << 20; bytes *= 8) {
                    Choice choice = new Choice(algorithm, Protocol.SIMPLE, 1, 32 << 10, false);
                    double micros = model.micros(Collective.ALL_REDUCE, choice, bytes);
                    measurements.add(new Measurement(shape, Collective.ALL_REDUCE, choice, bytes, micros));
                }
            }
            HostCosts fitted = HostCostsFit.fit(base, measurements, "test");
            LinkCost found = fitted.link(TransportKind.SHM, algorithm, Protocol.SIMPLE);
            assertThat(found.hopMicros()).isCloseTo(truth.hopMicros(), within(0.01));
            for (int bytes : LinkCost.SIZES) {
                assertThat(found.nanosPerByte(bytes)).isCloseTo(truth.nanosPerByte(bytes), within(0.001));
            }
            assertThat(fitted.link(TransportKind.SHM, algorithm, Protocol.LL))
                    .isEqualTo(base.link(TransportKind.SHM, algorithm, Protocol.LL));
        }
    }

    @Test
    void oneSizeAloneChangesNothing() {
        HostCosts base = HostCosts.builtIn();
        Choice choice = new Choice(Algorithm.RING, Protocol.LL, 1, 1024, false);
        Measurement only = new Measurement(shape(2, 1, 2, 1), Collective.ALL_REDUCE, choice, 8, 77);
        assertThat(HostCostsFit.fit(base, List.of(only), "test").link(TransportKind.SHM, Algorithm.RING, Protocol.LL))
                .isEqualTo(base.link(TransportKind.SHM, Algorithm.RING, Protocol.LL));
    }
}
