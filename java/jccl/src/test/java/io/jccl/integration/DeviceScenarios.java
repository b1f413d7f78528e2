package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.management.ThreadMXBean;
import io.jccl.AbortedException;
import io.jccl.Communicator;
import io.jccl.CommunicatorConfig;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.Protocol;
import io.jccl.ReduceOp;
import io.jccl.Work;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of ranks that are threads and share one GPU. Subclasses run them on emulated GPUs and on GPUs of this host. */
abstract class DeviceScenarios {

    private static final long MOST_BYTES = 256; // of the call and its Work; measured: 232

    /** Returns the configuration of each rank, with device 0. */
    abstract CommunicatorConfig.Builder config();

    /** Returns the time limit from an abort to the end of a kernel that spins. */
    abstract Duration abortLimit();

    /** Returns the number of rounds in the test of LL128. */
    abstract int tortureRounds();

    /**
     * The flag and the data of a line must become visible together: a reader takes the data as soon as it sees the
     * flag, so a torn line would be a wrong element. Blocks begin at any element, several are in progress at once, and
     * slots are reused.
     */
    @ParameterizedTest
    @ValueSource(ints = {2, 4})
    void linesOfLL128AreNeverTorn(int size) {
        CommunicatorConfig config = config().setting("JCCL_ALGO", "ring")
                .setting("JCCL_PROTO", "ll128")
                .setting("JCCL_LL128", "force")
                .build();
        try (LocalRanks ranks = LocalRanks.start(size, config)) {
            ranks.run(comm -> {
                int count = 12_000;
                Random random = new Random(size); // with the same seed on all ranks
                try (DeviceMemory memory = new DeviceMemory(0, Long.BYTES * count)) {
                    DataBuffer all = memory.elements(count, DataType.INT64);
                    for (int round = 0; round < tortureRounds(); round++) {
                        long salt = random.nextLong();
                        memory.putLongs(LongStream.range(0, count).map(i -> salt * i + comm.rank()));
                        List<Work> blocks = new ArrayList<>();
                        for (int begin = 0; begin < count; ) {
                            int length = Math.min(count - begin, 1 + random.nextInt(3000));
                            blocks.add(comm.on(memory.stream()).allReduce(all.slice(begin, length), ReduceOp.SUM));
                            begin += length;
                        }
                        assertThat(memory.longs(count))
                                .as("round %d on rank %d", round, comm.rank())
                                .isEqualTo(LongStream.range(0, count)
                                        .map(i -> size * salt * i + size * (size - 1) / 2)
                                        .toArray());
                        for (Work block : blocks) {
                            block.await();
                            assertThat(block.execution().protocol()).isEqualTo(Protocol.LL128);
                        }
                    }
                }
            });
        }
    }

    @Test
    void automaticChoiceOnSeveralChannelsGivesTheExactResult() {
        try (LocalRanks ranks = LocalRanks.start(2, config().build())) {
            ranks.run(comm -> {
                int count = 20_000;
                byte[] bytes = new byte[4 * count];
                IntStream.range(0, bytes.length).forEach(i -> bytes[i] = (byte) (i % 4 == 0 ? i / 4 % 100 : 0));
                try (DeviceMemory memory = new DeviceMemory(0, bytes.length)) {
                    memory.put(bytes);
                    Work work =
                            comm.on(memory.stream()).allReduce(memory.elements(count, DataType.INT32), ReduceOp.SUM);
                    byte[] sum = memory.get(bytes.length);
                    IntStream.range(0, bytes.length).forEach(i -> bytes[i] *= 2);
                    assertThat(sum).isEqualTo(bytes);
                    work.await();
                    assertThat(work.execution().channels()).isPositive();
                }
            });
        }
    }

    /** Polls make no garbage: a thread that waits polls thousands of times. */
    @Test
    void operationsMakeNoGarbageButTheirWork() {
        try (LocalRanks ranks = LocalRanks.start(2, config().build())) {
            ranks.run(comm -> {
                ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
                try (DeviceMemory memory = new DeviceMemory(0, 4096)) {
                    DataBuffer buffer = memory.elements(64, DataType.FLOAT32);
                    long fewest = Long.MAX_VALUE;
                    for (int round = 0; round < 300; round++) {
                        long before = threads.getCurrentThreadAllocatedBytes();
                        Work work = comm.allReduce(buffer, ReduceOp.SUM);
                        for (int poll = 0; poll < 20; poll++) {
                            work.isDone();
                        }
                        work.await();
                        fewest = Math.min(fewest, threads.getCurrentThreadAllocatedBytes() - before);
                    }
                    assertThat(fewest).as("bytes of one operation").isLessThanOrEqualTo(MOST_BYTES);
                }
            });
        }
    }

    /**
     * Counters advance on the device. A graph can therefore be replayed between other operations, if every rank replays
     * it the same number of times.
     */
    @Test
    void capturedOperationsAreReplayed() {
        try (LocalRanks ranks = LocalRanks.start(2, config().build())) {
            ranks.run(comm -> {
                int count = 3000;
                try (DeviceMemory memory = new DeviceMemory(0, 8 * count)) {
                    DataBuffer values = memory.elements(count, DataType.INT64);
                    memory.putLongs(LongStream.range(0, count));
                    DeviceMemory.Graph graph = memory.capture(() -> {
                        comm.on(memory.stream()).allReduce(values, ReduceOp.SUM);
                        comm.on(memory.stream()).broadcast(values, 1);
                    });
                    for (int replay = 1; replay <= 5; replay++) {
                        graph.replay();
                        comm.on(memory.stream()).allReduce(values, ReduceOp.MAX);
                        int times = 1 << replay;
                        assertThat(memory.longs(count))
                                .isEqualTo(LongStream.range(0, count)
                                        .map(i -> i * times)
                                        .toArray());
                    }
                    comm.barrier().await();
                    graph.close();
                }
            });
        }
    }

    /** Operations of a group take effect in order: each reads what earlier ones wrote, in every replay. */
    @Test
    void operationsOfAGroupTakeEffectInOrderInEveryReplay() {
        try (LocalRanks ranks = LocalRanks.start(3, config().build())) {
            ranks.run(comm -> {
                try (DeviceMemory memory = new DeviceMemory(0, OrderedGroup.BYTES)) {
                    OrderedGroup group = new OrderedGroup(comm, memory);
                    DeviceMemory.Graph graph = memory.capture(group::issue);
                    for (int replay = 1, times = 3; replay <= 3; replay++, times *= 3) {
                        graph.replay();
                        group.require(times, times / 3);
                    }
                    comm.barrier().await();
                    graph.close();
                }
            });
        }
    }

    @Test
    void captureOnASecondStreamIsRefused() {
        try (LocalRanks ranks = LocalRanks.start(1, config().build());
                DeviceMemory one = new DeviceMemory(0, 64);
                DeviceMemory other = new DeviceMemory(0, 64)) {
            one.capture(() -> ranks.get(0).on(one.stream()).barrier()).close();
            assertThatThrownBy(() ->
                            other.capture(() -> ranks.get(0).on(other.stream()).barrier()))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("capture its operations on one stream");
        }
    }

    @Test
    void abortEndsAKernelThatSpins() {
        try (LocalRanks ranks = LocalRanks.start(2, config().build());
                DeviceMemory memory = new DeviceMemory(0, 4096)) {
            Work alone = ranks.get(0).allReduce(memory.elements(1024, DataType.FLOAT32), ReduceOp.SUM);
            assertThat(alone.isDone()).isFalse();
            long start = System.nanoTime();
            ranks.get(1).abort();
            assertThatThrownBy(alone::await).isInstanceOf(AbortedException.class);
            assertThat(System.nanoTime() - start).isLessThan(abortLimit().toNanos());
        }
    }

    @Test
    void ownersLearnOfTheEndOfOperationsThatNoThreadAwaits() throws InterruptedException {
        requireCallbacks(config().build());
    }

    /** Checks that callbacks are called after success, refusal and abort of operations for which no thread waits. */
    static void requireCallbacks(CommunicatorConfig config) throws InterruptedException {
        try (LocalRanks ranks = LocalRanks.start(2, config);
                DeviceMemory one = new DeviceMemory(0, 4096);
                DeviceMemory other = new DeviceMemory(0, 4096)) {
            List<DeviceMemory> memories = List.of(one, other);
            Semaphore calls = new Semaphore(0);
            for (int rank = 0; rank < 2; rank++) {
                DeviceMemory memory = memories.get(rank);
                memory.putLongs(LongStream.range(0, 100));
                ranks.get(rank).on(memory.stream()).allReduce(memory.released(100, calls::release), ReduceOp.SUM);
                ranks.get(rank).on(memory.stream()).group(group -> group.broadcast(
                                memory.released(50, calls::release), 0)
                        .allReduce(memory.released(50, calls::release), ReduceOp.SUM));
            }
            assertThat(calls.tryAcquire(6, 20, TimeUnit.SECONDS)).isTrue();
            assertThatThrownBy(() -> ranks.get(0).send(7, one.released(1, calls::release)))
                    .isInstanceOf(IllegalArgumentException.class);
            assertThat(calls.tryAcquire()).isTrue();
            ranks.get(0).on(one.stream()).allReduce(one.released(100, calls::release), ReduceOp.SUM);
            assertThat(calls.tryAcquire(100, TimeUnit.MILLISECONDS)).isFalse();
            ranks.get(1).abort("the test");
            assertThat(calls.tryAcquire(20, TimeUnit.SECONDS)).isTrue();
            assertThat(calls.availablePermits()).isZero();
        }
    }

    @Test
    void sendsAndReceivesAreInTheDump(@TempDir Path folder) throws Exception {
        CommunicatorConfig config =
                config().setting("JCCL_DUMP_DIR", folder.toString()).build();
        try (LocalRanks ranks = LocalRanks.start(2, config);
                DeviceMemory memory = new DeviceMemory(0, 4096)) {
            ranks.run(DeviceScenarios::exchange);
            Work alone = ranks.get(0).recv(1, memory.elements(100, DataType.FLOAT32));
            ranks.get(0).abort();
            assertThatThrownBy(alone::await).isInstanceOf(AbortedException.class);
            String text = FlightRecorderTest.awaitDumps(folder, 2).stream()
                    .filter(it -> it.contains("\"rank\":0,"))
                    .findFirst()
                    .orElseThrow();
            assertThat(text.substring(text.indexOf("device_transfers")))
                    .containsPattern(
                            "\\{\"number\":1,\"after\":\\d,\"state\":\"done\",\"sends\":1,\"to\":1,\"sent_bytes\":800,"
                                    + "\"receives\":1,\"from\":1,\"received_bytes\":400,\"begun\":\\d+,\"ended\":\\d+\\}")
                    .containsPattern(
                            "\\{\"number\":2,\"after\":\\d,\"state\":\"(running|failed)\",\"receives\":1,\"from\":1,"
                                    + "\"received_bytes\":400,\"begun\":\\d+");
        }
    }

    /** Sends 100 elements from rank 0 to rank 1, and 50 from rank 1 to rank 0. */
    private static void exchange(Communicator comm) {
        try (DeviceMemory mine = new DeviceMemory(0, 1600)) {
            comm.barrier().await();
            DataBuffer sent = mine.elements(comm.rank() == 0 ? 100 : 50, DataType.INT64);
            DataBuffer received = mine.elements(200, DataType.INT64).slice(100, comm.rank() == 0 ? 50 : 100);
            comm.on(mine.stream())
                    .sendReceive(sent, 1 - comm.rank(), received, 1 - comm.rank())
                    .await();
        }
    }

    @Test
    void jfrEventsOfSendsAndReceivesCountTheirBytes(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("operations.jfr");
        String id;
        try (Recording recording = new Recording();
                LocalRanks ranks = LocalRanks.start(2, config().build())) {
            id = ranks.get(0).id();
            recording.enable(JfrEventsTest.OPERATION).withoutThreshold();
            recording.start();
            ranks.run(DeviceScenarios::exchange);
            recording.stop();
            recording.dump(file);
        }
        assertThat(RecordingFile.readAllEvents(file))
                .filteredOn(event -> event.getString("communicator").equals(id)
                        && event.getString("collective").equals("send_recv"))
                .hasSize(2)
                .allSatisfy(event -> assertThat(event.getLong("bytes")).isEqualTo(1200));
    }

    @Test
    void twoRanksOnOneStreamAreRefused() {
        try (LocalRanks ranks = LocalRanks.start(2, config().build());
                DeviceMemory memory = new DeviceMemory(0, 4096)) {
            ranks.get(0).on(memory.stream()).barrier();
            assertThatThrownBy(() -> ranks.get(1).on(memory.stream()).barrier())
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("give rank=1 a stream of its own");
            try (DeviceMemory other = new DeviceMemory(0, 1)) {
                ranks.get(1).on(other.stream()).barrier().await();
            }
        }
    }
}
