package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.AbortedException;
import io.jccl.Communicator;
import io.jccl.CommunicatorConfig;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.InterruptedCommunicationException;
import io.jccl.ReduceOp;
import io.jccl.Work;
import io.jccl.testing.Waiter;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Interrupts of threads that wait inside an operation. Because the operation has begun, the communicator fails on every
 * rank.
 */
@Timeout(value = 240, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class InterruptionTest {

    private static final int COUNT = 1000;
    private static final int ROUNDS = 30; // largest number of attempts; one must be prompt even on a busy host

    @Test
    void interruptOfAThreadThatRunsAnOperationIsReportedToAllRanks() {
        interruptUntilPrompt(
                LocalRanks.config().build(),
                "NativeEngine.run",
                comm -> comm.allReduce(DataBuffer.of(new float[COUNT]), ReduceOp.SUM));
    }

    @Test
    void interruptOfAThreadThatRunsAGroupIsReportedToAllRanks() {
        interruptUntilPrompt(
                LocalRanks.config().build(),
                "NativeEngine.run",
                comm -> comm.group(group -> {
                    group.allReduce(DataBuffer.of(new float[COUNT]), ReduceOp.SUM);
                    group.barrier();
                }));
    }

    @Test
    void interruptOfAThreadThatAwaitsADeviceIsReportedToAllRanks() {
        EmulatedGpus.use();
        try (DeviceMemory memory = new DeviceMemory(0, 4 * COUNT)) {
            interruptUntilPrompt(EmulatedGpus.config().build(), "KernelBackend.await", comm -> comm.on(memory.stream())
                    .allReduce(memory.elements(COUNT, DataType.FLOAT32), ReduceOp.SUM));
        }
    }

    @Test
    void interruptOfAThreadThatRunsAStagedOperationIsReportedToAllRanks() {
        EmulatedGpus.use();
        try (DeviceMemory memory = new DeviceMemory(0, 4 * COUNT)) {
            interruptUntilPrompt(
                    EmulatedGpus.config().setting("JCCL_GPU_HOST_STAGING", "on").build(),
                    "NativeEngine.run",
                    comm -> comm.on(memory.stream()).allReduce(memory.elements(COUNT, DataType.FLOAT32), ReduceOp.SUM));
        }
    }

    private static void interruptUntilPrompt(
            CommunicatorConfig config, String method, Function<Communicator, Work> operation) {
        List<Long> millis = new ArrayList<>();
        for (int round = 0; round < ROUNDS; round++) {
            OptionalLong one = interruptOne(config, method, operation);
            one.ifPresent(millis::add);
            if (one.orElse(Long.MAX_VALUE) <= Waiter.PROMPTLY.toMillis()) {
                return;
            }
        }
        throw new AssertionError("milliseconds from the interrupt to the end of the wait: " + millis);
    }

    /**
     * Interrupts rank 0's wait for ranks 1 and 2. Returns the ms until the wait ended, or nothing if the communicator's
     * own thread ran the operation.
     */
    private static OptionalLong interruptOne(
            CommunicatorConfig config, String method, Function<Communicator, Work> operation) {
        try (LocalRanks ranks = LocalRanks.start(3, config)) {
            Communicator comm = ranks.get(0);
            AtomicReference<Work> issued = new AtomicReference<>();
            Waiter waiter = Waiter.in(List.of(method, "OperationQueue.awaitOthers"), () -> {
                issued.set(operation.apply(comm));
                issued.get().await();
            });
            if (!waiter.isIn(method)) {
                comm.abort();
                assertThat(waiter.end()).isInstanceOf(AbortedException.class);
                return OptionalLong.empty();
            }
            Work work = issued.get();
            CompletableFuture<Void> future = work.toFuture();
            waiter.interrupt();
            assertThat(waiter.end())
                    .isInstanceOf(InterruptedCommunicationException.class)
                    .hasMessageContaining("on rank=0")
                    .hasMessageContaining("interrupted")
                    .hasCauseInstanceOf(AbortedException.class);
            assertThat(waiter.interruptedAtEnd()).isTrue();
            assertThatThrownBy(work::await).isInstanceOf(AbortedException.class);
            assertThat(future)
                    .failsWithin(LocalRanks.TIMEOUT)
                    .withThrowableThat()
                    .withCauseInstanceOf(AbortedException.class);
            // Receives instead of calling a collective, which would mismatch rank 0's collective.
            assertThatThrownBy(() ->
                            ranks.get(1).recv(2, DataBuffer.of(new long[1])).await())
                    .isInstanceOf(AbortedException.class)
                    .hasMessageContaining("on rank=0")
                    .hasMessageContaining("interrupted");
            return OptionalLong.of(waiter.millisAfterInterrupt());
        }
    }

    @Test
    void interruptOfASplitIsReportedToAllRanks() throws Exception {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            ranks.get(0).allReduce(DataBuffer.of(new float[COUNT]), ReduceOp.SUM);
            Waiter waiter = Waiter.in(
                            "CommunicatorImpl.split", () -> ranks.get(0).split(0, 0))
                    .interrupt();
            assertThat(waiter.end()).isInstanceOf(InterruptedCommunicationException.class);
            assertThat(waiter.interruptedAtEnd()).isTrue();
            // Receives instead of calling a collective, which would mismatch rank 0's collective.
            assertThatThrownBy(() ->
                            ranks.get(1).recv(0, DataBuffer.of(new long[1])).await())
                    .isInstanceOf(AbortedException.class)
                    .hasMessageContaining("on rank=0");
        }
    }
}
