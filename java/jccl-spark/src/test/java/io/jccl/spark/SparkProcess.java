package io.jccl.spark;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A JVM that a test starts, with this JVM's options for Spark, and kills when it is closed. */
final class SparkProcess implements AutoCloseable {

    private static final long END_SECONDS = 5;

    private final Process process;
    private final Path output;

    /** Starts a class with a main method; its output goes to a file. */
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

    /** Waits for its end; what it has printed. */
    String awaitOutput(long limitSeconds) throws InterruptedException, IOException {
        boolean ended = process.waitFor(limitSeconds, TimeUnit.SECONDS);
        String text = Files.readString(output);
        if (!ended || process.exitValue() != 0) {
            throw new AssertionError((ended ? "status " + process.exitValue() : "still runs") + ":\n" + text);
        }
        return text;
    }

    /** Ends it, and has it end its own processes, if it can. */
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
