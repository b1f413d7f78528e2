package io.jccl.integration;

import static io.jccl.integration.ResultsTest.longs;

import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.Execution;
import io.jccl.ReduceOp;
import io.jccl.UniqueId;
import io.jccl.Work;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Scenario of ranks that have tuner and profiler plug-ins. */
final class PluginScenarios {

    /** Counts of elements of 8 bytes. */
    static final List<Integer> COUNTS = List.of(1, 8, 100, 1000, 4096, 10_000, 131_072);

    private PluginScenarios() {}

    /** Runs the scenario as the process of one rank, with settings from the environment. */
    static void run(UniqueId id, int rank, int size) {
        try (Communicator comm =
                Communicator.init(id, rank, size, LocalRanks.config().build())) {
            for (String line : executions(comm)) {
                RankMain.print("EXECUTION " + line);
            }
            RankMain.print("PID " + ProcessHandle.current().pid());
        }
        RankMain.print("RESULT ok");
    }

    /**
     * Executes all-reduces, all-gathers and broadcasts of several sizes, and returns how each was executed. Requires
     * that the all-reduces and broadcasts are correct.
     */
    static List<String> executions(Communicator comm) {
        List<String> lines = new ArrayList<>();
        for (int count : COUNTS) {
            long[] ones = new long[count];
            Arrays.fill(ones, comm.rank() + 1);
            DataBuffer values = DataBuffer.of(ones);
            lines.add("all_reduce " + count + " " + executed(comm.allReduce(values, ReduceOp.SUM)));
            long sum = (long) comm.size() * (comm.size() + 1) / 2;
            require(ones[0] == sum && ones[count - 1] == sum, "all_reduce", ones[count - 1]);
            long[] gathered = new long[count * comm.size()];
            lines.add("all_gather " + count + " "
                    + executed(comm.allGather(DataBuffer.of(longs(new long[count])), DataBuffer.of(gathered))));
            ones[0] = comm.rank();
            lines.add("broadcast " + count + " " + executed(comm.broadcast(values, 1)));
            require(ones[0] == 1, "broadcast", ones[0]);
        }
        return lines;
    }

    private static void require(boolean right, String collective, long found) {
        if (!right) {
            throw new IllegalStateException(collective + ": found " + found);
        }
    }

    private static String executed(Work work) {
        work.await();
        Execution how = work.execution();
        return how.algorithm().label() + "/" + how.protocol().label() + "/" + how.channels();
    }
}
