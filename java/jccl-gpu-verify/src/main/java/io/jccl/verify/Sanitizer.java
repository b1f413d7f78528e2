package io.jccl.verify;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Runs kernels under NVIDIA's compute-sanitizer, which makes them slow. */
final class Sanitizer {

    private final Steps steps;

    Sanitizer(Steps steps) {
        this.steps = steps;
    }

    void run() throws IOException, InterruptedException {
        Optional<Path> program = NcclTests.find("compute-sanitizer", System.getenv());
        if (program.isEmpty()) {
            steps.notRun("memcheck and racecheck", "there is no compute-sanitizer (of NVIDIA's toolkit) on the path");
            return;
        }
        for (String tool : List.of("memcheck", "racecheck")) {
            for (String protocol : List.of("simple", "ll", "ll128")) {
                String name = tool + "-" + protocol;
                List<String> command = command(program.get(), tool, protocol);
                Map<String, String> environment = Map.of("JCCL_TIMEOUT", "10min", "JCCL_LL128", "force");
                steps.step(
                        tool + ": " + protocol,
                        Steps.SHORT.multipliedBy(2),
                        () -> Steps.failure(name, steps.child(name, command, environment)));
            }
        }
    }

    /**
     * Returns the command line. 99 is an exit status that jccl does not use. The tool does not report API errors:
     * results such as "not ready" are no faults, and the library checks what calls return.
     */
    private static List<String> command(Path program, String tool, String protocol) {
        List<String> command = new ArrayList<>(
                List.of(program.toString(), "--tool", tool, "--error-exitcode", "99", "--report-api-errors", "no"));
        command.addAll(Jvm.jccl(Jvm.devicePerf(
                "all_reduce",
                2,
                "--threads",
                "--check",
                "-b",
                "8",
                "-e",
                "1M",
                "-f",
                "64",
                "--iters",
                "2",
                "--warmup",
                "0",
                "--algorithm",
                "ring",
                "--protocol",
                protocol)));
        return command;
    }
}
