package io.jccl.verify;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.jccl.launch.OuterLauncher;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.regex.Pattern;

/**
 * Runs a program to its end or its time limit. The program has a process of its own, so that a failure of a GPU ends
 * only that process.
 */
final class ChildProcess {

    /**
     * The end of a program.
     *
     * @param status exit status; -1 if its time was over
     * @param output standard output and error
     */
    record Result(int status, String output) {

        private static final List<String> CRASHES = List.of(
                "# A fatal error has been detected by the Java Runtime Environment",
                "# There is insufficient memory for the Java Runtime Environment");

        private static final Predicate<String> STACK_FRAME = Pattern.compile(
                        "\\s+(at \\S+\\(.*\\)|\\.\\.\\. \\d+ (more|common frames omitted))")
                .asMatchPredicate();

        boolean isLate() {
            return status < 0;
        }

        /**
         * Returns why the program failed: the crash of its JVM, or else its last line. The stack frames of an exception
         * do not count as lines, so that the cause remains.
         */
        String reason() {
            List<String> lines = output.lines().toList();
            for (int line = 0; line < lines.size(); line++) {
                if (CRASHES.stream().anyMatch(lines.get(line)::startsWith)) {
                    return crash(lines.subList(line + 1, lines.size()));
                }
            }
            return lines.stream()
                    .filter(line -> !line.isBlank() && !STACK_FRAME.test(line))
                    .reduce("", (first, second) -> second.trim());
        }

        /** Returns the error of a crash, which is the first line of the report with a text, and the native frame. */
        private static String crash(List<String> report) {
            List<String> texts =
                    report.stream().map(line -> line.replaceFirst("^#\\s*", "")).toList();
            String error =
                    texts.stream().filter(text -> !text.isEmpty()).findFirst().orElse("");
            int frame = texts.indexOf("Problematic frame:") + 1;
            return "the JVM crashed: " + error + (frame > 0 && frame < texts.size() ? " in " + texts.get(frame) : "");
        }

        /** Returns the lines of JSON that a command of {@code jccl} has printed. */
        List<JsonNode> rows() {
            List<JsonNode> rows = new ArrayList<>();
            ObjectMapper mapper = new ObjectMapper();
            for (String line : output.split("\n")) {
                if (line.startsWith("{")) {
                    try {
                        rows.add(mapper.readTree(line));
                    } catch (IOException e) { // the process was ended in the middle of the line
                        break;
                    }
                }
            }
            return rows;
        }
    }

    private ChildProcess() {}

    /** Runs a command; its output also goes to the log. */
    static Result run(List<String> command, Map<String, String> environment, Duration limit, Path log)
            throws IOException, InterruptedException {
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.redirectOutput(log.toFile());
        OuterLauncher.clear(builder.environment());
        builder.environment().putAll(environment);
        Process process = builder.start();
        try {
            boolean ended = process.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS);
            return new Result(ended ? process.exitValue() : -1, end(process, log));
        } finally {
            end(process, log);
        }
    }

    private static String end(Process process, Path log) throws IOException, InterruptedException {
        process.descendants().forEach(ProcessHandle::destroyForcibly);
        process.destroyForcibly().waitFor(10, TimeUnit.SECONDS); // the driver can keep a killed process longer
        return Files.readString(log);
    }
}
