package io.jccl.benchmarks;

import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.ReduceOp;
import io.jccl.UniqueId;
import java.nio.FloatBuffer;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * All-reduce of two ranks that are threads of this JVM. The second rank repeats its call until the sum is not zero.
 * Only the first rank's last call adds a value other than zero, so both ranks make the same number of calls.
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@State(Scope.Thread)
@Fork(3)
@Warmup(iterations = 5, time = 500, timeUnit = TimeUnit.MILLISECONDS)
@Measurement(iterations = 5, time = 500, timeUnit = TimeUnit.MILLISECONDS)
public class TwoRanksBenchmark {

    @Param({"8", "1024", "65536"})
    private int bytes;

    private Communicator communicator;
    private CompletableFuture<Void> mirror;
    private FloatBuffer input;
    private DataBuffer send;
    private DataBuffer recv;

    @Setup(Level.Trial)
    public void setUp() {
        UniqueId id = UniqueId.create();
        int count = bytes / Float.BYTES;
        mirror = CompletableFuture.runAsync(() -> mirrorUntilStopped(id, count), task -> {
            Thread thread = new Thread(task, "rank-1");
            thread.setDaemon(true);
            thread.start();
        });
        communicator = Communicator.init(id, 0, 2);
        input = CallOverheadBenchmark.direct(count);
        send = DataBuffer.of(input);
        recv = DataBuffer.of(CallOverheadBenchmark.direct(count));
    }

    @TearDown(Level.Trial)
    public void tearDown() {
        input.put(0, 1);
        allReduce();
        communicator.close();
        mirror.join();
    }

    @Benchmark
    public void allReduce() {
        communicator.allReduce(send, recv, ReduceOp.SUM).await();
    }

    private static void mirrorUntilStopped(UniqueId id, int count) {
        FloatBuffer output = CallOverheadBenchmark.direct(count);
        DataBuffer zeros = DataBuffer.of(CallOverheadBenchmark.direct(count));
        DataBuffer sum = DataBuffer.of(output);
        try (Communicator peer = Communicator.init(id, 1, 2)) {
            do {
                peer.allReduce(zeros, sum, ReduceOp.SUM).await();
            } while (output.get(0) == 0);
        }
    }
}
