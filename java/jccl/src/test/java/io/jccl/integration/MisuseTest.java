package io.jccl.integration;

import static io.jccl.integration.ResultsTest.floats;
import static io.jccl.integration.ResultsTest.longs;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.jccl.BootstrapException;
import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.Group;
import io.jccl.HostBuffer;
import io.jccl.ReduceOp;
import io.jccl.TransportKind;
import io.jccl.cuda.CudaSupport;
import io.jccl.tuning.HostCosts;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import org.assertj.core.api.Assertions;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Errors for misuse of the API. The communicator still works afterwards. */
@Timeout(value = 180, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class MisuseTest {

    private LocalRanks ranks;
    private Communicator comm; // rank 0 of 2

    @BeforeAll
    void start() {
        ranks = LocalRanks.start(2);
        comm = ranks.get(0);
    }

    @AfterAll
    void stillWorks() {
        ranks.run(one -> {
            long[] value = {1};
            one.allReduce(DataBuffer.of(value), ReduceOp.SUM).await();
            assertThat(value).containsExactly(2);
        });
        ranks.close();
    }

    private static void refused(ThrowingCallable call, String message) {
        assertThatIllegalArgumentException().isThrownBy(call).withMessage(message);
    }

    private static DataBuffer buffer(int count) {
        return DataBuffer.of(floats(count));
    }

    @Test
    void rootsAndPeersMustBeRanks() {
        refused(() -> comm.broadcast(buffer(1), 2), "root=2 size=2: expected a rank from 0 to 1");
        refused(() -> comm.reduce(buffer(1), ReduceOp.SUM, -1), "root=-1 size=2: expected a rank from 0 to 1");
        refused(() -> comm.send(7, buffer(1)), "peer=7 size=2: expected a rank from 0 to 1");
        refused(
                () -> comm.recv(0, buffer(1)),
                "peer=0 rank=0: a recv to itself waits for ever; use sendReceive, or put both sides into one group");
    }

    @Test
    void reduceScatterInPlaceNeedsABlockForEachRank() {
        refused(
                () -> comm.reduceScatter(buffer(3), ReduceOp.SUM),
                "buffer.count=3 size=2: expected a multiple of size; set positions and limits, or use slice");
        refused(
                () -> comm.reduceScatter(buffer(2), ReduceOp.BAND),
                "op=band type=float32: bitwise operations combine integers; pass a buffer of an integer type");
    }

    @Test
    void scansNeedEqualBuffersAndNoAverage() {
        for (BiFunction<DataBuffer, DataBuffer, Object> scan : List.<BiFunction<DataBuffer, DataBuffer, Object>>of(
                (send, recv) -> comm.scan(send, recv, ReduceOp.SUM),
                (send, recv) -> comm.exscan(send, recv, ReduceOp.SUM))) {
            refused(
                    () -> scan.apply(buffer(3), buffer(4)),
                    "send.count=3 recv.count=4: expected the same count in both buffers; set positions and limits, or use"
                            + " slice");
            DataBuffer five = buffer(5);
            refused(
                    () -> scan.apply(five.slice(0, 4), five.slice(1, 4)),
                    "send and recv overlap in part: in place means that both begin at the same element, all of recv;"
                            + " otherwise pass buffers of separate memory");
        }
        String average = "op=avg: in a scan, each rank would divide by another number; use SUM, and divide the result";
        refused(() -> comm.scan(buffer(1), ReduceOp.AVG), average);
        refused(() -> comm.group(g -> g.exscan(buffer(1), ReduceOp.AVG)), average);
        refused(
                () -> comm.scan(buffer(1), ReduceOp.BXOR),
                "op=bxor type=float32: bitwise operations combine integers; pass a buffer of an integer type");
    }

    @Test
    void sendReceiveNeedsTwoRanksAndTwoBuffers() {
        DataBuffer send = buffer(4);
        refused(() -> comm.sendReceive(send, 1, buffer(4), 2), "peer=2 size=2: expected a rank from 0 to 1");
        refused(() -> comm.sendReceive(null, 1, send, 1), "send=null: this rank needs a send buffer");
        refused(() -> comm.sendReceive(send, 1, null, 1), "recv=null: this rank needs a recv buffer");
        String overlap =
                "send and recv overlap: this operation does not work in place; pass buffers of separate memory";
        refused(() -> comm.sendReceive(send, 1, send, 1), overlap);
        refused(() -> comm.group(g -> g.sendReceive(send, 1, send, 1)), overlap);
        for (int from : new int[] {0, 1}) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> comm.sendReceive(send, 0, buffer(3), from))
                    .withMessageStartingWith("to=0 from=" + from + " rank=0 send=")
                    .withMessageEndingWith(": what a rank sends to itself it must receive in the same call");
        }
    }

    @Test
    void buffersMustMatchInTypeAndCount() {
        refused(
                () -> comm.allReduce(buffer(3), buffer(4), ReduceOp.SUM),
                "send.count=3 recv.count=4: expected the same count in both buffers; set positions and limits, or use slice");
        refused(
                () -> comm.allReduce(buffer(2), DataBuffer.of(longs(1, 2)), ReduceOp.SUM),
                "send.type=float32 recv.type=int64: expected the same type in both buffers");
        refused(
                () -> comm.allGather(buffer(3), buffer(5)),
                "recv.count=5 send.count=3 size=2: expected recv.count = size * send.count; set positions and limits, or use"
                        + " slice");
        refused(
                () -> comm.reduceScatter(buffer(5), buffer(2), ReduceOp.SUM),
                "send.count=5 recv.count=2 size=2: expected send.count = size * recv.count; set positions and limits, or use"
                        + " slice");
        refused(
                () -> comm.allToAll(buffer(3), buffer(3)),
                "send.count=3 recv.count=3 size=2: expected the same multiple of size in both buffers");
        refused(
                () -> comm.allReduce(buffer(1), (ReduceOp) null),
                "op=null: expected one of [SUM, PROD, MIN, MAX, AVG, BAND, BOR, BXOR]");
        refused(() -> comm.allReduce(null, buffer(1), ReduceOp.SUM), "send=null: this rank needs a send buffer");
    }

    @Test
    void buffersMustNotOverlapInPart() {
        DataBuffer whole = buffer(10);
        refused(
                () -> comm.allReduce(whole.slice(0, 6), whole.slice(4, 6), ReduceOp.SUM),
                "send and recv overlap in part: in place means that both begin at the same element, all of recv; otherwise"
                        + " pass buffers of separate memory");
        refused(
                () -> comm.allGather(whole.slice(5, 5), whole),
                "send and recv overlap in part: in place means that both begin at the same element, this rank's block of"
                        + " recv; otherwise pass buffers of separate memory");
        refused(
                () -> comm.allToAll(whole, whole),
                "send and recv overlap: this operation does not work in place; pass buffers of separate memory");
        float[] array = new float[8];
        DataBuffer heap = DataBuffer.of(array);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> comm.allReduce(heap.slice(0, 5), heap.slice(3, 5), ReduceOp.SUM))
                .withMessageContaining("overlap in part");
    }

    @Test
    void countsPerRankMustAddUp() {
        refused(
                () -> comm.allGatherV(buffer(1), buffer(3), new long[] {1}),
                "counts.length=1 size=2: expected one value per rank");
        refused(() -> comm.allGatherV(buffer(1), buffer(3), new long[] {1, -2}), "counts[1]=-2: expected 0 or more");
        refused(
                () -> comm.allGatherV(buffer(1), buffer(3), new long[] {1, 1}),
                "recv.count=3 counts=[1, 1]: expected a buffer of exactly all counts together");
        refused(
                () -> comm.allGatherV(buffer(1), buffer(3), new long[] {Long.MAX_VALUE, Long.MAX_VALUE}),
                "recv.count=3 counts=[9223372036854775807, 9223372036854775807]: expected a buffer of exactly all counts"
                        + " together");
        refused(
                () -> comm.reduceScatterV(buffer(3), buffer(1), new long[] {2, 1}, ReduceOp.SUM),
                "recv.count=1 counts[0]=2: expected as many elements as this rank's count");
        long[] one = {1, 1};
        refused(
                () -> comm.allToAllV(buffer(2), one, new long[] {0, 2}, buffer(2), one, new long[] {0, 1}),
                "sendOffsets[1]=2 sendCounts[1]=1 send.count=2: the block lies outside of the buffer");
        refused(
                () -> comm.allToAllV(buffer(2), one, new long[] {0, 1}, buffer(2), one, new long[] {1, 1}),
                "recvOffsets[0]=1 recvCounts[0]=1 recvOffsets[1]=1: the blocks overlap; give each rank a place of its own");
        refused(
                () -> comm.allToAllV(
                        buffer(2), one, new long[] {0, 1}, buffer(2), new long[] {0, 1}, new long[] {0, 1}),
                "sendCounts[0]=1 recvCounts[0]=0: what this rank sends to itself it must receive from itself");
    }

    @Test
    void memoryMustBeOfTheHostWritableAndInNativeOrder() {
        List<String> missing = CudaSupport.missing();
        refused(
                () -> comm.allReduce(DataBuffer.device(4096, 4, DataType.FLOAT32), ReduceOp.SUM),
                "send=DataBuffer[type=float32, count=4, memory=device, address=0x1000]: this communicator's ranks are on the"
                        + " host, which cannot use memory of a device; give every rank a GPU (CommunicatorConfig.device), or copy"
                        + " it to memory of the host and pass that"
                        + (missing.isEmpty() ? "" : ". For ranks on GPUs: " + String.join(". ", missing)));
        refused(
                () -> comm.allReduce(buffer(4), DataBuffer.device(4096, 4, DataType.FLOAT32), ReduceOp.SUM),
                "recv=DataBuffer[type=float32, count=4, memory=device, address=0x1000]: this communicator's ranks are on the"
                        + " host, which cannot use memory of a device; give every rank a GPU (CommunicatorConfig.device), or copy"
                        + " it to memory of the host and pass that"
                        + (missing.isEmpty() ? "" : ". For ranks on GPUs: " + String.join(". ", missing)));
        refused(
                () -> DataBuffer.device(0, 4, DataType.FLOAT32),
                "address=0 count=4: expected the address of the memory");
        refused(
                () -> DataBuffer.device(0x1002, 4, DataType.FLOAT32),
                "address=0x1002 type=float32: expected a multiple of 4, because devices read elements only there");
        refused(
                () -> comm.allReduce(DataBuffer.of(floats(2).asReadOnlyBuffer()), ReduceOp.SUM),
                "recv=DataBuffer[type=float32, count=2, memory=direct, read-only]: is read-only and cannot receive; pass a"
                        + " writable buffer");
        refused(
                () -> DataBuffer.of(ByteBuffer.allocateDirect(8), DataType.FLOAT32),
                "order=BIG_ENDIAN: expected native byte order; call order(ByteOrder.nativeOrder()) on the ByteBuffer,"
                        + " before a view of it is made");
        refused(
                () -> DataBuffer.of(ByteBuffer.allocateDirect(7), DataType.FLOAT32),
                "remaining=7 type=float32: expected a multiple of 4 bytes; set the buffer's limit");
        refused(
                () -> DataBuffer.of(new short[2], DataType.INT8),
                "type=int8: expected int16, uint16, float16 or bfloat16; any type may be read from a ByteBuffer");
        refused(
                () -> DataBuffer.of(new short[2], DataType.FLOAT8_E4M3),
                "type=float8_e4m3: expected int16, uint16, float16 or bfloat16; any type may be read from a ByteBuffer");
        refused(
                () -> DataBuffer.of(new byte[2], DataType.FLOAT16),
                "type=float16: expected int8, uint8, float8_e4m3 or float8_e5m2; any type may be read from a ByteBuffer");
        HostBuffer closed = HostBuffer.allocate(64);
        DataBuffer slice = closed.as(DataType.INT32);
        closed.close();
        assertThatIllegalStateException()
                .isThrownBy(() -> comm.allReduce(slice, ReduceOp.SUM))
                .withMessage(
                        "HostBuffer bytes=64 is closed: close it, or the arena that it is a block of, after its last use");
    }

    @Test
    void unpinOfABufferThatIsNotPinnedIsRefused() {
        HostBuffer buffer = HostBuffer.allocate(64);
        DataBuffer values = buffer.as(DataType.INT64);
        values.pin();
        buffer.close();
        assertThatIllegalStateException().isThrownBy(values::pin).withMessageContaining("is closed");
        assertThat(values.pinnedAddress()).isNotZero();
        values.unpin();
        requireUnpinned(values);
    }

    @Test
    void refusedOperationsLeaveNothingPinned() {
        HostBuffer buffer = HostBuffer.allocate(64);
        DataBuffer kept = buffer.as(DataType.INT64);
        for (Misused misused : List.<Misused>of(
                (group, closed) -> group.allReduce(kept, closed, ReduceOp.SUM),
                (group, closed) -> group.allReduce(kept, ReduceOp.SUM).allReduce(closed, ReduceOp.SUM),
                (group, closed) -> group.send(1, kept).recv(1, closed))) {
            HostBuffer other = HostBuffer.allocate(64);
            assertThatIllegalStateException()
                    .isThrownBy(() -> comm.group(group -> {
                        misused.issue(group, other.as(DataType.INT64));
                        other.close();
                    }))
                    .withMessageContaining("is closed");
            requireUnpinned(kept);
        }
        buffer.close();
    }

    /** Issues operations on a buffer that is closed before the group is issued. */
    @FunctionalInterface
    private interface Misused {
        void issue(Group group, DataBuffer closed);
    }

    private static void requireUnpinned(DataBuffer values) {
        assertThatIllegalStateException()
                .isThrownBy(values::unpin)
                .withMessage("HostBuffer bytes=64 pins=0: expected a pin to undo; call unpin() once for each pin()");
    }

    @Test
    void groupIsValidOnlyWithinItsBody() throws Exception {
        List<Group> kept = new ArrayList<>();
        comm.group(kept::add).await();
        assertThatIllegalStateException()
                .isThrownBy(() -> kept.get(0).barrier())
                .withMessageContaining("valid only within its body");
        assertThatIllegalStateException()
                .isThrownBy(() -> comm.group(group -> comm.barrier()))
                .withMessageContaining("inside of a group use the Group object");
        CountDownLatch inside = new CountDownLatch(1);
        CountDownLatch leave = new CountDownLatch(1);
        Future<?> grouping = ranks.submit(
                0,
                one -> one.group(group -> {
                    inside.countDown();
                    try {
                        leave.await();
                    } catch (InterruptedException e) {
                        throw new IllegalStateException(e);
                    }
                }));
        inside.await();
        assertThatIllegalStateException()
                .isThrownBy(() -> comm.barrier())
                .withMessageContaining("another thread issues an operation")
                .withMessageContaining("issue from one thread at a time");
        leave.countDown();
        grouping.get();
    }

    @Test
    void sendToSelfNeedsAMatchingReceive() {
        refused(
                () -> comm.group(group -> group.send(0, buffer(2)).recv(0, buffer(1))),
                "rank=0 sendBytes=[8] recvBytes=[4]: what a rank sends to itself it must receive in the same group, in the"
                        + " same order");
    }

    @Test
    void ranksAndSizesAreCheckedBeforeAnythingElse() {
        refused(() -> Communicator.init(null, 0, 0), "size=0: expected at least 1 rank");
        refused(() -> Communicator.init(null, 2, 2), "rank=2 size=2: expected 0 to 1");
        refused(
                () -> LocalRanks.config().timeout(Duration.ZERO).build(),
                "timeout=PT0S: expected a time from 1 millisecond to 365 days");
        refused(
                () -> LocalRanks.config().channels(65).build(),
                "channels=65: expected 1 to 64; leave it out for JCCL's choice");
        refused(
                () -> LocalRanks.config().maxBlocks(0).build(),
                "maxBlocks=0: expected 1 to 64; leave it out for JCCL's choice");
        refused(
                () -> LocalRanks.config().channels(8).maxBlocks(4).build(),
                "channels=8 maxBlocks=4: expected at most as many channels as blocks; leave one of them out");
    }

    @Test
    void aClosedCommunicatorRefusesOperations() {
        LocalRanks one = LocalRanks.start(1);
        Communicator alone = one.get(0);
        one.close();
        assertThatIllegalStateException()
                .isThrownBy(alone::barrier)
                .withMessage("communicator=" + alone.id() + " rank=0 is closed: issue operations before close()");
        alone.close();
        alone.abort();
        assertThat(alone.memoryUsage().totalBytes()).isZero();
    }

    @Test
    void settingsThatMustBeSharedAreCompared() {
        Assertions.assertThatThrownBy(() -> LocalRanks.start(2, rank -> LocalRanks.config()
                        .initTimeout(Duration.ofSeconds(10))
                        .setting("JCCL_BUFFSIZE", rank == 0 ? "1M" : "2M")
                        .build()))
                .hasRootCauseInstanceOf(BootstrapException.class)
                .rootCause()
                .hasMessageContaining("JCCL_BUFFSIZE=\"")
                .hasMessageContaining("this setting must be the same on all ranks");
    }

    @Test
    void tuningProfilesThatDifferAreNamed(@TempDir Path directory) throws IOException {
        Path file = directory.resolve("mine.properties");
        try (InputStream in = HostCosts.class.getResourceAsStream("host-costs.properties")) {
            String builtIn = new String(in.readAllBytes(), StandardCharsets.UTF_8);
            Files.writeString(file, builtIn.replaceFirst("step_us=\\S+", "step_us=0.77"));
        }
        Assertions.assertThatThrownBy(() -> LocalRanks.start(2, rank -> LocalRanks.config()
                        .initTimeout(Duration.ofSeconds(10))
                        .setting("JCCL_TUNING_PROFILE", rank == 0 ? "" : file.toString())
                        .build()))
                .hasRootCauseInstanceOf(BootstrapException.class)
                .rootCause()
                .hasMessageContaining("JCCL_TUNING_PROFILE=\"table ")
                .hasMessageContaining("this setting must be the same on all ranks");
        LocalRanks.start(
                        2,
                        LocalRanks.config()
                                .setting("JCCL_TUNING_PROFILE", file.toString())
                                .build())
                .close();
    }

    /** Either rank may find the error first; the other one then receives it. */
    @Test
    void aForcedTransportThatCannotReachAPeerSaysWhy() {
        Assertions.assertThatThrownBy(() -> LocalRanks.start(2, rank -> LocalRanks.config()
                        .initTimeout(Duration.ofSeconds(10))
                        .hostId("host" + rank)
                        .transport(TransportKind.SHM)
                        .build()))
                .rootCause()
                .hasMessageContaining("JCCL_TRANSPORT=shm rank=")
                .hasMessageContaining(": it cannot reach the peer: another host; unset JCCL_TRANSPORT");
    }
}
