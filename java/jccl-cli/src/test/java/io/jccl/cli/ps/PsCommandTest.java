package io.jccl.cli.ps;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.networknt.schema.JsonSchemaFactory;
import com.networknt.schema.SpecVersion;
import io.jccl.cli.output.ExitCode;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

/** Tests the options and exit statuses of {@code jccl ps}, and its JSON against the schema. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class PsCommandTest {

    @TempDir
    Path folder;

    private final ByteArrayOutputStream out = new ByteArrayOutputStream();
    private final ByteArrayOutputStream err = new ByteArrayOutputStream();
    private final StringWriter usage = new StringWriter();
    private final PrintStream realOut = System.out;
    private final PrintStream realErr = System.err;

    @BeforeEach
    void capture() {
        System.setProperty("JCCL_STATUS_DIR", folder.resolve("status").toString());
        System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
    }

    @AfterEach
    void release() {
        System.setOut(realOut);
        System.setErr(realErr);
        System.clearProperty("JCCL_STATUS_DIR");
    }

    private int execute(String... arguments) {
        out.reset();
        err.reset();
        return new CommandLine(new PsCommand())
                .setErr(new PrintWriter(usage, true))
                .execute(arguments);
    }

    private String printed() {
        return out.toString(StandardCharsets.UTF_8);
    }

    private JsonNode json() throws Exception {
        JsonNode json = new ObjectMapper().readTree(printed());
        assertThat(JsonSchemaFactory.getInstance(SpecVersion.VersionFlag.V202012)
                        .getSchema(Files.readString(Path.of("../../docs/schema/ps.schema.json")))
                        .validate(json))
                .as(printed())
                .isEmpty();
        return json;
    }

    @Test
    void namesTheAbsentRankInTextAndJsonAndByItsStatus() throws Exception {
        try (PsRanks ranks = PsRanks.start(folder, 2, 1, PsRankMain.Fault.ABSENT)) {
            ranks.await(1, "READY");
            Thread.sleep(1500); // on a busy host, a rank that was late earlier counts as slow for a second
            assertThat(execute()).as(printed() + err).isEqualTo(ExitCode.HELD_UP);
            assertThat(printed()).startsWith("ABSENT rank 1 (pid " + ranks.pid(1));
            assertThat(execute("--json", Long.toString(ranks.pid(0)))).isEqualTo(ExitCode.HELD_UP);
            JsonNode communicator = json().get("communicators").get(0);
            assertThat(communicator.get("findings").get(0).get("kind").asText()).isEqualTo("absent");
            assertThat(communicator.get("findings").get(0).get("ranks").get(0).asInt())
                    .isEqualTo(1);
            JsonNode first = communicator.get("ranks").get(0);
            assertThat(first.get("transports").get(0).get("transport").asText()).isEqualTo("shm");
            assertThat(first.get("totals").get("bytes").asLong()).isEqualTo(20 * 4096 * 8);
            String id = communicator.get("id").asText();
            assertThat(execute(
                            "--job",
                            id.substring(0, 4),
                            "--dump",
                            folder.resolve("d").toString()))
                    .isEqualTo(ExitCode.HELD_UP);
            assertThat(printed()).contains("dump: ").contains("rank0").contains("rank1");
            assertThat(execute("--job", "nobody")).isEqualTo(ExitCode.FAILURE);
            assertThat(err.toString(StandardCharsets.UTF_8)).contains("job=nobody");
            ranks.signal(1, "-STOP");
            try {
                assertThat(execute("--json")).isEqualTo(ExitCode.HELD_UP);
                assertThat(json().get("communicators")
                                .get(0)
                                .get("ranks")
                                .get(1)
                                .get("state")
                                .asText())
                        .isEqualTo("stopped");
            } finally {
                ranks.signal(1, "-CONT");
            }
        }
    }

    /** Rank 2 of three is killed, rank 1 does not reform the communicator, and another process waits to join. */
    @Test
    void showsRanksThatReformAndAProcessThatWaitsToJoin() throws Exception {
        try (PsRanks ranks = new PsRanks(folder)) {
            String rendezvous = "127.0.0.1:" + PsRanks.freePort() + "/a secret";
            int member = PsRanks.freePort();
            String members = "127.0.0.1:" + member;
            for (int rank = 0; rank < 3; rank++) {
                Map<String, String> port = rank == 0 ? Map.of("JCCL_MEMBER_PORT", Integer.toString(member)) : Map.of();
                ranks.startLaunched(rank, 3, rendezvous, 1, PsRankMain.Fault.NO_REFORM, port);
            }
            ranks.startLaunched(3, 3, rendezvous, 1, PsRankMain.Fault.NO_REFORM, Map.of("JCCL_JOIN", members));
            ranks.await(2, "READY");
            String joiner = "pid " + ranks.pid(3) + " on ";
            awaitPrinted(joiner, "waits to join job ", "connect: Connection refused");
            assertThat(execute("--json", Long.toString(ranks.pid(3)))).isZero();
            String job = json().get("communicators").get(0).get("job").asText();
            JsonNode join = joins().get(0);
            assertThat(join.get("job").asText()).isEqualTo(job);
            assertThat(join.get("members").asText()).isEqualTo(members);
            assertThat(join.get("asked").get(0).get("address").asText()).contains(Integer.toString(member));

            ranks.process(2).destroyForcibly().waitFor();
            awaitPrinted(
                    "FAILED ",
                    "ABSENT rank 1 (pid " + ranks.pid(1) + " on ",
                    ") has not come: the others reform the communicator, ",
                    "failed; in reform(excluded={2} joiners=1) for ",
                    joiner,
                    "waits for other ranks or processes");
            ranks.process(3).destroyForcibly().waitFor();
            awaitPrinted(") and a process that joins have not come: ");
            assertThat(execute("--json")).isEqualTo(ExitCode.HELD_UP);
            JsonNode first = json().get("communicators").get(0).get("ranks").get(0);
            assertThat(first.get("step").asText()).isEqualTo("reform(excluded={2} joiners=1)");
            assertThat(joins()).isEmpty();
        }
    }

    /** Returns the {@code joins} of all processes in the printed JSON. */
    private List<JsonNode> joins() throws Exception {
        List<JsonNode> joins = new ArrayList<>();
        for (JsonNode process : json().get("processes")) {
            process.get("joins").forEach(joins::add);
        }
        return joins;
    }

    private void awaitPrinted(String... texts) throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        execute();
        while (!List.of(texts).stream().allMatch(printed()::contains) && System.nanoTime() - end < 0) {
            Thread.sleep(50);
            execute();
        }
        assertThat(printed()).contains(texts);
    }

    @Test
    void saysThatNothingRuns() throws Exception {
        assertThat(execute()).isEqualTo(ExitCode.FAILURE);
        assertThat(err.toString(StandardCharsets.UTF_8)).contains("no job of this user runs here");
        assertThat(execute("--json")).isEqualTo(ExitCode.FAILURE);
        assertThat(json().get("communicators")).isEmpty();
        assertThat(execute(Long.toString(ProcessHandle.current().pid()))).isEqualTo(ExitCode.FAILURE);
        assertThat(err.toString(StandardCharsets.UTF_8)).contains("it has no communicator");
        assertThat(execute("4194305")).isEqualTo(ExitCode.FAILURE);
        assertThat(err.toString(StandardCharsets.UTF_8)).contains("pid=4194305: there is no such process");
    }

    @ParameterizedTest
    @CsvSource({
        "somewhere, expected a process id or HOST:PORT",
        "127.0.0.1:70000, expected a process id or HOST:PORT",
        "127.0.0.1:7000, --secret-file"
    })
    void aWrongTargetIsExplained(String target, String expected) {
        assertThat(execute(target)).isEqualTo(ExitCode.USAGE);
        assertThat(usage.toString()).contains(expected);
    }

    @Test
    void aPortWithoutAServerIsExplained() throws Exception {
        Path secret = Files.writeString(folder.resolve("secret"), "a secret");
        assertThat(execute("127.0.0.1:1", "--secret-file", secret.toString())).isEqualTo(ExitCode.FAILURE);
        assertThat(err.toString(StandardCharsets.UTF_8)).contains("is it the port of a status server?");
    }
}
