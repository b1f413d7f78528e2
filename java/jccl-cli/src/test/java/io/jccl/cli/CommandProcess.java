package io.jccl.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.cli.perf.RankProcesses;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** Runs {@code jccl} in a process of its own or in this one. */
final class CommandProcess {

    private static final String CHECK_JNI = "-Xcheck:jni";

    /** Turns off the JVM's second compiler (C2), because JVMs of tests end before it pays off. */
    private static final String BRIEF = "-XX:TieredStopAtLevel=1";

    /** Exit status and output of a run of the command. */
    record Result(int status, String out, String err) {}

    private CommandProcess() {}

    /**
     * Runs the command to its end. If this JVM runs with {@code -Xcheck:jni}, so do the command and the ranks that it
     * starts.
     */
    static Result run(Path directory, String... arguments) throws IOException, InterruptedException {
        return run(directory, Map.of(), arguments);
    }

    /** Runs the command to its end, with {@code variables} in its environment. */
    static Result run(Path directory, Map<String, String> variables, String... arguments)
            throws IOException, InterruptedException {
        Path log = directory.resolve("err");
        ProcessBuilder builder = builder(directory, List.of(), arguments);
        builder.environment().putAll(variables);
        Process process = builder.start();
        String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        String err = Files.readString(log);
        assertThat(out + err)
                .doesNotContain("in native method", "JNI call made without checking", "WARNING: JNI ")
                .doesNotContain("WARNING: A restricted method");
        return new Result(process.exitValue(), out, err);
    }

    /**
     * Runs the command in this process, which takes a tenth of the time. The arguments must not make it start
     * processes.
     */
    static Result runHere(String... arguments) {
        PrintStream out = System.out;
        PrintStream err = System.err;
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        ByteArrayOutputStream reported = new ByteArrayOutputStream();
        System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(reported, true, StandardCharsets.UTF_8));
        try {
            int status = Main.commandLine().execute(arguments);
            return new Result(
                    status, printed.toString(StandardCharsets.UTF_8), reported.toString(StandardCharsets.UTF_8));
        } finally {
            System.setOut(out);
            System.setErr(err);
        }
    }

    /** Returns the command, not yet started. Its standard error goes to the file {@code err}. */
    static ProcessBuilder builder(Path directory, List<String> options, String... arguments) {
        boolean checked =
                ManagementFactory.getRuntimeMXBean().getInputArguments().contains(CHECK_JNI);
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                BRIEF,
                "-XX:+UseSerialGC",
                "-XX:-UsePerfData",
                "-cp",
                System.getProperty("java.class.path")));
        if (checked) {
            command.add(1, CHECK_JNI);
        }
        command.addAll(1, RankProcesses.nativeAccess()); // as scripts/jccl does
        command.addAll(options);
        command.add(Main.class.getName());
        command.addAll(List.of(arguments));
        ProcessBuilder builder = new ProcessBuilder(command)
                .redirectError(directory.resolve("err").toFile());
        // Tests must not depend on the settings of the build or on a launcher that started the build.
        builder.environment()
                .keySet()
                .removeIf(name -> name.matches("(JCCL|NCCL|OMPI|PMIX?|SLURM)_.*|RANK|WORLD_SIZE"));
        builder.environment().put("JCCL_JAVA_OPTS", checked ? BRIEF + " " + CHECK_JNI : BRIEF);
        return builder;
    }
}
