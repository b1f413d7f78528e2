package io.jccl.integration;

import io.jccl.Communicator;
import io.jccl.CommunicatorConfig;
import io.jccl.UniqueId;
import io.jccl.testing.Resources;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.IntFunction;

/** Ranks as threads of this JVM, with a communicator for each. */
final class LocalRanks implements AutoCloseable {

    /** Factor for time limits: 5 in the virtual machine of scripts/rdma-vm, whose emulated processor is slow. */
    static final int SLOWNESS = Resources.IN_RDMA_VM ? 5 : 1;

    /** Time-out far above the time that a healthy test needs, and below the time limits of tests. */
    static final Duration TIMEOUT = Duration.ofSeconds(30L * SLOWNESS);

    /** A task of one rank. */
    @FunctionalInterface
    interface RankTask<T> {
        T run(Communicator comm) throws Exception;
    }

    /** A task of one rank without a result. */
    @FunctionalInterface
    interface RankAction {
        void run(Communicator comm) throws Exception;
    }

    private final ExecutorService threads;
    private final List<Communicator> communicators;

    private final UniqueId id;

    private LocalRanks(UniqueId id, ExecutorService threads, List<Communicator> communicators) {
        this.id = id;
        this.threads = threads;
        this.communicators = communicators;
    }

    static CommunicatorConfig.Builder config() {
        return CommunicatorConfig.builder().timeout(TIMEOUT).initTimeout(TIMEOUT);
    }

    static LocalRanks start(int size) {
        return start(size, config().build());
    }

    static LocalRanks start(int size, CommunicatorConfig config) {
        return start(size, rank -> config);
    }

    static LocalRanks start(int size, IntFunction<CommunicatorConfig> configs) {
        ExecutorService threads = Executors.newFixedThreadPool(size, LocalRanks::newThread);
        try {
            UniqueId id = UniqueId.create(configs.apply(0));
            List<Callable<Communicator>> tasks = new ArrayList<>();
            for (int rank = 0; rank < size; rank++) {
                int mine = rank;
                tasks.add(() -> Communicator.init(id, mine, size, configs.apply(mine)));
            }
            return new LocalRanks(id, threads, results(threads, tasks));
        } catch (Throwable e) {
            threads.shutdownNow();
            throw e;
        }
    }

    private static Thread newThread(Runnable work) {
        Thread thread = new Thread(work, "test-rank");
        thread.setDaemon(true);
        return thread;
    }

    /** Returns the unique id with which the ranks were initialised. */
    UniqueId id() {
        return id;
    }

    int size() {
        return communicators.size();
    }

    Communicator get(int rank) {
        return communicators.get(rank);
    }

    /** Runs a task for all ranks at the same time, each on its own thread, and returns the results by rank. */
    <T> List<T> call(RankTask<T> task) {
        List<Callable<T>> tasks = new ArrayList<>();
        for (Communicator comm : communicators) {
            tasks.add(() -> task.run(comm));
        }
        return results(threads, tasks);
    }

    /** Runs an action for all ranks at the same time, each on its own thread. */
    void run(RankAction action) {
        call(comm -> {
            action.run(comm);
            return null;
        });
    }

    /** Starts a task of one rank on a thread of the pool. */
    <T> Future<T> submit(int rank, RankTask<T> task) {
        Communicator comm = communicators.get(rank);
        return threads.submit(() -> task.run(comm));
    }

    private static <T> List<T> results(ExecutorService threads, List<Callable<T>> tasks) {
        List<Future<T>> futures = new ArrayList<>();
        for (Callable<T> task : tasks) {
            futures.add(threads.submit(task));
        }
        List<T> results = new ArrayList<>();
        AssertionError failure = null;
        for (int rank = 0; rank < futures.size(); rank++) {
            try {
                results.add(futures.get(rank).get(2 * TIMEOUT.toSeconds(), TimeUnit.SECONDS));
            } catch (ExecutionException | TimeoutException | CancellationException e) {
                Throwable cause = e instanceof ExecutionException ? e.getCause() : e;
                AssertionError mine = new AssertionError("rank " + rank + ": " + cause, cause);
                if (failure == null) {
                    failure = mine;
                } else {
                    failure.addSuppressed(mine);
                }
            } catch (InterruptedException e) {
                throw new AssertionError("interrupted while ranks run", e);
            }
        }
        if (failure != null) {
            throw failure;
        }
        return results;
    }

    @Override
    public void close() {
        try {
            run(Communicator::close);
        } finally {
            threads.shutdownNow();
        }
    }
}
