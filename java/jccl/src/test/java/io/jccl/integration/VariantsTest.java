package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jccl.Communicator;
import io.jccl.CommunicatorConfig;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.HostBuffer;
import io.jccl.JcclException;
import io.jccl.MismatchedCollectiveException;
import io.jccl.PeerFailedException;
import io.jccl.ReduceOp;
import io.jccl.Reduction;
import io.jccl.TransportKind;
import io.jccl.Work;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** {@link VariantCases} between threads, over several transports, and errors of user-defined reductions. */
@Timeout(value = 180, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class VariantsTest {

    private static final Reduction.Function NOTHING = (accumulator, next) -> {};

    @ParameterizedTest
    @CsvSource({"1, p2p", "2, p2p", "3, shm", "5, p2p", "3, socket"})
    void everyVariantGivesTheExactResult(int size, String transport) {
        CommunicatorConfig config =
                LocalRanks.config().transport(TransportKind.parse(transport)).build();
        try (LocalRanks ranks = LocalRanks.start(size, config)) {
            ranks.run(VariantCases::check);
        }
    }

    @Test
    void variantsCanBeIssuedTogetherWithoutWaiting() {
        try (LocalRanks ranks = LocalRanks.start(3)) {
            ranks.run(comm -> {
                List<Work> issued = new ArrayList<>();
                List<long[]> results = new ArrayList<>();
                for (int i = 0; i < 50; i++) {
                    long[] values = VariantCases.elements(comm.rank(), 2 * VariantCases.MATRIX);
                    results.add(values);
                    issued.add(comm.allReduce(DataBuffer.of(values), VariantCases.PRODUCT));
                    issued.add(comm.allReduce(
                            List.of(DataBuffer.of(new float[3]), DataBuffer.of(new float[4])), ReduceOp.SUM));
                }
                issued.get(issued.size() - 1).await();
                long[] expected = VariantCases.folded(3, VariantCases.PRODUCT, 2 * VariantCases.MATRIX);
                assertThat(issued).allMatch(Work::isDone);
                assertThat(results).allSatisfy(values -> assertThat(values).isEqualTo(expected));
            });
        }
    }

    @Test
    void chunksOfLargeBuffersEndBetweenUnits() {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            ranks.run(comm -> {
                int count = 300_000 * VariantCases.MATRIX;
                long[] values = VariantCases.elements(comm.rank(), count);
                comm.allReduce(DataBuffer.of(values), VariantCases.PRODUCT).await();
                assertThat(Arrays.equals(values, VariantCases.folded(2, VariantCases.PRODUCT, count)))
                        .isTrue();
            });
        }
    }

    @Test
    void nativeFunctionReduces() {
        String library = System.getProperty(NativeFunctions.LIBRARY);
        assumeTrue(library != null && Files.exists(Path.of(library)), "the native tests are not built");
        System.load(library);
        try (LocalRanks ranks = LocalRanks.start(3)) {
            ranks.run(comm -> {
                try (HostBuffer context = HostBuffer.allocate(Long.BYTES)) {
                    context.asByteBuffer(0, Long.BYTES).putLong(0, 1000);
                    Reduction scaled = Reduction.ofNative("scaled", NativeFunctions.scaledSum(), context.address());
                    long[] values = {1, 2, 3};
                    comm.allReduce(DataBuffer.of(values), scaled).await();
                    assertThat(values).containsExactly(2001, 4002, 6003); // x + 1000 x + 1000 x: the first is unscaled
                }
            });
        }
    }

    @Test
    void reductionsOfDifferentNamesOrUnitsAreAMismatch() {
        Reduction first = Reduction.of("first", NOTHING);
        for (Reduction second : List.of(Reduction.of("second", NOTHING), first.unit(2), first.commutative())) {
            try (LocalRanks ranks = LocalRanks.start(2)) {
                ranks.run(comm -> {
                    Reduction mine = comm.rank() == 0 ? first : second;
                    assertThatThrownBy(() -> comm.allReduce(DataBuffer.of(new long[8]), mine)
                                    .await())
                            .isInstanceOfAny(MismatchedCollectiveException.class, PeerFailedException.class);
                });
            }
        }
    }

    @Test
    void listsThatAreDividedDifferentlyAreAMismatch() {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            ranks.run(comm -> {
                int cut = comm.rank() == 0 ? 3 : 4;
                List<DataBuffer> buffers = List.of(DataBuffer.of(new float[cut]), DataBuffer.of(new float[7 - cut]));
                assertThatThrownBy(() -> comm.allReduce(buffers, ReduceOp.SUM).await())
                        .isInstanceOfAny(MismatchedCollectiveException.class, PeerFailedException.class);
            });
        }
    }

    @Test
    void exceptionOfAReductionFailsAllRanks() {
        try (LocalRanks ranks = LocalRanks.start(3)) {
            ranks.run(comm -> {
                Reduction bad = Reduction.of("bad", (accumulator, next) -> {
                    if (comm.rank() == 1) {
                        throw new IllegalStateException("the application's own");
                    }
                });
                Work work = comm.allReduce(DataBuffer.of(new long[9]), bad);
                if (comm.rank() == 1) {
                    assertThatThrownBy(work::await).hasStackTraceContaining("the application's own");
                } else {
                    assertThatThrownBy(work::await).isInstanceOf(JcclException.class);
                }
                assertThatThrownBy(() -> comm.barrier().await()).isInstanceOf(JcclException.class);
            });
        }
    }

    @Test
    void reductionThatWaitsForItsCommunicatorFails() {
        List<Consumer<Communicator>> waits = List.of(comm -> comm.barrier().await(), Communicator::close);
        for (Consumer<Communicator> wait : waits) {
            try (LocalRanks ranks = LocalRanks.start(2)) {
                ranks.run(comm -> {
                    Reduction nested = Reduction.of("nested", (accumulator, next) -> wait.accept(comm));
                    Work work = comm.allReduce(DataBuffer.of(new long[2]), nested);
                    assertThatThrownBy(work::await).hasMessageContaining("must not wait for an operation");
                });
            }
        }
    }

    @Test
    void badArgumentsAreRefusedBeforeAnythingIsTouched() {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            Communicator comm = ranks.get(0);
            Reduction pairs = Reduction.of("pairs", NOTHING).unit(2);
            DataBuffer three = DataBuffer.of(new long[3]);
            refused(() -> comm.allReduce(three, pairs), "op=user:pairs count=3 unit=2", "multiples");
            refused(() -> comm.allReduce(three, (Reduction) null), "reduction=null", "Reduction.of");
            refused(() -> comm.allReduce(List.of(), ReduceOp.SUM), "buffers.size=0", "at least one");
            refused(() -> comm.allReduce(List.of(three, three), ReduceOp.SUM), "overlap", "separate memory");
            refused(
                    () -> comm.allReduce(DataBuffer.of(new float[1]), ReduceOp.BXOR),
                    "op=bxor type=float32",
                    "integer");
            refused(() -> comm.gatherV(three, null, new long[] {2, 1}, 1), "send.count=3 counts[0]=2", "this rank");
            refused(() -> comm.scatterV(null, new long[] {2, 1}, three, 0), "send=null", "send buffer");
            long[] counts = {3, 1};
            refused(() -> comm.gatherV(three, null, counts, new long[2], 0), "recv=null", "recv buffer");
            refused(() -> comm.gatherV(three, three, null, new long[2], 0), "counts.length=null size=2");
            refused(() -> comm.gatherV(three, three, counts, new long[1], 0), "offsets.length=1 size=2");
            refused(
                    () -> comm.gatherV(three, DataBuffer.of(new long[4]), counts, new long[] {0, 2}, 0),
                    "offsets[0]=0 counts[0]=3 offsets[1]=2: the blocks overlap");
            refused(
                    () -> comm.gatherV(three, DataBuffer.of(new long[4]), counts, new long[] {0, 4}, 0),
                    "offsets[1]=4 counts[1]=1 recv.count=4: the block lies outside");
            refused(
                    () -> comm.scatterV(DataBuffer.of(new long[4]), new long[] {2, 1}, new long[2], three, 0),
                    "recv.count=3 counts[0]=2");
            refused(
                    () -> comm.scatterV(DataBuffer.of(new long[4]), counts, new long[] {-1, 0}, three, 0),
                    "offsets[0]=-1: expected 0 or more");
            refused(() -> comm.scatterV(null, null, null, null, 1), "recv=null", "recv buffer");
            refused(() -> comm.broadcastObject(null, 0), "value=null", "root");
            refused(() -> comm.allGatherObject(null), "value=null", "bytes");
            refused(() -> Reduction.of("", NOTHING), "name.length=0", "1 to 64");
            refused(() -> Reduction.ofNative("f", 0, 0), "address=0", "function");
            refused(() -> pairs.unit(0), "elements=0", "1 or more");
            ranks.run(one -> one.barrier().await());
        }
    }

    private static void refused(org.assertj.core.api.ThrowableAssert.ThrowingCallable call, String... parts) {
        assertThatIllegalArgumentException().isThrownBy(call).satisfies(e -> assertThat(e.getMessage())
                .contains(parts));
    }

    @Test
    void aRankThatSendsAnotherCountThanTheRootExpectsGetsAMismatch() {
        try (LocalRanks ranks = LocalRanks.start(3)) {
            ranks.run(comm -> {
                DataBuffer send = DataBuffer.of(new int[comm.rank() == 2 ? 5 : 4]);
                DataBuffer recv = DataBuffer.of(new int[12]);
                Throwable failure = catchThrowable(() -> {
                    comm.gatherV(send, recv, new long[] {4, 4, 4}, new long[] {0, 4, 8}, 0)
                            .await();
                    comm.barrier().await();
                });
                assertThat(failure)
                        .isInstanceOf(MismatchedCollectiveException.class)
                        .hasMessageContaining("peer=2");
            });
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"p2p", "shm", "socket"})
    void theExtremeWithIndexComesFromTheRankThatHasIt(String transport) {
        CommunicatorConfig config =
                LocalRanks.config().transport(TransportKind.parse(transport)).build();
        try (LocalRanks ranks = LocalRanks.start(3, config)) {
            ranks.run(comm -> {
                int count = 20_000;
                long[] pairs = new long[2 * count];
                for (int i = 0; i < count; i++) {
                    pairs[2 * i] = (i + comm.rank()) % 3; // rank (3 - i % 3) % 3 has 0
                    pairs[2 * i + 1] = comm.rank();
                }
                comm.allReduce(DataBuffer.of(pairs), DataBuffer.of(pairs), Reduction.minWithIndex(DataType.INT64))
                        .await();
                for (int i = 0; i < count; i++) {
                    assertThat(pairs[2 * i]).isZero();
                    assertThat(pairs[2 * i + 1]).isEqualTo((3 - i % 3) % 3);
                }
            });
        }
    }

    @Test
    void slicesOfOneArrayMayBeInOneList() {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            ranks.run(comm -> {
                byte[] values = {1, 2, 3, 4};
                DataBuffer tail = DataBuffer.of(ByteBuffer.wrap(values, 2, 2).slice(), DataType.INT8);
                DataBuffer head = DataBuffer.of(ByteBuffer.wrap(values, 0, 2), DataType.INT8);
                comm.allReduce(List.of(tail, head), ReduceOp.SUM).await();
                assertThat(values).containsExactly(2, 4, 6, 8);
                DataBuffer middle = DataBuffer.of(ByteBuffer.wrap(values, 1, 2).slice(), DataType.INT8);
                assertThatIllegalArgumentException()
                        .isThrownBy(() -> comm.allReduce(List.of(tail, head, middle), ReduceOp.SUM));
            });
        }
    }
}
