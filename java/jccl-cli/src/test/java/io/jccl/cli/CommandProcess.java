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

/** Runs the command as a process of its own. */
final class CommandProcess {

    private static final String CHECK_JNI = "-Xcheck:jni";

    /** JVMs of tests live too briefly for their second compiler to pay. */
    private static final String BRIEF = "-XX:TieredStopAtLevel=1";

    /** How a run of the command ended and what it printed. */
    record Result(int status, String out, String err) {}

    private CommandProcess() {}

    /** Runs the command to its end; under -Xcheck:jni it is checked as well, and so are the ranks that it starts. */
    static Result run(Path directory, String... arguments) throws IOException, InterruptedException {
        return run(directory, Map.of(), arguments);
    }

    /** The same with variables in its environment. */
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

    /** Runs the command in this process, which takes a tenth of the time; for arguments with which it starts no process. */
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

    /** The command before it is started. Its standard error goes to the file "err". */
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
        // What the build was started with or by is not to be seen in its tests.
        builder.environment()
                .keySet()
                .removeIf(name -> name.matches("(JCCL|NCCL|OMPI|PMIX?|SLURM)_.*|RANK|WORLD_SIZE"));
        builder.environment().put("JCCL_JAVA_OPTS", checked ? BRIEF + " " + CHECK_JNI : BRIEF);
        return builder;
    }
}
