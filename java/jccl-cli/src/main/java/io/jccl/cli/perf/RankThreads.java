package io.jccl.cli.perf;

import io.jccl.Communicator;
import io.jccl.UniqueId;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;

/** Runs all ranks as threads of this process. If a rank fails, the others are aborted and its exception is thrown. */
final class RankThreads {

    private static final long ABORT_SECONDS = 10;

    private final PerfOptions options;
    private final int ranks;
    private final ConcurrentLinkedQueue<Throwable> failures = new ConcurrentLinkedQueue<>();
    private final ConcurrentLinkedQueue<Communicator> communicators = new ConcurrentLinkedQueue<>();
    private volatile long wrong;

    RankThreads(PerfOptions options, int ranks) {
        this.options = options;
        this.ranks = ranks;
    }

    /** Runs the ranks to their end; returns the number of wrong elements. */
    long run(Reporter reporter) throws InterruptedException {
        UniqueId id = UniqueId.create(options.communicatorConfig(0));
        CountDownLatch failed = new CountDownLatch(1);
        List<Thread> threads = new ArrayList<>();
        for (int rank = 0; rank < ranks; rank++) {
            int mine = rank;
            Thread thread =
                    new Thread(() -> runRank(id, mine, mine == 0 ? reporter : Reporter.SILENT, failed), "rank-" + rank);
            thread.setDaemon(true); // a stuck rank must not keep the process alive
            threads.add(thread);
            thread.start();
        }
        Thread aborter = new Thread(() -> abortAfter(failed), "perf-abort");
        aborter.setDaemon(true);
        aborter.start();
        for (Thread thread : threads) {
            joinUntilFailed(thread, failed);
        }
        Throwable first = failures.peek();
        if (first instanceof RuntimeException e) {
            throw e;
        }
        if (first instanceof Error e) {
            throw e;
        }
        return wrong;
    }

    private void runRank(UniqueId id, int rank, Reporter reporter, CountDownLatch failed) {
        try (Communicator communicator = Communicator.init(id, rank, ranks, options.communicatorConfig(rank))) {
            communicators.add(communicator);
            runRank(communicator, rank, reporter, failed);
        } catch (RuntimeException | Error e) { // any failure must end the other ranks too
            fail(e, failed);
        }
    }

    /**
     * Runs a rank, and records its failure before its communicator is closed. Closing makes the other ranks fail, and
     * their failures must come after the cause.
     */
    private void runRank(Communicator communicator, int rank, Reporter reporter, CountDownLatch failed) {
        try {
            long wrongHere = new RankRun(options, communicator, reporter).run();
            if (rank == 0) {
                wrong = wrongHere;
            }
        } catch (RuntimeException | Error e) {
            fail(e, failed);
        }
    }

    private void fail(Throwable failure, CountDownLatch failed) {
        failures.add(failure);
        failed.countDown();
    }

    private void abortAfter(CountDownLatch failed) {
        try {
            failed.await();
            communicators.forEach(Communicator::abort);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static void joinUntilFailed(Thread thread, CountDownLatch failed) throws InterruptedException {
        while (thread.isAlive() && failed.getCount() > 0) {
            thread.join(100);
        }
        thread.join(ABORT_SECONDS * 1000);
    }
}
