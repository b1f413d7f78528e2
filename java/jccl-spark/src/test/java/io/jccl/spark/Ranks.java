package io.jccl.spark;

import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.ReduceOp;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;

/** Functions that ranks of the tests run. */
final class Ranks {

    private Ranks() {}

    /** Returns the numbers from 0 to {@code ranks - 1}, one in each partition. */
    static JavaRDD<Integer> numbers(JavaSparkContext spark, int ranks) {
        return spark.parallelize(IntStream.range(0, ranks).boxed().collect(Collectors.toList()), ranks);
    }

    /**
     * Returns a line with the sum of all ranks' rows and with the rank, size, stage attempt and process of the task.
     */
    static Iterator<String> sum(Communicator comm, Iterator<Integer> rows) {
        long sum = 0;
        while (rows.hasNext()) {
            sum += rows.next();
        }
        return List.of(comm.rank() + "/" + comm.size() + " sum " + comm.allReduce(sum, ReduceOp.SUM) + " attempt "
                        + TaskContext.get().stageAttemptNumber() + " process "
                        + ProcessHandle.current().pid())
                .iterator();
    }

    /** Returns three sums; each is computed only when it is read. */
    static Iterator<Double> lazySums(Communicator comm, Iterator<Integer> rows) {
        return new Iterator<>() {
            private int next;

            @Override
            public boolean hasNext() {
                return next < 3;
            }

            @Override
            public Double next() {
                next++;
                return comm.allReduce((double) next, ReduceOp.SUM);
            }
        };
    }

    /** Runs 20 all-reduces. In the first attempt of the stage, rank 1 kills its own process after ten. */
    static Iterator<String> sumWithKill(Communicator comm, Iterator<Integer> rows)
            throws IOException, InterruptedException {
        List<String> seen = new ArrayList<>();
        double[] values = new double[100_000];
        for (int i = 0; i < 20; i++) {
            if (i == 10 && comm.rank() == 1 && TaskContext.get().stageAttemptNumber() == 0) {
                new ProcessBuilder(
                                "kill",
                                "-9",
                                String.valueOf(ProcessHandle.current().pid()))
                        .start()
                        .waitFor();
                Thread.sleep(60_000); // the signal ends this process before its next operation
            }
            values[0] = comm.rank() + 1;
            comm.allReduce(DataBuffer.of(values), ReduceOp.SUM).await();
        }
        seen.add(comm.rank() + "/" + comm.size() + " sum " + values[0] + " attempt "
                + TaskContext.get().stageAttemptNumber());
        return seen.iterator();
    }
}
