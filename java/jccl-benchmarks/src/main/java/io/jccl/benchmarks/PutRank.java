package io.jccl.benchmarks;

import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.HostBuffer;
import io.jccl.Window;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;

/**
 * A rank of {@code scripts/benchmark-windows}. Rank 0 puts to rank 1, which waits in a barrier, and writes the median time
 * of a put to a file.
 */
public final class PutRank {

    private static final int BATCHES = 1000;
    private static final int WARM_UP = 20_000;

    private PutRank() {}

    /**
     * Runs as the rank whose number and rendezvous are in the environment.
     *
     * @param arguments bytes of a put; number of puts before each flush; seconds of measuring; file for the result
     */
    public static void main(String[] arguments) throws Exception {
        int bytes = Integer.parseInt(arguments[0]);
        int puts = Integer.parseInt(arguments[1]);
        long nanos = (long) (Double.parseDouble(arguments[2]) * 1e9);
        try (Communicator comm = Communicator.fromEnvironment();
                Window window = comm.allocateWindow(bytes);
                HostBuffer memory = HostBuffer.allocate(bytes)) {
            comm.barrier().await();
            if (comm.rank() == 0) {
                DataBuffer source = memory.as(DataType.INT8);
                long warmUp = System.nanoTime() + nanos / 4;
                for (int i = 0; i < WARM_UP && System.nanoTime() - warmUp < 0; i += puts) {
                    put(window, source, puts);
                }
                double[] micros = new double[BATCHES];
                int batches = 0;
                int repeats = bytes <= 4096 ? 100 : 1; // a batch of short operations, because the clock costs time, too
                for (long end = System.nanoTime() + nanos;
                        batches < BATCHES && System.nanoTime() - end < 0;
                        batches++) {
                    long start = System.nanoTime();
                    for (int i = 0; i < repeats; i++) {
                        put(window, source, puts);
                    }
                    micros[batches] = (System.nanoTime() - start) / 1e3 / repeats / puts;
                }
                Arrays.sort(micros, 0, batches);
                String median = String.format(Locale.ROOT, "%.4f%n", micros[batches / 2]);
                Files.writeString(Path.of(arguments[3]), median);
            }
            comm.barrier().await();
        }
    }

    private static void put(Window window, DataBuffer source, int puts) {
        for (int i = 0; i < puts; i++) {
            window.put(1, 0, source);
        }
        window.flush(1);
    }
}
