package io.jccl.benchmarks;

import io.jccl.nativelib.Code;
import io.jccl.nativelib.EngineConfig;
import io.jccl.nativelib.NativeEngine;
import io.jccl.nativelib.NativeMemory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
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

/** Lower bound of {@link CallOverheadBenchmark}: calls the engine directly through JNI, with one rank. */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@State(Scope.Thread)
@Fork(3)
@Warmup(iterations = 5, time = 500, timeUnit = TimeUnit.MILLISECONDS)
@Measurement(iterations = 5, time = 500, timeUnit = TimeUnit.MILLISECONDS)
public class NativeCallBenchmark {

    private static final int COUNT = 2;
    private static final int ALL_REDUCE_SUM_FLOAT32 = 8 << 8;
    private static final long RING_LL_ONE_CHANNEL = 1L << 8 | 4096L << 32;
    private static final long TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(30);

    private NativeEngine engine;
    private ByteBuffer memory;
    private long send;
    private long recv;

    @Setup(Level.Trial)
    public void setUp() {
        EngineConfig config = new EngineConfig();
        config.set(EngineConfig.SIZE, 1);
        config.set(EngineConfig.CHANNELS, 1);
        config.set(EngineConfig.LOCAL_RANKS, 1);
        config.set(EngineConfig.IB_ROCE_VERSION, 1);
        config.set(EngineConfig.IB_QUEUE_PAIRS, 1);
        config.set(EngineConfig.COMM_ID_HI, 1);
        engine = NativeEngine.create(config);
        engine.connectInfo(List.of());
        engine.setRing(0, new int[] {0});
        engine.setTree(0, -1, new int[0]);
        engine.prepare();
        memory = ByteBuffer.allocateDirect(256).order(ByteOrder.nativeOrder());
        send = NativeMemory.directAddress(memory);
        recv = send + 128;
        if (allReduce8Bytes() < Code.OK) {
            throw new IllegalStateException("the all-reduce failed: " + engine.lastError());
        }
    }

    @TearDown(Level.Trial)
    public void tearDown() {
        engine.destroy();
    }

    /** Makes a native call that does almost nothing: it reads one address. */
    @Benchmark
    public long emptyNativeCall() {
        return NativeMemory.directAddress(memory);
    }

    @Benchmark
    public long allReduce8Bytes() {
        return engine.run(ALL_REDUCE_SUM_FLOAT32, RING_LL_ONE_CHANNEL, send, recv, COUNT, 0, 0, TIMEOUT_NANOS);
    }
}
