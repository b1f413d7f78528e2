package io.jccl.verify;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
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
        Optional<Path> program = program();
        if (program.isPresent()) {
            for (String tool : List.of("memcheck", "racecheck")) {
                for (String protocol : List.of("simple", "ll", "ll128")) {
                    run(program.get(), tool, "ring", protocol, Steps.SHORT.multipliedBy(2));
                }
            }
        }
    }

    /** Looks for races only, in place and in one protocol with slots. */
    void races(Duration limitOfEach) throws IOException, InterruptedException {
        Optional<Path> program = program();
        if (program.isPresent()) {
            run(program.get(), "racecheck", "direct", "simple", limitOfEach);
            run(program.get(), "racecheck", "ring", "ll", limitOfEach);
        }
    }

    private Optional<Path> program() {
        Optional<Path> program = NcclTests.find("compute-sanitizer", System.getenv());
        if (program.isEmpty()) {
            steps.notRun("memcheck and racecheck", "there is no compute-sanitizer (of NVIDIA's toolkit) on the path");
        }
        return program;
    }

    private void run(Path program, String tool, String algorithm, String protocol, Duration limit)
            throws IOException, InterruptedException {
        String name = tool + "-" + algorithm + "-" + protocol;
        List<String> command = command(program, tool, algorithm, protocol);
        Map<String, String> environment = Map.of("JCCL_TIMEOUT", "10min", "JCCL_LL128", "force");
        steps.step(
                tool + ": " + algorithm + " " + protocol,
                limit,
                () -> Steps.failure(name, steps.child(name, command, environment)));
    }

    /**
     * Returns the command line. 99 is an exit status that jccl does not use. The tool does not report API errors:
     * results such as "not ready" are no faults, and the library checks what calls return.
     */
    private static List<String> command(Path program, String tool, String algorithm, String protocol) {
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
                algorithm,
                "--protocol",
                protocol)));
        return command;
    }
}
