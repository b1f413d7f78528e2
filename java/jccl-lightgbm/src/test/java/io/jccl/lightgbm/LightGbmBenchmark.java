package io.jccl.lightgbm;

import com.microsoft.ml.lightgbm.lightgbmlib;
import io.jccl.Communicator;
import io.jccl.testing.RankProcesses;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * Measures the time of an iteration over JCCL, over LightGBM's own network and in a single process.
 *
 * <p>Arguments: number of ranks, rows of all ranks together, columns, iterations. Ranks are processes of this host with
 * one thread each. The two networks alternate in the same processes, on the same data.
 */
public final class LightGbmBenchmark {

    private static final int ROUNDS = 5;
    private static final int WARM_UP = 3; // first iterations of each round, which are not measured
    private static final String PARAMETERS =
            "objective=binary num_leaves=31 num_threads=1 verbosity=-1 deterministic=true force_col_wise=true";

    private LightGbmBenchmark() {}

    /** Starts the ranks and prints their table. */
    public static void main(String[] arguments) throws Exception {
        int size = argument(arguments, 0, 2);
        int rows = argument(arguments, 1, 20_000);
        int columns = argument(arguments, 2, 600);
        int iterations = argument(arguments, 3, 20);
        System.out.printf("%d ranks, %d rows, %d columns, %d iterations%n", size, rows, columns, ROUNDS * iterations);
        List<String> machines = new ArrayList<>();
        for (int round = 0; round < ROUNDS; round++) {
            machines.add(ProcessesTest.machines(size));
        }
        Path folder = Files.createTempDirectory("lightgbm-benchmark-");
        try (RankProcesses ranks = RankProcesses.in(folder)
                .limit(Duration.ofMinutes(10))
                .start(
                        size,
                        Rank.class,
                        Integer.toString(rows),
                        Integer.toString(columns),
                        Integer.toString(iterations),
                        String.join(";", machines))) {
            for (int rank = 0; rank < size; rank++) {
                if (ranks.awaitExit(rank) != 0) {
                    throw new AssertionError("rank " + rank + " failed:" + ranks.allOutput());
                }
            }
            System.out.print(ranks.output(0).replaceAll("(?m)^\\[LightGBM].*\n", ""));
        }
        LightGbmLibrary.load();
        List<Long> single = new ArrayList<>();
        try (Training training = new Training(new Shard(0, 1, rows, columns), PARAMETERS, LightGbmBenchmark::require)) {
            for (int round = 0; round < ROUNDS; round++) {
                train(training, PARAMETERS, iterations, single);
            }
        }
        report("one process, one thread", single);
    }

    private static int argument(String[] arguments, int index, int otherwise) {
        return index < arguments.length ? Integer.parseInt(arguments[index]) : otherwise;
    }

    private static void train(Training training, String parameters, int iterations, List<Long> nanos) {
        training.restart(parameters);
        for (int i = 0; i < WARM_UP + iterations; i++) {
            long start = System.nanoTime();
            training.update();
            if (i >= WARM_UP) {
                nanos.add(System.nanoTime() - start);
            }
        }
    }

    private static void report(String what, List<Long> nanos) {
        Collections.sort(nanos);
        System.out.printf(
                "%-24s median %7.2f ms, fastest %7.2f ms%n",
                what, nanos.get(nanos.size() / 2) / 1e6, nanos.get(0) / 1e6);
    }

    private static void require(int returnCode) {
        if (returnCode != 0) {
            throw new LightGbmException(lightgbmlib.LGBM_GetLastError());
        }
    }

    /** The main class of a rank. */
    public static final class Rank {

        private Rank() {}

        /** Trains over both networks in turn, and prints the times. */
        public static void main(String[] arguments) {
            LightGbmLibrary.load();
            int iterations = Integer.parseInt(arguments[2]);
            String[] rounds = arguments[3].split(";");
            List<Long> jccl = new ArrayList<>();
            List<Long> sockets = new ArrayList<>();
            NetworkUsage usage;
            try (Communicator comm = Communicator.fromEnvironment()) {
                int rank = comm.rank();
                int size = comm.size();
                Shard shard = new Shard(rank, size, Integer.parseInt(arguments[0]), Integer.parseInt(arguments[1]));
                Training training;
                String parameters;
                try (LightGbmNetwork network = LightGbmNetwork.over(comm)) {
                    parameters = network.parameters(PARAMETERS + " tree_learner=data");
                    training = new Training(shard, parameters, LightGbmBenchmark::require);
                    train(training, parameters, iterations, new ArrayList<>());
                    usage = network.usage();
                }
                for (String machines : rounds) {
                    int port = Integer.parseInt(machines.split(",")[rank].split(":")[1]);
                    require(lightgbmlib.LGBM_NetworkInit(machines, port, 1, size));
                    train(training, parameters, iterations, sockets);
                    require(lightgbmlib.LGBM_NetworkFree());
                    try (LightGbmNetwork network = LightGbmNetwork.over(comm)) {
                        train(training, parameters, iterations, jccl);
                        usage = network.usage();
                    }
                }
                training.close();
            }
            report("JCCL", jccl);
            report("LightGBM's own network", sockets);
            int all = iterations + WARM_UP;
            System.out.printf(
                    "communication over JCCL  %.1f operations, %.1f MB, %.2f ms an iteration%n",
                    usage.operations() / (double) all,
                    usage.bytes() / 1e6 / all,
                    usage.time().toNanos() / 1e6 / all);
        }
    }
}
