package io.jccl.cli.tune;

import io.jccl.TransportKind;
import io.jccl.tuning.CommunicatorShape;
import io.jccl.tuning.CostModel;
import io.jccl.tuning.HostCosts;
import io.jccl.tuning.HostCosts.General;
import io.jccl.tuning.LinkCost;
import io.jccl.tuning.OperationCost;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.apache.commons.math3.linear.Array2DRowRealMatrix;
import org.apache.commons.math3.linear.ArrayRealVector;
import org.apache.commons.math3.linear.RealMatrix;
import org.apache.commons.math3.linear.RealVector;
import org.apache.commons.math3.linear.SingularValueDecomposition;
import org.apache.commons.math3.stat.regression.SimpleRegression;

/**
 * Computes constants of {@link HostCosts} from measurements. A row belongs to a transport, algorithm and protocol. It
 * gets the hop time and the times per byte with which the model comes closest to the measurements. Closest means the
 * smallest sum of squared relative errors, so that microseconds and milliseconds count alike.
 *
 * <p>Rows need measurements with a core for each rank. Rows for local transports need measurements on one host. For
 * rows of the socket transport, force that transport on one host, or simulate several hosts. Only {@link
 * #oversubscribed} uses measurements with more ranks than cores. Rows with fewer than two sizes stay as they were.
 */
final class HostCostsFit {

    private static final double MIN_NANOS_PER_BYTE = 1e-4;
    /**
     * Weight of the differences between neighbouring times per byte: small, so that they decide only if nothing else
     * does.
     */
    private static final double SMOOTHING = 1e-4;
    /** Negative values with at most this magnitude are zero within rounding. */
    private static final double ROUNDING = 1e-12;
    /**
     * Largest factor by which a time per byte falls from one size to the next. If it fell faster, the model would
     * predict a larger operation to be faster.
     */
    private static final double STEEPEST_FALL = 2;

    private HostCostsFit() {}

    /**
     * Returns the profile with the rows that the measurements give.
     *
     * @param base profile from which the other rows and the general constants come
     * @param source host, command and date, for readers of the profile
     */
    static HostCosts fit(HostCosts base, List<Measurement> measurements, String source) {
        Map<String, List<Measurement>> groups = new LinkedHashMap<>();
        for (Measurement measurement : measurements) {
            if (!isOversubscribed(measurement)) {
                String key = HostCosts.key(
                        transport(measurement.shape()),
                        measurement.choice().algorithm(),
                        measurement.choice().protocol());
                groups.computeIfAbsent(key, any -> new ArrayList<>()).add(measurement);
            }
        }
        Map<String, LinkCost> rows = new LinkedHashMap<>();
        groups.forEach((key, group) -> {
            if (group.stream().mapToLong(Measurement::bytes).distinct().count() >= 2) {
                rows.put(key, solve(base, group));
            }
        });
        return base.with(source, rows);
    }

    /**
     * Returns the time of a step: how much longer operations of one size take for each additional step.
     *
     * @param measurements measurements of one algorithm, protocol and communicator with different chunks
     * @return the median over the sizes; empty if no size has several chunks, or if smaller chunks are not slower
     */
    static OptionalDouble stepMicros(List<Measurement> measurements) {
        Map<Long, List<Measurement>> sizes = new TreeMap<>();
        measurements.forEach(measurement -> sizes.computeIfAbsent(measurement.bytes(), any -> new ArrayList<>())
                .add(measurement));
        double[] slopes = sizes.values().stream()
                .mapToDouble(HostCostsFit::stepSlope)
                .filter(slope -> !Double.isNaN(slope))
                .sorted()
                .toArray();
        double median = slopes.length == 0 ? -1 : slopes[slopes.length / 2];
        return median > 0 ? OptionalDouble.of(median) : OptionalDouble.empty();
    }

    private static double stepSlope(List<Measurement> sameSize) {
        SimpleRegression line = new SimpleRegression();
        sameSize.forEach(measurement -> line.addData(cost(measurement).steps(), measurement.micros()));
        return line.getSlope();
    }

    /**
     * Returns the value of a constant with which the model comes closest to measurements with more ranks than cores.
     *
     * @param costs everything else that the model needs
     * @param constant a constant on which the predicted time depends linearly
     * @param measurements measurements, of which those without more ranks than cores are ignored
     * @return empty if no measurement depends on the constant, or if only a negative value would fit
     */
    static OptionalDouble oversubscribed(HostCosts costs, General constant, List<Measurement> measurements) {
        HostCosts without = costs.with(constant, 0);
        HostCosts one = costs.with(constant, 1);
        double factors = 0;
        double products = 0;
        for (Measurement measurement : measurements) {
            if (isOversubscribed(measurement)) {
                double base = predicted(without, measurement);
                double factor = (predicted(one, measurement) - base) / measurement.micros();
                factors += factor * factor;
                products += factor * (1 - base / measurement.micros());
            }
        }
        return factors > 0 && products >= 0 ? OptionalDouble.of(products / factors) : OptionalDouble.empty();
    }

    private static double predicted(HostCosts costs, Measurement measurement) {
        return new CostModel(costs, measurement.shape())
                .micros(measurement.collective(), measurement.choice(), measurement.bytes());
    }

    private static boolean isOversubscribed(Measurement measurement) {
        return measurement.shape().ranksPerCore() > 1;
    }

    private static TransportKind transport(CommunicatorShape shape) {
        return shape.oneHost() ? shape.localTransport() : TransportKind.SOCKET;
    }

    /** Fits the hop time and the times per byte by least squares, none below zero. */
    private static LinkCost solve(HostCosts base, List<Measurement> group) {
        int sizes = LinkCost.SIZES.size();
        // One equation for each measurement, and one for each pair of neighbouring times per byte.
        RealMatrix factors = new Array2DRowRealMatrix(group.size() + sizes - 1, 1 + sizes);
        RealVector values = new ArrayRealVector(group.size() + sizes - 1);
        for (int row = 0; row < group.size(); row++) {
            Measurement measurement = group.get(row);
            OperationCost cost = cost(measurement);
            double weight = 1 / measurement.micros();
            factors.setEntry(row, 0, (cost.localHops() + cost.netHops()) * weight);
            double[] shares = LinkCost.shares(measurement.bytes());
            for (int i = 0; i < sizes; i++) {
                factors.setEntry(row, 1 + i, cost.bytes() / 1000 * shares[i] * weight);
            }
            values.setEntry(row, (measurement.micros() - fixed(base, measurement, cost)) * weight);
        }
        double smoothing = largestColumn(factors) * SMOOTHING;
        for (int i = 1; i < sizes; i++) {
            factors.setEntry(group.size() + i - 1, i, -smoothing);
            factors.setEntry(group.size() + i - 1, i + 1, smoothing);
        }
        double[] solution = leastSquares(factors, values);
        List<Double> nanosPerByte = new ArrayList<>();
        double min = MIN_NANOS_PER_BYTE;
        for (int i = 1; i <= sizes; i++) {
            double value = Math.max(min, rounded(solution[i]));
            nanosPerByte.add(value);
            min = Math.max(MIN_NANOS_PER_BYTE, value / STEEPEST_FALL);
        }
        return new LinkCost(rounded(solution[0]), nanosPerByte);
    }

    private static double largestColumn(RealMatrix matrix) {
        return IntStream.range(0, matrix.getColumnDimension())
                .mapToDouble(column -> matrix.getColumnVector(column).getNorm())
                .max()
                .orElseThrow();
    }

    /**
     * Returns the unknowns with the smallest sum of squared errors, none of them negative. An unknown that would be
     * negative becomes zero, and the others are solved for again. An unknown that occurs in no equation is zero.
     */
    static double[] leastSquares(RealMatrix factors, RealVector values) {
        int[] rows = IntStream.range(0, factors.getRowDimension()).toArray();
        int[] open = IntStream.range(0, factors.getColumnDimension()).toArray();
        double[] solution = new double[open.length];
        while (open.length > 0) {
            RealVector found = new SingularValueDecomposition(factors.getSubMatrix(rows, open))
                    .getSolver()
                    .solve(values);
            int lowest = found.getMinIndex();
            if (found.getEntry(lowest) >= -ROUNDING) {
                for (int i = 0; i < open.length; i++) {
                    solution[open[i]] = Math.max(0, found.getEntry(i));
                }
                break;
            }
            int negative = open[lowest];
            open = Arrays.stream(open).filter(column -> column != negative).toArray();
        }
        return solution;
    }

    private static OperationCost cost(Measurement measurement) {
        return OperationCost.of(
                measurement.collective(), measurement.choice(), measurement.shape(), measurement.bytes());
    }

    private static double fixed(HostCosts base, Measurement measurement, OperationCost cost) {
        return base.get(General.OPERATION_US)
                + (measurement.choice().channels() - 1) * base.get(General.CHANNEL_US)
                + cost.steps() * base.get(General.STEP_US);
    }

    private static double rounded(double value) {
        return Math.round(value * 1e5) / 1e5;
    }
}
