package io.jccl.integration;

import io.jccl.Communicator;
import io.jccl.CommunicatorConfig;
import io.jccl.DataBuffer;
import io.jccl.PeerFailedException;
import io.jccl.ReduceOp;
import io.jccl.UniqueId;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;

/**
 * One rank of {@link ElasticRounds}. All-reduces until ranks fail, shrinks the communicator to the survivors, reforms
 * it with processes that join, and starts over, until the file {@code stop} exists. Prints a line for each step that a
 * test checks.
 */
final class ElasticRank {

    private static final int COUNT = 4096;

    private final Path folder;
    private final int target;
    private Communicator comm;
    private long calls;

    private ElasticRank(Path folder, int target, Communicator comm) {
        this.folder = folder;
        this.target = target;
        this.comm = comm;
    }

    /** Arguments: folder, number of ranks, transport or {@code none}, then unique id and rank, or {@code join}. */
    public static void main(String[] arguments) {
        Path folder = Path.of(arguments[0]);
        int target = Integer.parseInt(arguments[1]);
        CommunicatorConfig.Builder config = LocalRanks.config()
                .initTimeout(Duration.ofSeconds(60))
                .setting(
                        "JCCL_MEMBER_FILE",
                        folder.resolve("member-" + ProcessHandle.current().pid())
                                .toString());
        if (!arguments[2].equals("none")) {
            config.setting("JCCL_TRANSPORT", arguments[2]);
        }
        boolean joins = arguments[3].equals("join");
        if (joins) {
            config.setting("JCCL_JOIN", "file:" + folder);
            print("JOINING");
        }
        Communicator comm = joins
                ? Communicator.fromEnvironment(config.build())
                : Communicator.init(
                        UniqueId.parse(arguments[3]), Integer.parseInt(arguments[4]), target, config.build());
        new ElasticRank(folder, target, comm).run();
    }

    private void run() {
        boolean done = false;
        while (!done) {
            try {
                grow();
                done = work();
            } catch (PeerFailedException e) {
                shrink(e.failedRanks());
            }
        }
        comm.close();
        print("DONE");
    }

    /** Shrinks the communicator to the ranks that remain. */
    private void shrink(Set<Integer> failedRanks) {
        Set<Integer> failed = new TreeSet<>(failedRanks);
        long begin = System.nanoTime();
        while (true) {
            try {
                Communicator next = comm.shrink(failed);
                comm.close();
                comm = next;
                print("SHRUNK" + text() + " without=" + failed + " ms=" + millis(begin));
                return;
            } catch (PeerFailedException e) {
                failed.addAll(e.failedRanks());
            }
        }
    }

    private void grow() {
        while (comm.size() < target) {
            long begin = System.nanoTime();
            print("GROWING" + text());
            List<Integer> all = new ArrayList<>();
            for (int rank = 0; rank < comm.size(); rank++) {
                all.add(rank);
            }
            try {
                Communicator next = comm.reform(all, target - comm.size());
                comm.close();
                comm = next;
                print("GROWN" + text() + " ms=" + millis(begin));
            } catch (PeerFailedException e) {
                print("INTERRUPTED" + text() + " failed=" + e.failedRanks());
                if (!e.failedRanks().isEmpty()) {
                    throw e;
                }
            }
        }
    }

    /** Executes and checks all-reduces until the file {@code stop} exists, then returns true. */
    private boolean work() {
        long[] values = new long[COUNT];
        boolean printed = false;
        calls = 0; // ranks that have just joined begin at 0, too
        while (true) {
            for (int i = 0; i < COUNT; i++) {
                values[i] = (comm.rank() + 1L) * (i + calls);
            }
            comm.allReduce(DataBuffer.of(values), ReduceOp.SUM).await();
            long ranks = comm.size() * (comm.size() + 1L) / 2;
            for (int i = 0; i < COUNT; i++) {
                if (values[i] != ranks * (i + calls)) {
                    print("WRONG" + text() + " call=" + calls + " element=" + i + " value=" + values[i]);
                    System.exit(1);
                }
            }
            calls++;
            if (!printed) {
                print("RIGHT" + text() + ".");
                printed = true;
            }
            if (comm.allReduce(Files.exists(folder.resolve("stop")) ? 1L : 0L, ReduceOp.MAX) == 1) {
                return true;
            }
        }
    }

    private String text() {
        return " generation=" + comm.generation() + " rank=" + comm.rank() + " size=" + comm.size() + " id="
                + comm.id();
    }

    private static String millis(long begin) {
        return Long.toString(TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begin));
    }

    private static void print(String text) {
        System.out.println(text);
    }
}
