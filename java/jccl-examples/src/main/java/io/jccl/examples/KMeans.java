package io.jccl.examples;

import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.ReduceOp;
import java.util.Arrays;
import java.util.Locale;
import java.util.SplittableRandom;

/**
 * k-means clustering. Each rank holds a part of the points. In each iteration, a rank assigns its points to their
 * nearest centres. One all-reduce adds up the points of each cluster over all ranks, and every rank computes the same
 * new centres.
 *
 * <p>The coordinates in this example are whole numbers, whose sums are exact: the centres do not depend on the number
 * of ranks.
 */
public final class KMeans {

    private static final long SEED = 42;
    private static final int BLOBS = 8;

    private final double[][] points; // of this rank
    private final double[][] centres;
    private final int[] assigned;

    private KMeans(double[][] points, double[][] centres) {
        this.points = points;
        this.centres = centres;
        this.assigned = new int[points.length];
        Arrays.fill(assigned, -1);
    }

    /** Runs the example; {@code --help} lists its options. */
    public static void main(String[] arguments) {
        Options options = new Options(KMeans.class, arguments);
        int count = options.number("points", 200_000, 1, 100_000_000, "points of all ranks together");
        int dimensions = options.number("dimensions", 8, 1, 1000, "coordinates of a point");
        int clusters = options.number("clusters", 8, 1, 10_000, "clusters to find");
        int iterations = options.number("iterations", 100, 1, 1_000_000, "iterations at most");
        options.check();
        try (Communicator comm = Communicator.fromEnvironment()) {
            int first = firstOf(comm.rank(), comm.size(), count);
            double[][] points = points(first, firstOf(comm.rank() + 1, comm.size(), count), dimensions);
            if (count / comm.size() < clusters) {
                options.fail(
                        comm,
                        "points=" + count + ": expected " + clusters + " or more for each of " + comm.size()
                                + " ranks, since the first rank chooses the first centres among its own");
            }
            KMeans clustering = new KMeans(points, firstCentres(comm, points, clusters));
            clustering.run(comm, iterations);
        }
    }

    /** Returns the index of the first item of a rank if {@code count} items are divided among {@code size} ranks. */
    private static int firstOf(int rank, int size, int count) {
        return (int) ((long) count * rank / size);
    }

    /**
     * Makes the points with the numbers from {@code first} to {@code end}, exclusive. Replace this with code that reads
     * a part of your data.
     */
    private static double[][] points(int first, int end, int dimensions) {
        SplittableRandom random = new SplittableRandom(SEED);
        double[][] blobs = new double[BLOBS][];
        Arrays.setAll(blobs, i -> random.doubles(dimensions).map(x -> 1000 * x).toArray());
        double[][] points = new double[end - first][dimensions];
        for (int i = 0; i < points.length; i++) {
            SplittableRandom own = new SplittableRandom(SEED + first + i);
            double[] blob = blobs[own.nextInt(BLOBS)];
            Arrays.setAll(points[i], d -> Math.rint(blob[d] + 60 * own.nextGaussian()));
        }
        return points;
    }

    /** Returns the first points of rank 0, on every rank. */
    private static double[][] firstCentres(Communicator comm, double[][] points, int clusters) {
        int dimensions = points[0].length;
        double[] all = new double[clusters * dimensions];
        if (comm.rank() == 0) {
            Arrays.setAll(all, i -> points[i / dimensions][i % dimensions]);
        }
        comm.broadcast(DataBuffer.of(all), 0).await();
        double[][] centres = new double[clusters][];
        Arrays.setAll(centres, c -> Arrays.copyOfRange(all, c * dimensions, (c + 1) * dimensions));
        return centres;
    }

    private void run(Communicator comm, int iterations) {
        int dimensions = centres[0].length;
        // For each cluster, the sums of its coordinates and the number of its points. At the end, the number of points
        // that changed their cluster.
        double[] sums = new double[centres.length * (dimensions + 1) + 1];
        DataBuffer buffer = DataBuffer.of(sums);
        long begin = System.nanoTime();
        long communication = 0;
        int done = 0;
        double moved = 1;
        while (done < iterations && moved > 0) {
            Arrays.fill(sums, 0);
            assign(sums);
            long issued = System.nanoTime();
            comm.allReduce(buffer, ReduceOp.SUM).await();
            communication += System.nanoTime() - issued;
            moveCentres(sums);
            moved = sums[sums.length - 1];
            done++;
            if (done % 10 == 1 || moved == 0) {
                print(comm, "iteration %d: %.0f points changed their cluster", done, moved);
            }
        }
        double millis = (System.nanoTime() - begin) / 1e6;
        for (int c = 0; c < centres.length; c++) {
            print(comm, "cluster %d: %.0f points", c, sums[c * (dimensions + 1) + dimensions]);
        }
        print(
                comm,
                "%.2f ms an iteration, %.1f %% of it in communication",
                millis / done,
                communication / 1e4 / millis);
        long hash = Arrays.deepHashCode(centres);
        if (comm.allReduce(hash, ReduceOp.MIN) != comm.allReduce(hash, ReduceOp.MAX)) {
            throw new IllegalStateException("hash=" + hash + ": expected the same centres on all ranks");
        }
        print(comm, "ranks=%d: the same centres, hash %08x", comm.size(), hash & 0xffff_ffffL);
    }

    /** Finds the nearest centre of each point, and adds the point to the sums of its cluster. */
    private void assign(double[] sums) {
        int dimensions = centres[0].length;
        for (int i = 0; i < points.length; i++) {
            int nearest = nearest(points[i]);
            int at = nearest * (dimensions + 1);
            for (int d = 0; d < dimensions; d++) {
                sums[at + d] += points[i][d];
            }
            sums[at + dimensions]++;
            if (assigned[i] != nearest) {
                assigned[i] = nearest;
                sums[sums.length - 1]++;
            }
        }
    }

    private int nearest(double[] point) {
        int nearest = 0;
        double smallest = Double.POSITIVE_INFINITY;
        for (int c = 0; c < centres.length; c++) {
            double distance = 0;
            for (int d = 0; d < point.length; d++) {
                double difference = point[d] - centres[c][d];
                distance += difference * difference;
            }
            if (distance < smallest) {
                smallest = distance;
                nearest = c;
            }
        }
        return nearest;
    }

    /** Moves each centre to the mean of its points. A centre without points stays. */
    private void moveCentres(double[] sums) {
        int dimensions = centres[0].length;
        for (int c = 0; c < centres.length; c++) {
            int at = c * (dimensions + 1);
            double count = sums[at + dimensions];
            for (int d = 0; count > 0 && d < dimensions; d++) {
                centres[c][d] = sums[at + d] / count;
            }
        }
    }

    /** Prints a line on rank 0. */
    private static void print(Communicator comm, String format, Object... values) {
        if (comm.rank() == 0) {
            System.out.printf(Locale.ROOT, format + "%n", values);
        }
    }
}
