package io.jccl.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.cli.CommandProcess.Result;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests commands that start ranks, when an outer launcher has started several of these commands. */
@Timeout(180)
class HostsOfJobTest {

    private static final String PRINT = "echo $JCCL_RANK of $JCCL_SIZE, $JCCL_LOCAL_RANK of $JCCL_LOCAL_SIZE at"
            + " $JCCL_RENDEZVOUS, outer=$OMPI_COMM_WORLD_RANK$JOB_COMPLETION_INDEX$RANK";

    @TempDir
    Path directory;

    private static Map<String, String> variables(String text) {
        Map<String, String> variables = new TreeMap<>();
        for (String pair : text.split(" ")) {
            variables.put(pair.split("=", 2)[0], pair.split("=", 2)[1]);
        }
        return variables;
    }

    private Result run(String environment, String... arguments) throws IOException, InterruptedException {
        return CommandProcess.run(directory, variables(environment), arguments);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "JCCL_SIZE=4 JOB_COMPLETION_INDEX=1 JCCL_RENDEZVOUS=a:1/s | run -n 2 -- echo begun | --hosts-of-job",
                "PMIX_RANK=0 PMIX_NAMESPACE=job | run --elastic 1:2 -- echo begun | --hosts-of-job",
                "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 | perf all_reduce --threads -n 2 | --threads",
                "JCCL_RENDEZVOUS=a:1/s | perf all_reduce -n 2 | -n",
                "SLURM_PROCID=0 SLURM_NTASKS=2 SLURM_STEP_ID=0 | tune | once on each host"
            })
    void aCommandThatIsOneOfSeveralIsRefusedWithVariablesAndRemedies(String environment, String command, String remedy)
            throws IOException, InterruptedException {
        Result refused = run(environment, command.split(" "));
        assertThat(refused.status()).as(refused.err()).isEqualTo(2);
        assertThat(refused.err())
                .contains("a launcher says that this command is one of several", remedy, "--this-host")
                .contains(environment.split("[ =]")[0] + "=");
        assertThat(refused.out()).isEmpty();
    }

    @Test
    void ranksOfAJobOfThisHostOnlyDoNotSeeTheLaunchersVariables() throws IOException, InterruptedException {
        String outer = "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 JCCL_SIZE=4 JOB_COMPLETION_INDEX=1 RANK=1"
                + " WORLD_SIZE=2 JCCL_LOCAL_SIZE=9 JCCL_RENDEZVOUS=a:1/s";
        Result result = run(outer, "run", "-n", "2", "--this-host", "--", "sh", "-c", PRINT);
        assertThat(result.status()).as(result.err()).isZero();
        assertThat(result.out().lines().map(line -> line.replaceFirst("file:\\S+", "FILE")))
                .containsExactlyInAnyOrder("[0] 0 of 2, 0 of 2 at FILE outer=", "[1] 1 of 2, 1 of 2 at FILE outer=");
    }

    @Test
    void ranksOfSeveralHostsFollowTheLaunchersOrder() throws IOException, InterruptedException {
        String outer = "JCCL_SIZE=4 JOB_COMPLETION_INDEX=1 JCCL_RENDEZVOUS=train-0.train:2900/s";
        Result result = run(outer, "run", "-n", "2", "--hosts-of-job", "--", "sh", "-c", PRINT + "; exit $JCCL_RANK");
        assertThat(result.out().lines())
                .contains("[2] 2 of 8, 0 of 2 at train-0.train:2900/s, outer=")
                .allMatch(line -> line.startsWith("[2] ") || line.startsWith("[3] 3 of 8, 1 of 2"));
        assertThat(result.status()).isBetween(2, 3);
        assertThat(result.err())
                .contains("jccl run: rank " + result.status() + " ended with status " + result.status());
    }

    @Test
    void hostsOfJobAreRefusedWithoutALauncherAndWithElastic() throws IOException, InterruptedException {
        Result none = run("HOME=/", "run", "-n", "2", "--hosts-of-job", "--", "echo", "begun");
        assertThat(none.status()).isEqualTo(2);
        assertThat(none.err())
                .contains("--hosts-of-job: no launcher's environment was found: set JCCL_RANK, JCCL_SIZE");
        String one = "JCCL_RANK=0 JCCL_SIZE=2 JCCL_RENDEZVOUS=a:1/s";
        Result elastic = run(one, "run", "--elastic", "1:2", "--hosts-of-job", "--", "echo", "begun");
        assertThat(elastic.status()).isEqualTo(2);
        assertThat(elastic.err()).contains("--hosts-of-job with --elastic: expected one of them");
        assertThat(none.out() + elastic.out()).isEmpty();
    }

    /** Two commands, as on two hosts, start two ranks each. The four ranks form one job, whose sums are checked. */
    @Test
    void theRanksOfTwoCommandsFormOneJob() throws IOException, InterruptedException {
        int port;
        try (ServerSocket any = new ServerSocket(0)) {
            port = any.getLocalPort();
        }
        List<Process> commands = new ArrayList<>();
        List<String> rank = CommandProcess.builder(
                        directory,
                        List.of(),
                        "perf",
                        "all_reduce",
                        "-b",
                        "8",
                        "-e",
                        "8",
                        "--iters",
                        "1",
                        "--warmup",
                        "0",
                        "--check",
                        "--json",
                        "-")
                .command();
        for (int host = 0; host < 2; host++) {
            List<String> arguments = new ArrayList<>(List.of("run", "-n", "2", "--hosts-of-job", "--no-prefix", "--"));
            arguments.addAll(rank);
            ProcessBuilder builder = CommandProcess.builder(directory, List.of(), arguments.toArray(String[]::new));
            builder.environment().put("RANK", "" + host);
            builder.environment().put("WORLD_SIZE", "2");
            builder.environment().put("MASTER_ADDR", "127.0.0.1");
            builder.environment().put("MASTER_PORT", "" + port);
            builder.environment().put("JCCL_HOST_ID", "host" + host);
            builder.redirectOutput(directory.resolve("out" + host).toFile());
            builder.redirectError(directory.resolve("err" + host).toFile());
            commands.add(builder.start());
        }
        try {
            for (int host = 0; host < 2; host++) {
                assertThat(commands.get(host).waitFor(120, TimeUnit.SECONDS)).isTrue();
                assertThat(commands.get(host).exitValue())
                        .as(Files.readString(directory.resolve("err" + host)))
                        .isZero();
            }
        } finally {
            commands.forEach(Process::destroyForcibly);
        }
        assertThat(Files.readString(directory.resolve("out0")))
                .contains("\"ranks\"")
                .containsPattern("\"ranks\" ?: ?4");
        assertThat(Files.readString(directory.resolve("out1")).lines().collect(Collectors.joining()))
                .isEmpty();
    }
}
