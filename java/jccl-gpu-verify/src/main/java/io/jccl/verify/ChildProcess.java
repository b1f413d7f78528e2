package io.jccl.verify;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.jccl.cli.Main;
import io.jccl.cli.perf.RankProcesses;
import io.jccl.launch.OuterLauncher;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

/**
 * Runs a program to its end or its time limit. The program has a process of its own, so that a failure of a GPU ends
 * only that process.
 */
final class ChildProcess {

    private static final String LIBRARY = "jccl.cuda.path";

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

    /** Returns the command line of a JVM with a class path and the libraries of this JVM. */
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

    /** Returns the command line of a program in the class path of this JVM. */
    static List<String> program(Class<?> main, List<String> arguments) {
        return program(main, Map.of(), arguments);
    }

    /** Returns the command line of the {@code jccl} command. */
    static List<String> jccl(List<String> arguments) {
        return program(Main.class, arguments);
    }

    /** Returns the command line of {@code jccl} for steps in which nothing is measured: the JVM starts faster. */
    static List<String> unmeasured(List<String> arguments) {
        return startingFast(jccl(arguments));
    }

    /** Returns the command line for such steps with another library of the GPU backend. */
    static List<String> unmeasured(Path library, List<String> arguments) {
        return startingFast(program(Main.class, Map.of(LIBRARY, library.toString()), arguments));
    }

    private static List<String> startingFast(List<String> command) {
        command.addAll(1, List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"));
        return command;
    }

    /** Returns the arguments of {@code jccl perf} for device memory. */
    static List<String> devicePerf(String collective, int ranks, String... further) {
        List<String> arguments = new ArrayList<>(List.of("perf", collective, "-n", "" + ranks, "--memory", "device"));
        arguments.addAll(List.of(further));
        return arguments;
    }

    private static List<String> program(Class<?> main, Map<String, String> properties, List<String> arguments) {
        List<String> command = java(System.getProperty("java.class.path"), properties);
        command.add(main.getName());
        command.addAll(arguments);
        return command;
    }

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
