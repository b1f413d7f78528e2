package io.jccl.spark;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A JVM that a test starts with the options that Spark needs; {@link #close} ends it. */
final class SparkProcess implements AutoCloseable {

    private static final long END_SECONDS = 5;

    private final Process process;
    private final Path output;

    /** Starts a JVM with a main class and its arguments; its output goes to the file {@code output}. */
    SparkProcess(String classPath, Path output, String... mainAndArguments) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        for (String option : System.getProperty("jccl.spark.opens").trim().split("\\s+")) {
            command.add(option);
        }
        command.addAll(List.of("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", classPath));
        command.addAll(List.of(mainAndArguments));
        this.output = output;
        try {
            this.process = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(output.toFile())
                    .start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Waits until the process has ended and returns its output; fails if it ends with an error or too late. */
    String awaitOutput(long limitSeconds) throws InterruptedException, IOException {
        boolean ended = process.waitFor(limitSeconds, TimeUnit.SECONDS);
        String text = Files.readString(output);
        if (!ended || process.exitValue() != 0) {
            throw new AssertionError((ended ? "status " + process.exitValue() : "still runs") + ":\n" + text);
        }
        return text;
    }

    /** Ends the process by SIGTERM, so that it can end its own processes; kills it if it does not end. */
    @Override
    public void close() {
        process.destroy();
        try {
            if (!process.waitFor(END_SECONDS, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }
}
