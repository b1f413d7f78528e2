package io.jccl.examples;

import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.Window;
import java.nio.IntBuffer;

/**
 * Computes a picture of the Mandelbrot set, whose rows cost very different times. Each rank takes the next row from a
 * counter in the window of rank 0, and puts the row's pixels there. No rank serves the queue: rank 0 computes rows, too.
 */
public final class WorkQueue {

    private static final int DONE = 0; // id of the signal that follows a rank's last row
    private static final long COUNTER = 0; // offset of the number of rows that have been taken
    private static final long PIXELS = Long.BYTES; // offset of the first row

    private final Window window;
    private final int width;
    private final int height;
    private final int limit;

    private WorkQueue(Window window, int width, int height, int limit) {
        this.window = window;
        this.width = width;
        this.height = height;
        this.limit = limit;
    }

    /** Runs the example; {@code --help} lists its options. */
    public static void main(String[] arguments) {
        Options options = new Options(WorkQueue.class, arguments);
        int width = options.number("width", 960, 4, 10_000, "columns of the picture");
        int height = options.number("height", 640, 4, 10_000, "rows of the picture");
        int limit = options.number("limit", 2000, 1, 1_000_000, "iterations after which a point counts as inside");
        options.check();
        try (Communicator comm = Communicator.fromEnvironment();
                Window window = comm.allocateWindow(PIXELS + (long) width * height * Integer.BYTES)) {
            new WorkQueue(window, width, height, limit).run(comm);
        }
    }

    private void run(Communicator comm) {
        int[] row = new int[width];
        int computed = 0;
        for (long next = take(); next < height; next = take()) {
            compute(next, row);
            window.put(0, offset(next), DataBuffer.of(row));
            computed++;
        }
        window.signal(0, DONE);
        int[] shares = new int[comm.size()];
        comm.allGather(new int[] {computed}, shares).await();
        if (comm.rank() == 0) {
            for (int peer = 0; peer < comm.size(); peer++) {
                window.waitSignal(peer, DONE, 1); // this rank's rows are here, because the signal follows them
                System.out.printf("rank %d computed %d rows%n", peer, shares[peer]);
            }
            System.out.printf("ranks=%d: picture with hash %08x%n", comm.size(), hash());
        }
    }

    /** Returns the next row that no rank has taken. */
    private long take() {
        return window.fetchAdd(0, COUNTER, 1);
    }

    private long offset(long row) {
        return PIXELS + row * width * Integer.BYTES;
    }

    private void compute(long row, int[] pixels) {
        double imaginary = 2.0 * row / height - 1;
        for (int column = 0; column < width; column++) {
            double real = 3.0 * column / width - 2;
            double x = 0;
            double y = 0;
            int steps = 0;
            while (steps < limit && x * x + y * y <= 4) {
                double next = x * x - y * y + real;
                y = 2 * x * y + imaginary;
                x = next;
                steps++;
            }
            pixels[column] = steps;
        }
    }

    private int hash() {
        int hash = 0;
        for (int row = 0; row < height; row++) {
            IntBuffer pixels =
                    window.asByteBuffer(offset(row), width * Integer.BYTES).asIntBuffer();
            while (pixels.hasRemaining()) {
                hash = 31 * hash + pixels.get();
            }
        }
        return hash;
    }
}
