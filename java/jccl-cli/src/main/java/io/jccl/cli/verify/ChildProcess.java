package io.jccl.cli.verify;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.jccl.bootstrap.OuterLauncher;
import io.jccl.cli.perf.RankProcesses;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

/** Runs a program to its end or its time limit; what a GPU does to one process stays in that process. */
final class ChildProcess {

    private static final String LIBRARY = "jccl.cuda.path";
    private static final String MAIN_CLASS = "io.jccl.cli.Main";

    /**
     * How a program ended.
     *
     * @param status 0 for well; -1 if its time was over
     * @param output standard output and error
     */
    record Result(int status, String output) {
        boolean isLate() {
            return status < 0;
        }

        /** The last line, for a reason. */
        String lastLine() {
            return output.lines().filter(line -> !line.isBlank()).reduce("", (first, second) -> second.trim());
        }

        /** The lines of JSON of a command of {@code jccl}. */
        List<JsonNode> rows() {
            List<JsonNode> rows = new ArrayList<>();
            ObjectMapper mapper = new ObjectMapper();
            for (String line : output.split("\n")) {
                if (line.startsWith("{")) {
                    try {
                        rows.add(mapper.readTree(line));
                    } catch (IOException e) { // the process was ended in the middle of it
                        break;
                    }
                }
            }
            return rows;
        }
    }

    private ChildProcess() {}

    /** The command line of a JVM with this one's libraries, on a class path. */
    static List<String> java(String classPath, Map<String, String> properties) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(RankProcesses.nativeAccess());
        command.add("-XX:MaxDirectMemorySize=4g");
        Map<String, String> all = new TreeMap<>();
        System.getProperties().stringPropertyNames().stream()
                .filter(name -> name.startsWith("jccl."))
                .forEach(name -> all.put(name, System.getProperty(name)));
        all.putAll(properties);
        all.forEach((name, value) -> command.add("-D" + name + "=" + value));
        command.add("-cp");
        command.add(classPath);
        return command;
    }

    /** The command line of the {@code jccl} command. */
    static List<String> jccl(List<String> arguments) {
        return jccl(Map.of(), arguments);
    }

    /** The same where nothing is measured: it starts faster. */
    static List<String> unmeasured(List<String> arguments) {
        return startingFast(jccl(arguments));
    }

    /** The same with another library of the GPU backend. */
    static List<String> unmeasured(Path library, List<String> arguments) {
        return startingFast(jccl(Map.of(LIBRARY, library.toString()), arguments));
    }

    private static List<String> startingFast(List<String> command) {
        command.addAll(1, List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"));
        return command;
    }

    /** The arguments of {@code jccl perf} over memory of devices. */
    static List<String> devicePerf(String collective, int ranks, String... further) {
        List<String> arguments = new ArrayList<>(List.of("perf", collective, "-n", "" + ranks, "--memory", "device"));
        arguments.addAll(List.of(further));
        return arguments;
    }

    private static List<String> jccl(Map<String, String> properties, List<String> arguments) {
        List<String> command = java(System.getProperty("java.class.path"), properties);
        command.add(MAIN_CLASS);
        command.addAll(arguments);
        return command;
    }

    /** Runs it; its output goes to the log as well. */
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
        process.destroyForcibly().waitFor(10, TimeUnit.SECONDS); // one that the driver holds is left behind
        return Files.readString(log);
    }
}
