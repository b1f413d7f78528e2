package io.jccl.examples;

import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.HostBuffer;
import io.jccl.MessageStatus;
import io.jccl.Messages;
import java.util.Arrays;
import java.util.Locale;

/**
 * Measures how long messages take. Rank 0 sends a message to every other rank in turn, which sends it back; half of the
 * time is that of one message. The other ranks know neither the lengths nor the number of messages.
 */
public final class PingPong {

    private static final int DATA = 1;
    private static final int END = 2;
    private static final int BATCHES = 20;

    private PingPong() {}

    /** Runs the example; {@code --help} lists its options. */
    public static void main(String[] arguments) {
        Options options = new Options(PingPong.class, arguments);
        int largest = options.number("largest", 1 << 20, 1, 1 << 30, "length of the longest message in bytes");
        int factor = options.number("factor", 8, 2, 1 << 20, "factor between lengths, which begin at 8 bytes");
        int millis = options.number("millis", 200, 1, 60_000, "time for each length in milliseconds");
        options.check();
        try (Communicator comm = Communicator.fromEnvironment();
                HostBuffer buffer = HostBuffer.allocate(largest)) {
            if (comm.rank() > 0) {
                answer(comm.messages(), buffer.as(DataType.UINT8));
                return;
            }
            if (comm.size() < 2) {
                options.fail(comm, "ranks=" + comm.size() + ": expected at least 2");
            }
            Messages messages = comm.messages();
            for (int peer = 1; peer < comm.size(); peer++) { // warms up
                measure(messages, peer, buffer.as(DataType.UINT8).slice(0, Math.min(8, largest)), millis * 1e6);
            }
            for (long bytes = Math.min(8, largest); bytes <= largest; bytes *= factor) {
                DataBuffer message = buffer.as(DataType.UINT8).slice(0, bytes);
                double[] micros = new double[comm.size()];
                for (int peer = 1; peer < comm.size(); peer++) {
                    micros[peer] = measure(messages, peer, message, millis * 1e6);
                }
                Arrays.sort(micros);
                System.out.printf(Locale.ROOT, "bytes=%d us=%.3f%n", bytes, micros[comm.size() / 2]);
            }
            for (int peer = 1; peer < comm.size(); peer++) {
                messages.send(peer, END, DataBuffer.of(new byte[0]));
            }
        }
    }

    private static void answer(Messages messages, DataBuffer buffer) {
        while (true) {
            MessageStatus message = messages.receive(0, Messages.ANY, buffer);
            if (message.tag() == END) {
                return;
            }
            messages.send(0, DATA, buffer.slice(0, message.bytes()));
        }
    }

    /** Returns the median over batches of the time of one message, in microseconds. */
    private static double measure(Messages messages, int peer, DataBuffer message, double nanos) {
        int batch = 1;
        for (double took = 0; took < nanos / (2 * BATCHES); batch *= 2) {
            took = exchange(messages, peer, message, batch);
        }
        double[] micros = new double[BATCHES];
        for (int i = 0; i < BATCHES; i++) {
            micros[i] = exchange(messages, peer, message, batch) / batch / 2e3;
        }
        Arrays.sort(micros);
        return micros[BATCHES / 2];
    }

    private static double exchange(Messages messages, int peer, DataBuffer message, int count) {
        long begin = System.nanoTime();
        for (int i = 0; i < count; i++) {
            messages.send(peer, DATA, message);
            messages.receive(peer, DATA, message);
        }
        return System.nanoTime() - begin;
    }
}
