package io.jccl;

import io.jccl.internal.Arguments;
import io.jccl.internal.Causes;
import io.jccl.internal.Threads;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Runs ranks as threads of this process: for tests, for examples, and for programs that divide their work among the
 * cores of one host.
 *
 * <pre>{@code
 * LocalRanks.run(4, comm -> {
 *     float[] values = {comm.rank()};
 *     comm.allReduce(values, ReduceOp.SUM).await();
 *     assertEquals(6, values[0]);
 * });
 * }</pre>
 */
public final class LocalRanks {

    private final AtomicReference<Throwable> failure = new AtomicReference<>();

    private LocalRanks() {}

    /**
     * The work of one rank.
     *
     * @param <E> the checked exceptions that the work may throw
     */
    @FunctionalInterface
    public interface Body<E extends Exception> {
        /**
         * Runs as one rank.
         *
         * @param communicator the communicator of all ranks; closed when this method returns
         */
        void run(Communicator communicator) throws E;
    }

    /** Calls {@link #run(int, CommunicatorConfig, Body)} without settings. */
    public static <E extends Exception> void run(int ranks, Body<E> body) throws E {
        run(ranks, CommunicatorConfig.defaults(), body);
    }

    /**
     * Runs a body once for each rank, all at the same time on separate threads, and returns when all have ended. If a
     * body throws, its communicator is aborted, so that the other ranks do not wait for it, and this method throws the
     * same exception.
     *
     * @param ranks the number of ranks, at least 1
     * @param config the settings of their communicator
     * @param body runs once for each rank
     * @throws E the exception that a body threw first
     * @throws BootstrapException if the ranks cannot initialise a communicator
     * @throws InterruptedCommunicationException if this thread is interrupted; the threads of all ranks are then
     *     interrupted too
     */
    public static <E extends Exception> void run(int ranks, CommunicatorConfig config, Body<E> body) throws E {
        if (ranks < 1) {
            throw new IllegalArgumentException("ranks=" + ranks + ": expected at least 1");
        }
        Arguments.required("config", config, CommunicatorConfig.EXPECTED);
        Arguments.required("body", body, "what each rank does");
        new LocalRanks().runAll(ranks, config, body);
    }

    private <E extends Exception> void runAll(int ranks, CommunicatorConfig config, Body<E> body) throws E {
        UniqueId id = UniqueId.create(config);
        List<Thread> threads = new ArrayList<>(ranks);
        boolean isInterrupted = false;
        try {
            for (int rank = 0; rank < ranks; rank++) {
                int mine = rank;
                Thread thread = new Thread(() -> runOne(id, mine, ranks, config, body), "rank-" + rank);
                thread.setDaemon(true);
                Threads.start(thread);
                threads.add(thread);
            }
        } catch (JcclException e) {
            failure.compareAndSet(null, e);
            threads.forEach(Thread::interrupt);
        }
        for (Thread thread : threads) {
            while (thread.isAlive()) {
                try {
                    thread.join();
                } catch (InterruptedException e) {
                    isInterrupted = true;
                    failure.compareAndSet(null, new InterruptedCommunicationException("the ranks were interrupted"));
                    threads.forEach(Thread::interrupt);
                }
            }
        }
        if (isInterrupted) {
            Thread.currentThread().interrupt();
        }
        Throwable thrown = failure.get();
        if (thrown != null) {
            throw LocalRanks.<E>unchecked(thrown);
        }
    }

    private void runOne(UniqueId id, int rank, int ranks, CommunicatorConfig config, Body<?> body) {
        try (Communicator communicator = Communicator.init(id, rank, ranks, config)) {
            try {
                body.run(communicator);
            } catch (Throwable e) { // includes failed assertions of tests
                if (failure.compareAndSet(null, e)) {
                    communicator.abort("its body threw " + Causes.describe(e));
                }
            }
        } catch (Throwable e) {
            failure.compareAndSet(null, e);
        }
    }

    /** Throws an exception of a body, which is unchecked or an {@code E}. */
    @SuppressWarnings("unchecked")
    private static <E extends Throwable> E unchecked(Throwable thrown) throws E {
        throw (E) thrown;
    }
}
