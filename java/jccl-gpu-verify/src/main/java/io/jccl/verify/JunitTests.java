package io.jccl.verify;

import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** Runs the tests of a bundle by JUnit's console. */
final class JunitTests {

    /**
     * Environment of tests whose ranks share a GPU: a hardware queue for each of their streams. JCCL sets the variable
     * itself, but too late if a test uses the GPU first.
     */
    private static final Map<String, String> QUEUES = Map.of("CUDA_DEVICE_MAX_CONNECTIONS", "32");

    private static final Pattern COUNT =
            Pattern.compile("\\[\\s*(\\d+) tests (found|successful|failed|skipped|aborted)\\s*]");

    /** The heading of the list of failures, which JUnit's console prints before the summary. */
    private static final Pattern FAILURES = Pattern.compile("Failures \\((\\d+)\\):");

    private static final String EXCEPTION = "    => ";
    private static final String STACK_TRACE = " ".repeat(7);
    private static final int LONGEST_MESSAGE = 300;

    private final Steps steps;
    private final Bundle bundle;

    JunitTests(Steps steps, Bundle bundle) {
        this.steps = steps;
        this.bundle = bundle;
    }

    /** Runs tests that need no GPU, if the bundle has tests. */
    void onHost() throws IOException, InterruptedException {
        if (Files.exists(bundle.tests())) {
            String tests = "io.jccl.integration.";
            List<String> command =
                    command("--details=summary", "-c", tests + "OperationsTest", "-c", tests + "MisuseTest");
            steps.step("host: tests", Duration.ofSeconds(60), () -> {
                ChildProcess.Result result = steps.child("host-tests", command, Map.of());
                return Steps.failure("host-tests", result, reason(result));
            });
        }
    }

    /**
     * Runs the tests tagged {@code gpu}.
     *
     * @param limit time limit of all of them
     * @param counts receives the numbers of tests if they run
     */
    void onGpus(Duration limit, Consumer<Report.Tests> counts) throws IOException, InterruptedException {
        String name = "tests tagged gpu";
        String jar = bundle.tests().toString();
        if (Files.exists(bundle.tests())) {
            List<String> command = command("--details=tree", "--include-tag", "gpu", "--scan-classpath", jar);
            steps.require(name, limit, () -> {
                ChildProcess.Result result = steps.child("tests", command, QUEUES);
                counts.accept(counted(result.output()));
                return Steps.failure("tests", result, reason(result));
            });
        } else {
            steps.notRun(name, jar + " is not there; make the bundle with scripts/gpu-bundle");
        }
    }

    private List<String> command(String... further) {
        List<String> command = Jvm.withClassPath(bundle.classPathOfTests());
        command.addAll(List.of(
                "org.junit.platform.console.ConsoleLauncher",
                "execute",
                "--disable-banner",
                "--disable-ansi-colors",
                "--fail-if-no-tests",
                "--include-engine",
                "junit-jupiter"));
        command.addAll(List.of(further));
        return command;
    }

    /**
     * Returns why JUnit's console failed: the number of failures and the first one. A class that cannot be set up is
     * also a failure, although JUnit does not count its tests.
     */
    static String reason(ChildProcess.Result result) {
        List<String> lines = result.output().lines().toList();
        int found = counts(result.output()).getOrDefault("found", -1);
        for (int line = 0; line < lines.size(); line++) {
            Matcher failures = FAILURES.matcher(lines.get(line));
            if (failures.matches()) {
                return "tests=" + found + " failures=" + failures.group(1) + ", the first: "
                        + first(lines.subList(line + 1, lines.size()));
            }
        }
        return found == 0 ? "JUnit found no tests" : result.reason();
    }

    /**
     * Returns the test and the exception of the first failure.
     *
     * @param failures JUnit's list, in which a failure has a line for the test, a line for its source, the exception
     *     with a message of one or more lines, and the stack trace
     */
    private static String first(List<String> failures) {
        String test = failures.stream().findFirst().orElse("").strip().replaceFirst("^JUnit Jupiter:", "");
        String exception = failures.stream()
                .dropWhile(line -> !line.startsWith(EXCEPTION))
                .takeWhile(line -> !line.startsWith(STACK_TRACE))
                .map(line -> line.startsWith(EXCEPTION) ? line.substring(EXCEPTION.length()) : line)
                .collect(Collectors.joining(" "))
                .replaceAll("\\s+", " ")
                .strip();
        return test + ": " + exception.substring(0, Math.min(exception.length(), LONGEST_MESSAGE));
    }

    /** Reads the summary of JUnit's console. */
    static Report.Tests counted(String output) {
        Map<String, Integer> counts = counts(output);
        return new Report.Tests(
                counts.getOrDefault("successful", 0),
                counts.getOrDefault("failed", 0),
                counts.getOrDefault("skipped", 0) + counts.getOrDefault("aborted", 0));
    }

    private static Map<String, Integer> counts(String output) {
        Map<String, Integer> counts = new HashMap<>();
        Matcher matcher = COUNT.matcher(output);
        while (matcher.find()) {
            counts.merge(matcher.group(2), Integer.valueOf(matcher.group(1)), Integer::sum);
        }
        return counts;
    }
}
