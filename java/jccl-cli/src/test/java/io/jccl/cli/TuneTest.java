package io.jccl.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.Algorithm;
import io.jccl.CommunicatorConfig;
import io.jccl.Protocol;
import io.jccl.TransportKind;
import io.jccl.cli.CommandProcess.Result;
import io.jccl.config.Settings;
import io.jccl.tuning.HostCosts;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Runs {@code jccl tune} with the shortest possible measurements. */
@Timeout(180)
class TuneTest {

    @TempDir
    Path directory;

    private Result run(String... arguments) throws IOException, InterruptedException {
        return CommandProcess.run(directory, arguments);
    }

    @Test
    void ranksAcceptTheProfileThatIsWritten() throws IOException, InterruptedException {
        Path profile = directory.resolve("costs.properties");
        Result tuned = run(
                "tune",
                "--transport",
                "shm",
                "--budget",
                "0.01",
                "--each",
                "0.0002",
                "-e",
                "1K",
                "-o",
                profile.toString());
        assertThat(tuned.status()).as(tuned.err()).isZero();
        assertThat(tuned.out()).isEmpty();
        HostCosts costs = HostCosts.of(Settings.load(CommunicatorConfig.builder()
                .setting("JCCL_TUNING_PROFILE", profile.toString())
                .build()));
        assertThat(costs.source()).contains("by `jccl tune --transport shm");
        assertThat(Files.readString(profile)).contains("# Costs of the host backend", "shm.ring.ll.hop_us=");
        assertThat(tuned.err())
                .contains("chunk_bytes stays", "run 3 of 3, shm, ")
                .containsPattern("jccl tune: run 1 of 3, shm, 1 rank: 0 %, about \\d+ s left\n")
                .contains("jccl tune: wrote " + profile.toAbsolutePath() + "; set JCCL_TUNING_PROFILE")
                .doesNotContain("\r");
    }

    @Test
    void aProfileThatCannotBeWrittenIsRefusedBeforeAnythingIsMeasured() {
        for (Path file : new Path[] {directory, directory.resolve("missing").resolve("costs.properties")}) {
            Result refused =
                    CommandProcess.runHere("tune", "--transport", "shm", "--budget", "600", "-o", file.toString());
            assertThat(refused.status()).isEqualTo(2);
            assertThat(refused.err()).contains("output=" + file + ": expected a file that can be written");
        }
    }

    @Test
    void verifyingReportsTheSlowdownOfEverySize() throws IOException, InterruptedException {
        Result result = run(
                "tune",
                "--verify",
                "--transport",
                "p2p",
                "--collective",
                "send_recv",
                "--forms",
                "--budget",
                "0.01",
                "--each",
                "0.0002",
                "-e",
                "64",
                "-q");
        assertThat(result.status()).as(result.err()).isZero();
        assertThat(result.err()).doesNotContain("run 1 of");
        assertThat(result.out())
                .contains("# profile in use: ", "# send_recv over p2p, 2 ranks", "SLOWER BY", "\n8 B ", "\n64 B ")
                .contains("# send_recv over p2p, 4 ranks", "SIZE  direct/ll  direct/ll128  direct/simple\n")
                .containsPattern("\n# cells: 4, at most 10 % slower than the best: [0-4] \\(\\d+\\.\\d %\\)\n");
    }

    /** Two commands, as on two hosts, are the ranks of all runs. The first writes the profile. */
    @Test
    void hostsOfAJobMeasureTheSocketsBetweenThem() throws IOException, InterruptedException {
        String[] command = "tune --hosts-of-job --budget 0.01 --each 0.0002 -e 64 -o costs.properties".split(" ");
        int port;
        try (ServerSocket any = new ServerSocket(0)) {
            port = any.getLocalPort();
        }
        List<Process> ranks = new ArrayList<>();
        for (int rank = 0; rank < 2; rank++) {
            ProcessBuilder builder = CommandProcess.builder(directory, List.of(), command);
            builder.environment().put("JCCL_RANK", "" + rank);
            builder.environment().put("JCCL_SIZE", "2");
            builder.environment().put("JCCL_LOCAL_RANK", "0");
            builder.environment().put("JCCL_RENDEZVOUS", "127.0.0.1:" + port + "/a secret that nobody guesses");
            builder.environment().put("JCCL_HOST_ID", "host" + rank);
            builder.directory(directory.toFile());
            builder.redirectOutput(directory.resolve("out" + rank).toFile());
            builder.redirectError(directory.resolve("err" + rank).toFile());
            ranks.add(builder.start());
        }
        try {
            for (int rank = 0; rank < 2; rank++) {
                assertThat(ranks.get(rank).waitFor(120, TimeUnit.SECONDS)).isTrue();
                assertThat(ranks.get(rank).exitValue())
                        .as(Files.readString(directory.resolve("err" + rank)))
                        .isZero();
            }
        } finally {
            ranks.forEach(Process::destroyForcibly);
        }
        HostCosts costs = HostCosts.of(Settings.load(CommunicatorConfig.builder()
                .setting(
                        "JCCL_TUNING_PROFILE",
                        directory.resolve("costs.properties").toString())
                .build()));
        assertThat(costs.source()).startsWith("socket rows measured between 2 hosts with one rank each");
        HostCosts before = HostCosts.builtIn();
        String messages = Files.readString(directory.resolve("err0"));
        if (!messages.contains("the row of ring/simple")) { // left out if its figures contradict each other
            assertThat(costs.link(TransportKind.SOCKET, Algorithm.RING, Protocol.SIMPLE))
                    .isNotEqualTo(before.link(TransportKind.SOCKET, Algorithm.RING, Protocol.SIMPLE));
        }
        assertThat(costs.link(TransportKind.SHM, Algorithm.RING, Protocol.SIMPLE))
                .isEqualTo(before.link(TransportKind.SHM, Algorithm.RING, Protocol.SIMPLE));
        assertThat(messages).contains("run 1 of 1, socket, 2 ranks", "wrote ");
        assertThat(Files.readString(directory.resolve("out0")) + Files.readString(directory.resolve("out1")))
                .isEmpty();
        assertThat(Files.readString(directory.resolve("err1"))).doesNotContain("run 1 of 1", "wrote ", " stays ");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "JCCL_LOCAL_RANK=1 | --hosts-of-job | rank=1 local_rank=1: expected one rank on each host",
                "JCCL_LOCAL_RANK=0 | --hosts-of-job --transport shm | transport=shm: expected socket with --hosts-of-job",
                "JCCL_SIZE=1 JCCL_RANK=0 | --hosts-of-job | expected a launcher that starts this command once on each"
            })
    void hostsOfAJobThatCannotBeMeasuredAreRefused(String variables, String options, String message)
            throws IOException, InterruptedException {
        Map<String, String> environment =
                new HashMap<>(Map.of("JCCL_RANK", "1", "JCCL_SIZE", "2", "JCCL_RENDEZVOUS", "127.0.0.1:1/s"));
        for (String variable : variables.split(" ")) {
            environment.put(variable.split("=")[0], variable.split("=")[1]);
        }
        Result refused = CommandProcess.run(directory, environment, ("tune " + options).split(" "));
        assertThat(refused.status()).as(refused.err()).isEqualTo(2);
        assertThat(refused.err()).contains(message);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "tune --transport ether | transport=\"ether\": unknown",
                "tune -e 1 | max=1: expected at least 64",
                "tune --budget 0 | budget=0.0: expected seconds above 0",
                "tune --verify --collective allreduce | collective=\"allreduce\": unknown",
                "tune --verify --collective allreduce | ; did you mean all_reduce?",
                "tune --verify --collective reduce,barrier | collective=barrier: moves no data",
                "tune -o no-such-folder/x | no-such-folder/x: expected a file that can be written"
            })
    void wrongUsageEndsWithStatusTwo(String command, String message) {
        Result result = CommandProcess.runHere(command.split(" "));
        assertThat(result.status()).isEqualTo(2);
        assertThat(result.err()).contains(message).contains("--help");
    }
}
