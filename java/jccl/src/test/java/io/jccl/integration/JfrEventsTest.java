package io.jccl.integration;

import static io.jccl.integration.ResultsTest.longs;
import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.ReduceOp;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import jdk.jfr.consumer.RecordingStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The library's events in JDK Flight Recorder (JFR). */
@Timeout(value = 120, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class JfrEventsTest {

    static final String OPERATION = "io.jccl.Operation";
    private static final String COMMUNICATOR = "io.jccl.Communicator";
    private static final String FAILURE = "io.jccl.Failure";

    @TempDir
    Path folder;

    @Test
    void aStreamGetsAnEventForEachOperation() throws Exception {
        Queue<RecordedEvent> events = new ConcurrentLinkedQueue<>();
        String id;
        try (RecordingStream stream = new RecordingStream()) {
            stream.enable(OPERATION).withoutThreshold();
            stream.setReuse(false);
            stream.onEvent(OPERATION, events::add);
            stream.startAsync();
            try (LocalRanks ranks = LocalRanks.start(2)) {
                id = ranks.get(0).id();
                ranks.run(JfrEventsTest::workOnce);
            }
            awaitEvents(events, id, 6);
        }
        for (int rank = 0; rank < 2; rank++) {
            int mine = rank;
            List<RecordedEvent> ofRank = events.stream()
                    .filter(event -> event.getString("communicator").equals(id) && event.getInt("rank") == mine)
                    .sorted((a, b) -> a.getStartTime().compareTo(b.getStartTime()))
                    .toList();
            assertThat(ofRank)
                    .extracting(event -> event.getString("collective"))
                    .containsExactly("all_reduce", "broadcast", "send_recv");
            RecordedEvent sum = ofRank.get(0);
            assertThat(sum.getLong("sequence")).isEqualTo(1);
            assertThat(sum.getString("type")).isEqualTo("int64");
            assertThat(sum.getString("reduction")).isEqualTo("sum");
            assertThat(sum.getLong("count")).isEqualTo(1000);
            assertThat(sum.getLong("bytes")).isEqualTo(8000);
            assertThat(sum.getInt("size")).isEqualTo(2);
            assertThat(sum.getString("algorithm")).isNotEmpty();
            assertThat(sum.getBoolean("succeeded")).isTrue();
            assertThat(ofRank.get(1).getInt("root")).isEqualTo(1);
            assertThat(ofRank.get(2).getLong("bytes")).isEqualTo(160);
            assertThat(ofRank)
                    .allSatisfy(event -> assertThat(event.getDuration()).isPositive());
        }
    }

    private static void workOnce(Communicator comm) {
        DataBuffer values = DataBuffer.of(longs(new long[1000]));
        comm.allReduce(values, ReduceOp.SUM).await();
        comm.broadcast(values, 1).await();
        DataBuffer ten = DataBuffer.of(longs(new long[10]));
        comm.sendReceive(ten, 1 - comm.rank(), DataBuffer.of(longs(new long[10])), 1 - comm.rank())
                .await();
    }

    @Test
    void aThresholdLeavesQuickOperationsOut() throws Exception {
        Path file = folder.resolve("slow.jfr");
        try (Recording recording = new Recording();
                LocalRanks ranks = LocalRanks.start(2)) {
            recording.enable(OPERATION).withThreshold(Duration.ofMillis(50));
            recording.start();
            ranks.run(comm -> {
                DataBuffer values = DataBuffer.of(longs(new long[10]));
                comm.allReduce(values, ReduceOp.SUM).await();
                if (comm.rank() == 1) {
                    Thread.sleep(200);
                }
                comm.allReduce(values, ReduceOp.SUM).await();
            });
            recording.stop();
            recording.dump(file);
        }
        List<RecordedEvent> events = RecordingFile.readAllEvents(file);
        assertThat(events).anySatisfy(event -> {
            assertThat(event.getInt("rank")).isZero();
            assertThat(event.getLong("sequence")).isEqualTo(2);
            assertThat(event.getInt("waitedFor")).isEqualTo(1);
            assertThat(event.getDuration("waited")).isGreaterThan(Duration.ofMillis(50));
        });
        assertThat(events).allSatisfy(event -> assertThat(event.getDuration()).isGreaterThan(Duration.ofMillis(50)));
    }

    @Test
    void initCloseAndFailuresAreRecordedByDefaultButNotOperations() throws Exception {
        Path file = folder.resolve("life.jfr");
        String id;
        try (Recording recording = new Recording()) {
            recording.start();
            try (LocalRanks ranks = LocalRanks.start(2)) {
                id = ranks.get(0).id();
                ranks.run(JfrEventsTest::workOnce);
                ranks.run(comm -> comm.split(0, 0).orElseThrow().close());
                ranks.get(1).abort();
            }
            recording.stop();
            recording.dump(file);
        }
        List<RecordedEvent> events = RecordingFile.readAllEvents(file).stream()
                .filter(event -> event.getEventType().getName().startsWith("io.jccl."))
                .toList();
        assertThat(events)
                .noneSatisfy(event -> assertThat(event.getEventType().getName()).isEqualTo(OPERATION));
        List<RecordedEvent> life = events.stream()
                .filter(event -> event.getEventType().getName().equals(COMMUNICATOR))
                .toList();
        assertThat(life).extracting(event -> event.getString("phase")).contains("init", "split", "close");
        assertThat(life)
                .filteredOn(event -> event.getString("phase").equals("init")
                        && event.getString("communicator").equals(id))
                .hasSize(2)
                .allSatisfy(event -> {
                    assertThat(event.getString("steps")).contains("bootstrap=").contains("connect=");
                    assertThat(event.getInt("size")).isEqualTo(2);
                    assertThat(event.getDuration()).isPositive();
                });
        assertThat(events)
                .filteredOn(event -> event.getEventType().getName().equals(FAILURE))
                .anySatisfy(event -> {
                    assertThat(event.getString("communicator")).isEqualTo(id);
                    assertThat(event.getString("exception")).isEqualTo("AbortedException");
                    assertThat(event.getString("message")).contains("rank=1 aborted the communicator");
                });
    }

    private static void awaitEvents(Queue<RecordedEvent> events, String id, int count) throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (events.stream()
                        .filter(event -> event.getString("communicator").equals(id))
                        .count()
                < count) {
            assertThat(System.nanoTime()).as(events::toString).isLessThan(end);
            Thread.sleep(20);
        }
    }
}
