package io.jccl.examples;

import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.Window;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Locale;

/**
 * Diffusion of heat on a plate. Each rank has some rows of the plate. In each step it puts its first and its last row
 * into the windows of its neighbours, whose signals say when the neighbours' rows are here.
 */
public final class HeatStencil {

    // Ids of signals: the row comes from the rank with the rows above or below.
    private static final int FROM_ABOVE = 0;
    private static final int FROM_BELOW = 1;

    private final Communicator comm;
    private final Window window;
    private final int width;
    private double[][] rows; // this rank's rows, between a row of the rank above and one of the rank below

    private HeatStencil(Communicator comm, Window window, int width, int begin, int end, int height) {
        this.comm = comm;
        this.window = window;
        this.width = width;
        this.rows = new double[end - begin + 2][width];
        for (int row = begin; row < end; row++) {
            for (int column = width / 4; column < width / 2 && row >= height / 4 && row < height / 2; column++) {
                rows[row - begin + 1][column] = 100; // the hot part of the plate
            }
        }
    }

    /** Runs the example; {@code --help} lists its options. */
    public static void main(String[] arguments) {
        Options options = new Options(HeatStencil.class, arguments);
        int width = options.number("width", 256, 4, 100_000, "columns of the plate");
        int height = options.number("height", 256, 4, 100_000, "rows of the plate");
        int steps = options.number("steps", 200, 1, 1_000_000, "steps of time");
        options.check();
        try (Communicator comm = Communicator.fromEnvironment()) {
            if (comm.size() > height) {
                options.fail(comm, "height=" + height + ": expected at least the number of ranks, " + comm.size());
            }
            int begin = (int) ((long) height * comm.rank() / comm.size());
            int end = (int) ((long) height * (comm.rank() + 1) / comm.size());
            // Two places for each neighbour's row: a neighbour can be one step ahead, but not two.
            try (Window window = comm.allocateWindow(4L * width * Double.BYTES)) {
                HeatStencil plate = new HeatStencil(comm, window, width, begin, end, height);
                for (int step = 0; step < steps; step++) {
                    plate.step(step % 2);
                }
                plate.report();
            }
        }
    }

    private void step(int parity) {
        int above = comm.rank() - 1;
        int below = comm.rank() + 1;
        if (above >= 0) {
            window.putSignal(above, place(FROM_BELOW, parity), DataBuffer.of(rows[1]), FROM_BELOW);
        }
        if (below < comm.size()) {
            window.putSignal(below, place(FROM_ABOVE, parity), DataBuffer.of(rows[rows.length - 2]), FROM_ABOVE);
        }
        if (above >= 0) {
            read(above, FROM_ABOVE, parity, rows[0]);
        }
        if (below < comm.size()) {
            read(below, FROM_BELOW, parity, rows[rows.length - 1]);
        }
        double[][] next = new double[rows.length][width];
        for (int row = 1; row < rows.length - 1; row++) {
            for (int column = 0; column < width; column++) {
                double left = column == 0 ? 0 : rows[row][column - 1];
                double right = column == width - 1 ? 0 : rows[row][column + 1];
                double around = left + right + rows[row - 1][column] + rows[row + 1][column];
                next[row][column] = rows[row][column] + 0.2 * (around - 4 * rows[row][column]);
            }
        }
        rows = next;
    }

    /** Returns where a neighbour's row is in the window. */
    private long place(int from, int parity) {
        return (2L * from + parity) * width * Double.BYTES;
    }

    private void read(int neighbour, int from, int parity, double[] row) {
        window.waitSignal(neighbour, from, 1);
        ByteBuffer memory = window.asByteBuffer(place(from, parity), width * Double.BYTES);
        memory.asDoubleBuffer().get(row);
    }

    /** Prints a hash of the plate, which does not depend on the number of ranks, and the heat that is left. */
    private void report() {
        ByteBuffer own = ByteBuffer.allocate((rows.length - 2) * width * Double.BYTES);
        Arrays.stream(rows, 1, rows.length - 1).flatMapToDouble(Arrays::stream).forEach(own::putDouble);
        long hash = 0;
        double heat = 0;
        for (byte[] part : comm.allGatherBytes(own.array())) {
            for (ByteBuffer left = ByteBuffer.wrap(part); left.hasRemaining(); ) {
                double value = left.getDouble();
                heat += value;
                hash = 31 * hash + Double.hashCode(value);
            }
        }
        if (comm.rank() == 0) {
            System.out.printf(Locale.ROOT, "ranks=%d: heat %.3f, hash %08x%n", comm.size(), heat, hash & 0xffff_ffffL);
        }
    }
}
