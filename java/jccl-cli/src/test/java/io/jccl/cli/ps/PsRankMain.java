package io.jccl.cli.ps;

import io.jccl.Communicator;
import io.jccl.CommunicatorConfig;
import io.jccl.DataBuffer;
import io.jccl.JcclException;
import io.jccl.PeerFailedException;
import io.jccl.ReduceOp;
import io.jccl.UniqueId;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/**
 * The main class of the processes of {@link PsRanks}, whose ranks are threads. Prints a line for each event that a test
 * waits for.
 */
public final class PsRankMain {

    /** How one rank differs from the others. */
    enum Fault {
        /** The rank behaves like the others. */
        NONE,
        /** The rank calls no operation after the first rounds. */
        ABSENT,
        /** The rank enters each operation late, after the first rounds. */
        SLOW,
        /** The rank enters each operation a little late. */
        A_LITTLE_SLOW,
        /** After the first rounds, the rank calls one operation with a different count from the other ranks. */
        MISMATCHED,
        /** The rank behaves as with {@link #ABSENT}. */
        NO_RECV,
        /** The rank never initialises. */
        NOT_INITIALISED,
        /**
         * After a failure, all other ranks reform the communicator without the failed ranks and with one process that
         * joins.
         */
        NO_REFORM
    }

    /**
     * The argument in place of the unique id if the rank reads its rendezvous from the environment, as ranks of a
     * launcher do.
     */
    static final String LAUNCHED = "launched";

    private static final int ROUNDS_BEFORE = 20;
    private static final long SLOW_MILLIS = 400;

    private PsRankMain() {}

    /**
     * Arguments: unique id, first rank of this process, number of its ranks, size, the rank that differs, and its
     * fault.
     */
    public static void main(String[] arguments) throws InterruptedException {
        UniqueId id = arguments[0].equals(LAUNCHED) ? null : UniqueId.parse(arguments[0]);
        int first = Integer.parseInt(arguments[1]);
        int count = Integer.parseInt(arguments[2]);
        int size = Integer.parseInt(arguments[3]);
        int differs = Integer.parseInt(arguments[4]);
        Fault fault = Fault.valueOf(arguments[5]);
        List<Thread> threads = new ArrayList<>();
        for (int rank = first; rank < first + count; rank++) {
            int mine = rank;
            boolean reforms = fault == Fault.NO_REFORM && mine != differs;
            Thread thread = new Thread(
                    () -> run(id, mine, size, mine == differs ? fault : Fault.NONE, reforms), "rank-" + rank);
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    private static void run(UniqueId id, int rank, int size, Fault fault, boolean reforms) {
        CommunicatorConfig config = CommunicatorConfig.builder()
                .timeout(Duration.ofSeconds(120))
                .initTimeout(Duration.ofSeconds(120))
                .build();
        if (fault == Fault.NOT_INITIALISED) {
            sleepForEver();
        }
        try (Communicator comm =
                id == null ? Communicator.fromEnvironment(config) : Communicator.init(id, rank, size, config)) {
            try {
                work(comm, fault);
            } catch (JcclException e) {
                print("FAILED " + rank + " " + e.getClass().getSimpleName());
                if (reforms && e instanceof PeerFailedException failure) {
                    reform(comm, failure.failedRanks());
                }
            }
            sleepForEver(); // keeps the process alive until a test has inspected it
        }
    }

    private static void reform(Communicator comm, Set<Integer> failed) {
        Set<Integer> survivors = new TreeSet<>();
        for (int rank = 0; rank < comm.size(); rank++) {
            survivors.add(rank);
        }
        survivors.removeAll(failed);
        try (Communicator next = comm.reform(survivors, 1)) {
            print("REFORMED " + next.rank());
            sleepForEver();
        }
    }

    private static void work(Communicator comm, Fault fault) {
        DataBuffer values = DataBuffer.of(new long[4096]);
        for (int round = 0; ; round++) {
            if (round == ROUNDS_BEFORE) {
                print("READY " + comm.rank());
                if (fault == Fault.ABSENT || fault == Fault.NO_RECV) {
                    sleepForEver();
                }
                if (fault == Fault.MISMATCHED) {
                    comm.allReduce(DataBuffer.of(new long[100]), ReduceOp.SUM).await();
                }
            }
            if (fault == Fault.SLOW && round >= ROUNDS_BEFORE) {
                sleep(SLOW_MILLIS);
            }
            if (fault == Fault.A_LITTLE_SLOW) {
                sleep(15);
            }
            comm.allReduce(values, ReduceOp.SUM).await();
        }
    }

    private static void sleepForEver() {
        sleep(Duration.ofMinutes(10).toMillis());
    }

    private static void sleep(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }

    private static synchronized void print(String line) {
        System.out.println(line);
        System.out.flush();
    }
}
