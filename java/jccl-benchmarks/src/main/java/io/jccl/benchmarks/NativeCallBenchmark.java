package io.jccl.benchmarks;

import io.jccl.nativelib.NativeCommunicator;
import io.jccl.nativelib.NativeLoader;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
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

/** The floor under {@link CallOverheadBenchmark}: the engine called straight through JNI, one rank. */
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

    private long engine;
    private ByteBuffer memory;
    private long send;
    private long recv;

    @Setup(Level.Trial)
    public void setUp() {
        NativeLoader.load();
        long[] config = new long[NativeCommunicator.CONFIG_LENGTH];
        config[NativeCommunicator.SIZE] = 1;
        config[NativeCommunicator.CHANNELS] = 1;
        config[NativeCommunicator.LOCAL_RANKS] = 1;
        config[NativeCommunicator.COMM_ID_HI] = 1;
        engine = NativeCommunicator.create(config, new String[] {"", ""});
        require(engine != 0, "create");
        require(NativeCommunicator.connectInfo(engine, new String[0]) != null, "connectInfo");
        require(NativeCommunicator.setRing(engine, 0, new int[] {0}) == NativeCommunicator.OK, "setRing");
        require(NativeCommunicator.setTree(engine, 0, -1, new int[0]) == NativeCommunicator.OK, "setTree");
        require(NativeCommunicator.prepare(engine) == NativeCommunicator.OK, "prepare");
        memory = ByteBuffer.allocateDirect(256).order(ByteOrder.nativeOrder());
        send = NativeCommunicator.directAddress(memory);
        recv = send + 128;
        require(allReduce8Bytes() >= NativeCommunicator.OK, "run");
    }

    @TearDown(Level.Trial)
    public void tearDown() {
        NativeCommunicator.destroy(engine);
    }

    /** As good as empty: it reads one word. */
    @Benchmark
    public long emptyNativeCall() {
        return NativeCommunicator.lastDone(engine);
    }

    @Benchmark
    public long allReduce8Bytes() {
        return NativeCommunicator.run(
                engine, ALL_REDUCE_SUM_FLOAT32, RING_LL_ONE_CHANNEL, send, recv, COUNT, 0, TIMEOUT_NANOS);
    }

    private void require(boolean holds, String step) {
        if (!holds) {
            throw new IllegalStateException(
                    "step=" + step + " failed: " + (engine == 0 ? "no engine" : NativeCommunicator.lastError(engine)));
        }
    }
}
