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
        boolean isLate() {
            return status < 0;
        }

        /** Returns the last line, which is the reason of a failure. */
        String lastLine() {
            return output.lines().filter(line -> !line.isBlank()).reduce("", (first, second) -> second.trim());
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
