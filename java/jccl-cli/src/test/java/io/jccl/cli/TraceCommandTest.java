package io.jccl.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.networknt.schema.JsonSchema;
import com.networknt.schema.JsonSchemaFactory;
import com.networknt.schema.SpecVersion;
import io.jccl.Communicator;
import io.jccl.CommunicatorConfig;
import io.jccl.DataBuffer;
import io.jccl.JcclException;
import io.jccl.ReduceOp;
import io.jccl.UniqueId;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Runs {@code jccl trace} on dumps that ranks have written. */
@Timeout(value = 180, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class TraceCommandTest {

    private static final String DUMP_DIR = "JCCL_DUMP_DIR";
    private static final int RANKS = 3;

    @TempDir
    Path folder;

    @AfterEach
    void forgetTheFolder() {
        System.clearProperty(DUMP_DIR);
    }

    @Test
    void aHangIsExplainedAndBecomesATimeline() throws Exception {
        Path dumps = folder.resolve("dumps");
        System.setProperty(DUMP_DIR, dumps.toString());
        hang();
        for (Path dump : files(dumps)) {
            assertThat(schema("dump").validate(new ObjectMapper().readTree(Files.readString(dump))))
                    .as(dump.toString())
                    .isEmpty();
        }
        Path timeline = folder.resolve("timeline.json");
        CommandProcess.Result result = CommandProcess.runHere("trace", dumps.toString(), "-o", timeline.toString());
        assertThat(result.status()).as(result.err()).isZero();
        assertThat(result.out())
                .contains("size=3 dumps=3, one clock")
                .contains("failure at rank=0: rank 1 did not join all_reduce")
                .doesNotContain("Exception")
                .contains("rank=1 never entered sequence=4 all_reduce(type=float32 op=sum count=256)")
                .containsPattern("rank=[02] channel=0 waits for data from rank=1");
        JsonNode events = new ObjectMapper().readTree(timeline.toFile()).get("traceEvents");
        long slices = 0;
        for (JsonNode event : events) {
            if (event.get("ph").asText().equals("X")
                    && event.get("cat").asText().equals("collective")) {
                slices++;
                assertThat(event.get("ts").asDouble()).isNotNegative();
                assertThat(event.get("dur").asDouble()).isNotNegative();
            }
        }
        assertThat(slices).isEqualTo(3 * 3 + 2);

        CommandProcess.Result piped = CommandProcess.runHere("trace", dumps.toString(), "-o", "-");
        assertThat(new ObjectMapper().readTree(piped.out()).get("traceEvents")).isEqualTo(events);
        assertThat(piped.err()).contains("rank=1 never entered");

        CommandProcess.Result json = CommandProcess.runHere("trace", dumps.toString(), "--json");
        JsonNode comparison = new ObjectMapper().readTree(json.out());
        assertThat(schema("trace").validate(comparison)).as(json.out()).isEmpty();
        assertThat(comparison.findValuesAsText("kind")).contains("never_entered", "waits");

        Files.writeString(dumps.resolve("jccl-broken.json"), "{");
        CommandProcess.Result broken = CommandProcess.runHere("trace", dumps.toString());
        assertThat(broken.status()).isEqualTo(1);
        assertThat(broken.err()).contains("jccl trace: file=").contains("jccl-broken.json: is no dump of a rank");
        assertThat(broken.out()).contains("rank=1 never entered");
    }

    @Test
    void aMissingFolderIsAUsageError() {
        CommandProcess.Result result =
                CommandProcess.runHere("trace", folder.resolve("none").toString());
        assertThat(result.status()).isEqualTo(2);
        assertThat(result.err()).contains("DIR=").contains("cannot be read");
    }

    /** Runs three ranks. Rank 1 does not call the fourth operation, so all ranks fail and write dumps. */
    private void hang() throws Exception {
        UniqueId id = UniqueId.create();
        CommunicatorConfig config =
                CommunicatorConfig.builder().timeout(Duration.ofSeconds(2)).build();
        CountDownLatch failed = new CountDownLatch(RANKS - 1);
        List<Thread> threads = new ArrayList<>();
        for (int rank = 0; rank < RANKS; rank++) {
            int mine = rank;
            Thread thread = new Thread(() -> work(id, mine, config, failed));
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads) {
            thread.join(TimeUnit.SECONDS.toMillis(60));
            assertThat(thread.isAlive()).isFalse();
        }
        assertThat(failed.getCount()).isZero();
        assertThat(files(folder.resolve("dumps"))).hasSize(RANKS);
    }

    private static void work(UniqueId id, int rank, CommunicatorConfig config, CountDownLatch failed) {
        try (Communicator comm = Communicator.init(id, rank, RANKS, config)) {
            for (int i = 0; i < (rank == 1 ? 3 : 4); i++) {
                comm.allReduce(DataBuffer.of(new float[256]), ReduceOp.SUM).await();
            }
            failed.await(60, TimeUnit.SECONDS);
            comm.barrier().await();
        } catch (JcclException e) {
            if (rank != 1) {
                failed.countDown();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static List<Path> files(Path dumps) throws IOException {
        try (Stream<Path> files = Files.list(dumps)) {
            return files.filter(file -> file.toString().endsWith(".json")).toList();
        }
    }

    private static JsonSchema schema(String name) throws IOException {
        return JsonSchemaFactory.getInstance(SpecVersion.VersionFlag.V202012)
                .getSchema(Files.readString(Path.of("../../docs/schema/" + name + ".schema.json")));
    }
}
