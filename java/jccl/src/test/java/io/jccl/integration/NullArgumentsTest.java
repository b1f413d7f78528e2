package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.jccl.Algorithm;
import io.jccl.Collective;
import io.jccl.Communicator;
import io.jccl.CommunicatorConfig;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.DeviceException;
import io.jccl.DeviceStream;
import io.jccl.Group;
import io.jccl.HostBuffer;
import io.jccl.MessageStatus;
import io.jccl.Messages;
import io.jccl.Protocol;
import io.jccl.ReduceOp;
import io.jccl.Reduction;
import io.jccl.TransportKind;
import io.jccl.UniqueId;
import io.jccl.WireFormat;
import io.jccl.Work;
import io.jccl.cuda.Cuda;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.Timeout;

/** Passes null for each argument of the API in turn: either null has a meaning, or the error names the argument. */
@Timeout(value = 120, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class NullArgumentsTest {

    /** Pattern of a message that names the null argument and says what was expected. */
    private static final String NAMED = "(?s)([\\w.=]+ )*[\\w.]+=null\\b.*: .{8,}";

    private static final Map<Class<?>, Object> SAMPLES = samples();

    private static Map<Class<?>, Object> samples() {
        Map<Class<?>, Object> samples = new HashMap<>();
        samples.put(int.class, 0);
        samples.put(long.class, 0L);
        samples.put(double.class, 0.0);
        samples.put(
                UniqueId.class,
                UniqueId.of(List.of(new InetSocketAddress(InetAddress.getLoopbackAddress(), 1)), new byte[16]));
        samples.put(CommunicatorConfig.class, CommunicatorConfig.defaults());
        samples.put(DataBuffer.class, DataBuffer.of(new float[4]));
        samples.put(ReduceOp.class, ReduceOp.SUM);
        samples.put(WireFormat.class, WireFormat.BFLOAT16);
        Reduction.Function first = (accumulator, next) -> {};
        samples.put(Reduction.Function.class, first);
        samples.put(Reduction.class, Reduction.of("first", first));
        samples.put(DataType.class, DataType.INT32);
        samples.put(Algorithm.class, Algorithm.RING);
        samples.put(Protocol.class, Protocol.LL);
        samples.put(TransportKind.class, TransportKind.P2P);
        samples.put(DeviceStream.class, DeviceStream.DEFAULT);
        samples.put(Duration.class, Duration.ofSeconds(9));
        samples.put(String.class, "JCCL_DEBUG");
        samples.put(Object.class, "an owner");
        samples.put(List.class, List.of());
        samples.put(Collection.class, List.of());
        samples.put(Runnable.class, (Runnable) () -> {});
        samples.put(Consumer.class, (Consumer<Group>) group -> {});
        samples.put(ByteBuffer.class, ByteBuffer.allocateDirect(16).order(ByteOrder.nativeOrder()));
        samples.put(FloatBuffer.class, FloatBuffer.allocate(1));
        samples.put(DoubleBuffer.class, DoubleBuffer.allocate(1));
        samples.put(IntBuffer.class, IntBuffer.allocate(1));
        samples.put(LongBuffer.class, LongBuffer.allocate(1));
        samples.put(ShortBuffer.class, ShortBuffer.allocate(1));
        for (Object array : List.of(new byte[16], new short[1], new int[1], new long[1], new float[1], new double[1])) {
            samples.put(array.getClass(), array);
        }
        return samples;
    }

    private static void requireNamed(Method method, int at, Object on) throws IllegalAccessException {
        Class<?>[] types = method.getParameterTypes();
        Object[] arguments =
                Arrays.stream(types).map(each -> sample(each, types[0])).toArray();
        if (method.getName().matches("init|initAsync")) {
            arguments[2] = 1; // rank 0 of 1
        }
        if (method.getName().equals("allReduce") && types[0] == List.class) {
            arguments[0] = List.of(DataBuffer.of(new float[4]));
        }
        arguments[at] = null;
        try {
            method.invoke(on, arguments);
        } catch (InvocationTargetException thrown) {
            Throwable cause = thrown.getCause();
            if (!(cause instanceof DeviceException) && !(cause instanceof IllegalStateException)) {
                assertThat(cause).isInstanceOf(IllegalArgumentException.class);
                assertThat(cause.getMessage()).matches(NAMED);
            }
        }
    }

    /** Returns an argument that fits the others: buffers do not overlap, and the type suits the array or buffer. */
    private static Object sample(Class<?> type, Class<?> first) {
        if (type == DataBuffer.class) {
            return DataBuffer.of(new float[4]);
        }
        return type == DataType.class ? typeFor(first) : SAMPLES.get(type);
    }

    private static DataType typeFor(Class<?> memory) {
        if (memory == byte[].class) {
            return DataType.INT8;
        }
        if (memory == short[].class || memory == ShortBuffer.class) {
            return DataType.FLOAT16;
        }
        return memory == LongBuffer.class ? DataType.INT64 : DataType.INT32;
    }

    private static boolean isTested(Method method, int at, Object on) {
        boolean callable = Modifier.isStatic(method.getModifiers()) || on != null;
        boolean ours = method.getDeclaringClass().getPackageName().startsWith("io.jccl");
        boolean languages = method.getName().matches("equals|valueOf");
        boolean aborts = method.getName().equals("abort"); // null is no reason; the other calls would fail afterwards
        // A transfer of the only rank to itself is refused before its buffer is checked, except in a group.
        boolean toItself = on instanceof Communicator && method.getName().matches("send|recv");
        return callable && ours && !languages && !aborts && !toItself && !method.getParameterTypes()[at].isPrimitive();
    }

    private static List<DynamicTest> tests(Class<?> type, Object on) {
        List<DynamicTest> tests = new ArrayList<>();
        for (Method method : type.getMethods()) {
            for (int at = 0; at < method.getParameterCount(); at++) {
                int argument = at;
                if (isTested(method, at, on)) {
                    String name = type.getSimpleName() + "." + method.getName()
                            + Arrays.toString(method.getParameterTypes()) + " " + at;
                    tests.add(DynamicTest.dynamicTest(name, () -> requireNamed(method, argument, on)));
                }
            }
        }
        return tests;
    }

    @TestFactory
    Stream<DynamicTest> nullArgumentsOfOtherMethodsAreNamed() {
        return Stream.of(
                        tests(Communicator.class, null),
                        tests(UniqueId.class, SAMPLES.get(UniqueId.class)),
                        tests(CommunicatorConfig.class, CommunicatorConfig.defaults()),
                        tests(CommunicatorConfig.Builder.class, CommunicatorConfig.builder()),
                        tests(DataBuffer.class, SAMPLES.get(DataBuffer.class)),
                        tests(HostBuffer.class, HostBuffer.allocate(4096)),
                        tests(DeviceStream.class, DeviceStream.DEFAULT),
                        tests(DataType.class, DataType.INT8),
                        tests(ReduceOp.class, ReduceOp.SUM),
                        tests(Reduction.class, SAMPLES.get(Reduction.class)),
                        tests(Algorithm.class, Algorithm.RING),
                        tests(Protocol.class, Protocol.LL),
                        tests(TransportKind.class, TransportKind.SHM),
                        tests(Collective.class, Collective.BARRIER),
                        tests(MessageStatus.class, new MessageStatus(0, 0, 8)),
                        tests(Cuda.class, null))
                .flatMap(List::stream);
    }

    @Test
    void nullArgumentsOfOperationsAreNamed() throws Exception {
        try (LocalRanks ranks = LocalRanks.start(1)) {
            Communicator comm = ranks.get(0);
            Work work = comm.barrier();
            assertThat(tests(Communicator.class, comm)).hasSizeGreaterThan(20).allSatisfy(NullArgumentsTest::run);
            assertThat(tests(Work.class, work)).hasSize(1).allSatisfy(NullArgumentsTest::run);
            assertThat(tests(Messages.class, comm.messages())).hasSize(6).allSatisfy(NullArgumentsTest::run);
            comm.group(group ->
                    assertThat(tests(Group.class, group)).hasSizeGreaterThan(20).allSatisfy(NullArgumentsTest::run));
            work.await();
        }
    }

    private static void run(DynamicTest test) {
        try {
            test.getExecutable().execute();
        } catch (Throwable failure) {
            throw new AssertionError(test.getDisplayName(), failure);
        }
    }

    @Test
    void errorsSayWhatWasExpected() throws Exception {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Communicator.init(null, 0, 1))
                .withMessage("id=null: expected what UniqueId.create() returned on one rank; move it to every rank");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> UniqueId.create(null))
                .withMessage("config=null: expected settings; CommunicatorConfig.defaults() sets none");
        try (LocalRanks ranks = LocalRanks.start(1)) {
            for (Collection<Integer> excluded : Arrays.<Collection<Integer>>asList(null, Arrays.asList(1, null))) {
                assertThatIllegalArgumentException()
                        .isThrownBy(() -> ranks.get(0).shrink(excluded))
                        .withMessage(
                                "excludedRanks=null: expected ranks of this communicator; an empty collection leaves"
                                        + " out none");
            }
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> ranks.get(0).shrink(List.of(), null))
                    .withMessageStartingWith("quorum=null: expected ");
        }
    }
}
