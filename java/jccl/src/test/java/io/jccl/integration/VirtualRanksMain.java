package io.jccl.integration;

import io.jccl.Communicator;
import io.jccl.CommunicatorConfig;
import io.jccl.DataBuffer;
import io.jccl.InterruptedCommunicationException;
import io.jccl.ReduceOp;
import io.jccl.UniqueId;
import io.jccl.Work;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.nio.LongBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Runs ranks as virtual threads through the life of a communicator, from init to close. The argument is the number of
 * ranks. Prints DONE, or what went wrong and the stacks of all threads. Needs a JDK with virtual threads.
 */
final class VirtualRanksMain {

    private static final int ROUNDS = 200;
    private static final Duration TIMEOUT = Duration.ofSeconds(20);
    private static final CommunicatorConfig CONFIG =
            LocalRanks.config().timeout(TIMEOUT).initTimeout(TIMEOUT).build();

    private VirtualRanksMain() {}

    /** The work of a thread. */
    @FunctionalInterface
    private interface Part {
        void run() throws Exception;
    }

    public static void main(String[] args) throws Exception {
        int size = Integer.parseInt(args[0]);
        UniqueId id = UniqueId.create(CONFIG);
        CountDownLatch interrupted = new CountDownLatch(1);
        List<CompletableFuture<Void>> ranks = new ArrayList<>();
        for (int rank = 0; rank < size; rank++) {
            int mine = rank;
            ranks.add(startVirtual(() -> live(id, mine, size, interrupted)));
        }
        try {
            CompletableFuture.allOf(ranks.toArray(new CompletableFuture<?>[0]))
                    .get(2 * TIMEOUT.toSeconds(), TimeUnit.SECONDS);
            System.out.println("DONE");
        } catch (TimeoutException e) {
            System.out.println("HANGS");
            for (Map.Entry<Thread, StackTraceElement[]> one :
                    Thread.getAllStackTraces().entrySet()) {
                System.out.println(one.getKey() + "\n    " + List.of(one.getValue()));
            }
            Runtime.getRuntime().halt(1);
        }
    }

    private static void live(UniqueId id, int rank, int size, CountDownLatch interrupted) throws Exception {
        try (Communicator comm = Communicator.init(id, rank, size, CONFIG)) {
            sumUp(comm);
            try (Communicator part = comm.split(rank % 2, rank).orElseThrow()) {
                sumUp(part);
            }
            try (Communicator again = comm.shrink(List.of())) {
                again.barrier().await();
            }
            if (rank == 0) {
                interruptWait(comm);
                interrupted.countDown();
            }
            while (!interrupted.await(1, TimeUnit.MILLISECONDS)) {
                Thread.yield();
            }
        }
    }

    private static void sumUp(Communicator comm) {
        for (int round = 0; round < ROUNDS; round++) {
            LongBuffer values = ResultsTest.longs(comm.rank() + round);
            comm.allReduce(DataBuffer.of(values), ReduceOp.SUM).await();
            long expected = comm.size() * (comm.size() - 1) / 2 + (long) comm.size() * round;
            if (values.get(0) != expected) {
                throw new AssertionError("sum=" + values.get(0) + " expected=" + expected);
            }
            comm.barrier().await(TIMEOUT);
        }
    }

    /** Interrupts a wait for ranks that stay away. The wait must end, and the interrupt flag must be set again. */
    private static void interruptWait(Communicator comm) throws Exception {
        Work work = comm.barrier();
        CompletableFuture<Thread> waits = new CompletableFuture<>();
        CompletableFuture<Void> waiter = startVirtual(() -> {
            waits.complete(Thread.currentThread());
            try {
                work.await();
                throw new AssertionError("the barrier ended without the others");
            } catch (InterruptedCommunicationException e) {
                if (!Thread.interrupted()) {
                    throw new AssertionError("the interrupt flag is lost", e);
                }
            }
        });
        Thread thread = waits.get();
        while (thread.getState() != Thread.State.TIMED_WAITING) {
            Thread.sleep(1);
        }
        thread.interrupt();
        waiter.get();
    }

    private static CompletableFuture<Void> startVirtual(Part part) throws ReflectiveOperationException {
        MethodHandle start = MethodHandles.publicLookup()
                .findStatic(Thread.class, "startVirtualThread", MethodType.methodType(Thread.class, Runnable.class));
        CompletableFuture<Void> end = new CompletableFuture<>();
        Runnable body = () -> {
            try {
                part.run();
                end.complete(null);
            } catch (Throwable e) {
                end.completeExceptionally(e);
            }
        };
        try {
            start.invoke(body);
        } catch (Throwable e) {
            throw new IllegalStateException("no virtual thread can be started", e);
        }
        return end;
    }
}
