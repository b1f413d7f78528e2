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
 * The ranks of one machine as threads of one process, which a launcher has started once per machine: JVMs take long to
 * start where processors are emulated. Prints {@code RESULT ok} for each rank whose every result was right.
 */
public final class MachineMain {

    // The machine is emulated, and its network may be slow.
    private static final Duration PATIENCE = Duration.ofMinutes(3);

    private MachineMain() {}

    /** Arguments: ranks of each machine, and how many cases they carry out. */
    public static void main(String[] arguments) throws InterruptedException, ExecutionException {
        int ranksEach = Integer.parseInt(arguments[0]);
        int cases = Integer.parseInt(arguments[1]);
        CommunicatorConfig config = CommunicatorConfig.builder()
                .initTimeout(PATIENCE)
                .timeout(PATIENCE)
                .build();
        try (Communicator machines = Communicator.fromEnvironment(config)) {
            UniqueId id = sharedId(machines, config);
            int size = machines.size() * ranksEach;
            runAll(ranksEach, thread -> {
                int rank = machines.rank() * ranksEach + thread;
                try (Communicator comm = Communicator.init(id, rank, size, config)) {
                    RankMain.sample(comm, cases);
                }
            });
        }
    }

    /** What one of the ranks does. */
    @FunctionalInterface
    private interface RankAction {
        void run(int thread);
    }

    /** An id that the first machine makes and tells the others. */
    private static UniqueId sharedId(Communicator machines, CommunicatorConfig config) {
        byte[] told = new byte[1 + UniqueId.MAX_BYTES];
        if (machines.rank() == 0) {
            byte[] made = UniqueId.create(config).toBytes();
            told[0] = (byte) made.length;
            System.arraycopy(made, 0, told, 1, made.length);
        }
        machines.broadcast(DataBuffer.of(told), 0).await();
        return UniqueId.fromBytes(Arrays.copyOfRange(told, 1, 1 + Byte.toUnsignedInt(told[0])));
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
