package io.jccl.integration;

import io.jccl.Communicator;
import io.jccl.CommunicatorConfig;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.HostBuffer;
import io.jccl.JcclException;
import io.jccl.ReduceOp;
import io.jccl.UniqueId;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

/** An application that a container loads in its own class loader. {@link ReloadingMain} is the container. */
public final class ReloadedApplication {

    private static final int SIZE = 2;
    private static final int ELEMENTS = 1000;

    private ReloadedApplication() {}

    /**
     * Runs two ranks and returns when both have ended.
     *
     * @param mode words joined by {@code +}, which {@link ReloadingTest} explains
     * @param threads the container's threads, which outlive the application
     */
    public static void run(String mode, Executor threads) {
        UniqueId id = UniqueId.create();
        CompletableFuture<?>[] ranks = new CompletableFuture<?>[SIZE];
        for (int rank = 0; rank < SIZE; rank++) {
            int mine = rank;
            ranks[rank] = CompletableFuture.runAsync(() -> rank(mode, id, mine), threads);
        }
        CompletableFuture.allOf(ranks).join();
    }

    private static void rank(String mode, UniqueId id, int rank) {
        CommunicatorConfig.Builder config =
                CommunicatorConfig.builder().initTimeout(Duration.ofSeconds(60)).timeout(Duration.ofSeconds(60));
        if (mode.contains("socket")) {
            config.setting("JCCL_TRANSPORT", "socket");
        }
        Communicator communicator = Communicator.init(id, rank, SIZE, config.build());
        sum(communicator, "all ranks");
        if (mode.contains("split")) {
            try (Communicator half = communicator.split(0, rank).orElseThrow()) {
                sum(half, "split");
            }
        }
        if (mode.contains("host")) {
            HostBuffer buffer = HostBuffer.allocate(4 << 20);
            communicator.allReduce(buffer.as(DataType.FLOAT32), ReduceOp.SUM).await();
            if (!mode.contains("forget")) {
                buffer.close();
            }
        }
        if (mode.contains("fail")) {
            try {
                communicator.barrier().await(); // may still run on rank 0 when rank 1 aborts
                if (rank == 1) {
                    communicator.abort();
                }
                communicator.barrier().await();
                throw new AssertionError("a barrier passed after an abort");
            } catch (JcclException expected) {
                // The failure is expected; close() follows.
            }
        }
        if (!mode.contains("open")) {
            communicator.close();
        }
    }

    private static void sum(Communicator communicator, String what) {
        float[] ones = new float[ELEMENTS];
        Arrays.fill(ones, 1);
        communicator.allReduce(DataBuffer.of(ones), ReduceOp.SUM).await();
        if (ones[ELEMENTS - 1] != SIZE) {
            throw new AssertionError(what + ": sum=" + ones[ELEMENTS - 1] + ", expected " + SIZE);
        }
    }
}
