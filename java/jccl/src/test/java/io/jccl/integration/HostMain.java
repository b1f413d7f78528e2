package io.jccl.integration;

import io.jccl.Communicator;
import io.jccl.CommunicatorConfig;
import io.jccl.DataBuffer;
import io.jccl.UniqueId;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Runs the ranks of one host as threads of one process. A launcher starts one process per host, because JVMs start
 * slowly on emulated processors. Prints {@code RESULT ok} for each rank whose results are all right.
 */
public final class HostMain {

    // long, because the processor is emulated and the network may be slow
    private static final Duration TIME_LIMIT = Duration.ofMinutes(3);

    private HostMain() {}

    /** Arguments: number of ranks on each host, number of cases. */
    public static void main(String[] arguments) throws InterruptedException, ExecutionException {
        int ranksEach = Integer.parseInt(arguments[0]);
        int cases = Integer.parseInt(arguments[1]);
        CommunicatorConfig config = CommunicatorConfig.builder()
                .initTimeout(TIME_LIMIT)
                .timeout(TIME_LIMIT)
                .build();
        try (Communicator hosts = Communicator.fromEnvironment(config)) {
            UniqueId id = sharedId(hosts, config);
            int size = hosts.size() * ranksEach;
            runAll(ranksEach, thread -> {
                int rank = hosts.rank() * ranksEach + thread;
                try (Communicator comm = Communicator.init(id, rank, size, config)) {
                    RankMain.sample(comm, cases);
                }
            });
        }
    }

    @FunctionalInterface
    private interface RankAction {
        void run(int thread);
    }

    /** Returns a unique id that the first host creates and broadcasts. */
    private static UniqueId sharedId(Communicator hosts, CommunicatorConfig config) {
        byte[] message = new byte[1 + UniqueId.MAX_BYTES];
        if (hosts.rank() == 0) {
            byte[] made = UniqueId.create(config).toBytes();
            message[0] = (byte) made.length;
            System.arraycopy(made, 0, message, 1, made.length);
        }
        hosts.broadcast(DataBuffer.of(message), 0).await();
        return UniqueId.fromBytes(Arrays.copyOfRange(message, 1, 1 + Byte.toUnsignedInt(message[0])));
    }

    private static void runAll(int threads, RankAction action) throws InterruptedException, ExecutionException {
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        try {
            List<Callable<Void>> tasks = new ArrayList<>();
            for (int i = 0; i < threads; i++) {
                int thread = i;
                tasks.add(() -> {
                    action.run(thread);
                    return null;
                });
            }
            for (Future<Void> ended : pool.invokeAll(tasks)) {
                ended.get();
            }
        } finally {
            pool.shutdownNow();
        }
    }
}
