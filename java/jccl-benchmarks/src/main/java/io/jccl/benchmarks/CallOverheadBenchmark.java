package io.jccl.benchmarks;

import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.HostBuffer;
import io.jccl.ReduceOp;
import io.jccl.UniqueId;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Measures the cost of calls in Java, JNI and the engine's bookkeeping. The communicator has one rank, so no call waits
 * for another rank. {@link NativeCallBenchmark} makes the same call without JCCL's Java code.
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@State(Scope.Thread)
@Fork(3)
@Warmup(iterations = 5, time = 500, timeUnit = TimeUnit.MILLISECONDS)
@Measurement(iterations = 5, time = 500, timeUnit = TimeUnit.MILLISECONDS)
public class CallOverheadBenchmark {

    private static final int COUNT = 2; // 8 bytes

    private Communicator communicator;
    private FloatBuffer floats;
    private DataBuffer send;
    private DataBuffer recv;
    private HostBuffer hostMemory;
    private DataBuffer hostSend;
    private DataBuffer hostRecv;

    @Setup(Level.Trial)
    public void setUp() {
        communicator = Communicator.init(UniqueId.create(), 0, 1);
        floats = direct(COUNT);
        send = DataBuffer.of(floats);
        recv = DataBuffer.of(direct(COUNT));
        hostMemory = HostBuffer.allocate(8192);
        hostSend = hostMemory.slice(0, COUNT, DataType.FLOAT32);
        hostRecv = hostMemory.slice(4096, COUNT, DataType.FLOAT32);
    }

    @TearDown(Level.Trial)
    public void tearDown() {
        communicator.close();
        hostMemory.close();
    }

    /** Issues an operation and awaits it. */
    @Benchmark
    public void allReduce8Bytes() {
        communicator.allReduce(send, recv, ReduceOp.SUM).await();
    }

    @Benchmark
    public void allReduce8BytesInPlace() {
        communicator.allReduce(send, ReduceOp.SUM).await();
    }

    @Benchmark
    public void allReduce8BytesHostBuffer() {
        communicator.allReduce(hostSend, hostRecv, ReduceOp.SUM).await();
    }

    /** Creates the {@code DataBuffer} for each call, as in the README's example. */
    @Benchmark
    public void allReduce8BytesOfNewDataBuffer() {
        communicator.allReduce(DataBuffer.of(floats), ReduceOp.SUM).await();
    }

    /** Issues two operations together and awaits both. */
    @Benchmark
    public void groupOfTwoAllReduces() {
        communicator
                .group(g -> {
                    g.allReduce(send, recv, ReduceOp.SUM);
                    g.allReduce(hostSend, hostRecv, ReduceOp.SUM);
                })
                .await();
    }

    @Benchmark
    public DataBuffer dataBufferOfFloatBuffer() {
        return DataBuffer.of(floats);
    }

    static FloatBuffer direct(int count) {
        return ByteBuffer.allocateDirect(count * Float.BYTES)
                .order(ByteOrder.nativeOrder())
                .asFloatBuffer();
    }
}
