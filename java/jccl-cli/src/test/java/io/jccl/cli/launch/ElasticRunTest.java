package io.jccl.cli.launch;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.Communicator;
import io.jccl.CommunicatorConfig;
import io.jccl.PeerFailedException;
import io.jccl.ReduceOp;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Runs the launcher of {@code jccl run --elastic} with ranks that communicate. */
@Timeout(value = 120, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ElasticRunTest {

    private static final int CALLS = 100;
    private static final int KILLED = 137;

    /**
     * A rank that reforms the communicator after failures. Argument number g names the process that ends itself in
     * generation g: the number of the process, followed by g. For example, {@code 21} as argument 1 ends process 2 in
     * generation 1.
     */
    static final class Program {

        private Program() {}

        public static void main(String[] arguments) {
            CommunicatorConfig config = CommunicatorConfig.builder()
                    .initTimeout(Duration.ofSeconds(60))
                    .build();
            Communicator comm = Communicator.fromEnvironment(config);
            String process = System.getenv("JCCL_RANK");
            boolean done = false;
            while (!done) {
                try {
                    for (int call = 0; call < CALLS; call++) {
                        if (call == CALLS / 2 && (process + comm.generation()).equals(arguments[comm.generation()])) {
                            Runtime.getRuntime().halt(KILLED);
                        }
                        comm.allReduce(1L, ReduceOp.SUM);
                    }
                    done = true;
                } catch (PeerFailedException e) {
                    Set<Integer> left = IntStream.range(0, comm.size()).boxed().collect(Collectors.toSet());
                    left.removeAll(e.failedRanks());
                    Communicator next = comm.reform(left, e.failedRanks().size());
                    comm.close();
                    comm = next;
                }
            }
            System.out.println(
                    "END " + comm.allReduce(1L << comm.rank(), ReduceOp.SUM) + " generation=" + comm.generation());
            comm.close();
        }
    }

    private final ByteArrayOutputStream said = new ByteArrayOutputStream();

    private Outcome run(Elastic elastic, String... arguments) throws Exception {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-cp",
                System.getProperty("java.class.path"),
                Program.class.getName()));
        command.addAll(List.of(arguments));
        Job job = new Job(
                3,
                command,
                Map.of(),
                List.of(),
                Job.Output.PREFIXED,
                new Job.Colours(false, false),
                Duration.ZERO,
                Duration.ofSeconds(2),
                false);
        PrintStream out = new PrintStream(said, true, StandardCharsets.UTF_8);
        return new LocalLauncher(job, elastic, out, out).run();
    }

    @Test
    void processesThatDieStartAgainAndJoin() throws Exception {
        Elastic elastic = new Elastic(2, 5, Duration.ofMillis(50), Duration.ofSeconds(1));
        Outcome outcome = run(elastic, "00", "21", "none");
        String text = said.toString(StandardCharsets.UTF_8);
        assertThat(outcome).as(text).isEqualTo(new Outcome(0, -1));
        assertThat(text)
                .contains("[0] END 7 generation=2", "[1] END 7 generation=2", "[2] END 7 generation=2")
                .contains(
                        "jccl: process 0, rank 0 of 3 in generation 0, ended with status 137 (SIGKILL); it starts again in"
                                + " 50 ms and joins, restart 1 of 5; 2 of 3 processes live")
                .contains("jccl: process 0 has joined as rank 2 of 3 in generation 1")
                .contains("jccl: process 2, rank 1 of 3 in generation 1, ended with")
                .contains("jccl: process 2 has joined as rank 2 of 3 in generation 2");
    }

    @Test
    void theJobEndsIfTooFewRanksLive() throws Exception {
        Elastic elastic = new Elastic(3, 5, Duration.ofMillis(50), Duration.ofSeconds(1));
        assertThat(run(elastic, "10", "none")).isEqualTo(new Outcome(KILLED, 1));
    }
}
