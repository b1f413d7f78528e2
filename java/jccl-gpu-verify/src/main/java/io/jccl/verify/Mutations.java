package io.jccl.verify;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Runs kernels with deliberate errors, and requires that the checks of the real kernels notice each error. A library of
 * its own contains these kernels. The number of threads of a block selects the error: see
 * {@code cuda/test/mutated/mutations.h}.
 */
final class Mutations {

    private static final List<String> PROTOCOLS = List.of("ll", "ll128", "simple");
    private static final String NOTHING_WRONG = "64";
    private static final String LOSES_ELEMENTS = "96";
    private static final String LOSES_ELEMENTS_OF_MAX = "160";
    private static final String DROPS_FLAGS_OF_MAX = "224";

    /** Runs a program to its end, or until its time is over. */
    @FunctionalInterface
    interface Runner {
        /** Runs the program; its output is kept under {@code name}. */
        ChildProcess.Result run(String name, List<String> command, Map<String, String> environment)
                throws IOException, InterruptedException;
    }

    private final Path library;
    private final Runner runner;

    Mutations(Path library, Runner runner) {
        this.library = library;
        this.runner = runner;
    }

    /** Runs all kernels. A run that did not end has noticed nothing. */
    List<Report.Mutation> run() throws IOException, InterruptedException {
        List<Report.Mutation> all = new ArrayList<>();
        ChildProcess.Result tested = run("self-test", LOSES_ELEMENTS, "simple");
        for (String protocol : PROTOCOLS) {
            Matcher found = Pattern.compile("\\b" + protocol + ": (element=\\d+ value=\\d+, expected \\d+)")
                    .matcher(tested.output());
            boolean noticed = found.find() && tested.status() == 1;
            all.add(new Report.Mutation(
                    "each slice loses its last element",
                    protocol,
                    "the self-test of connections",
                    noticed,
                    noticed ? found.group(1) : said(tested)));
        }
        for (String protocol : PROTOCOLS) {
            ChildProcess.Result control = run("control-" + protocol, NOTHING_WRONG, protocol);
            boolean right = control.status() == 0 && wrong(control) == 0 && protocol.equals(used(control));
            all.add(new Report.Mutation("none, as a control", protocol, "nothing", right, said(control)));
            ChildProcess.Result lost = run("elements-" + protocol, LOSES_ELEMENTS_OF_MAX, protocol);
            all.add(new Report.Mutation(
                    "each slice loses its last element",
                    protocol,
                    "the check of results",
                    lost.status() == 1 && wrong(lost) > 0,
                    "wrong elements: " + wrong(lost)));
            ChildProcess.Result dropped = run("flags-" + protocol, DROPS_FLAGS_OF_MAX, protocol);
            boolean late = dropped.status() == 1 && dropped.output().contains("CommunicationTimeoutException");
            all.add(new Report.Mutation(
                    "no slot is written or published", protocol, "the time-out", late, said(dropped)));
        }
        return all;
    }

    private ChildProcess.Result run(String name, String threads, String protocol)
            throws IOException, InterruptedException {
        List<String> arguments = Jvm.devicePerf(
                "all_reduce",
                2,
                "--threads",
                "--check",
                "--type",
                "int32",
                "--op",
                "max",
                "-b",
                "4K",
                "-e",
                "4K",
                "--iters",
                "1",
                "--warmup",
                "0",
                "--algorithm",
                "ring",
                "--protocol",
                protocol,
                "--json",
                "-");
        return runner.run(
                "mutation-" + name,
                Jvm.brief(library, arguments),
                Map.of(
                        "JCCL_NTHREADS",
                        threads,
                        "JCCL_TIMEOUT",
                        threads.equals(DROPS_FLAGS_OF_MAX) ? "2s" : "60s",
                        "JCCL_LL128",
                        "force"));
    }

    private static String said(ChildProcess.Result result) {
        return result.isLate() ? "its time was over" : result.status() == 0 ? "" : result.reason();
    }

    private static long wrong(ChildProcess.Result result) {
        return result.rows().stream()
                .mapToLong(row -> row.at("/out_of_place/wrong").asLong()
                        + row.at("/in_place/wrong").asLong())
                .sum();
    }

    private static String used(ChildProcess.Result result) {
        return result.rows().stream()
                .map(row -> row.path("protocol").asText())
                .findFirst()
                .orElse("none");
    }
}
