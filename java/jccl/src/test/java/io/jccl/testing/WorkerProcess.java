package io.jccl.testing;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * Starts and drives a process that executes commands from its standard input, one a line. Output lines that begin with
 * {@value #REPORT} are the reports of the process, which are kept with their times. All output goes to a log.
 */
public final class WorkerProcess implements AutoCloseable {

    /** Prefix of a report. */
    public static final String REPORT = "@";

    /** Logback configuration that logs only warnings, for {@code logback.configurationFile}. */
    public static final String ONLY_WARNINGS = "io/jccl/testing/only-warnings.xml";

    /**
     * A report of the worker.
     *
     * @param nanos the time at which the report was read, by {@link System#nanoTime}
     */
    public record Report(long nanos, String text) {}

    private final Process process;
    private final Writer commands;
    private final List<Report> reports = new ArrayList<>();
    private boolean hasEnded;

    /**
     * Starts a worker.
     *
     * @param inside a command that runs the command that follows it; empty for none
     * @param log file for the output of the process
     * @param java further options of the JVM, the class and its arguments
     */
    public WorkerProcess(List<String> inside, Path log, List<String> java) throws IOException {
        List<String> command = new ArrayList<>(inside);
        command.addAll(JavaCommand.of(java));
        process = new ProcessBuilder(command).redirectErrorStream(true).start();
        commands = process.outputWriter(StandardCharsets.UTF_8);
        Thread reader = new Thread(() -> read(log), "chaos-reports");
        reader.setDaemon(true);
        reader.start();
    }

    private void read(Path log) {
        try (BufferedReader in =
                        new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
                PrintStream rest = new PrintStream(Files.newOutputStream(log), true, StandardCharsets.UTF_8)) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                rest.println(line);
                if (line.startsWith(REPORT)) {
                    keep(new Report(System.nanoTime(), line.substring(REPORT.length())));
                }
            }
        } catch (IOException e) {
            keep(new Report(System.nanoTime(), "unreadable " + e));
        } finally {
            end();
        }
    }

    private synchronized void keep(Report report) {
        reports.add(report);
        notifyAll();
    }

    private synchronized void end() {
        hasEnded = true;
        notifyAll();
    }

    /** Returns the process id. */
    public long pid() {
        return process.pid();
    }

    /** Returns true if the process runs. */
    public boolean isAlive() {
        return process.isAlive();
    }

    /** Returns true if the process has closed its output, which it does when it ends. */
    public synchronized boolean hasEnded() {
        return hasEnded;
    }

    /** Returns the exit status of a process that {@link #hasEnded}; waits for its exit. */
    public int exitValue() {
        return process.onExit().join().exitValue();
    }

    /** Ends the process at once, and does not wait for its end. */
    public void kill() {
        process.destroyForcibly();
    }

    /** Sends a command. */
    public void send(String command) throws IOException {
        commands.write(command + "\n");
        commands.flush();
    }

    /** Returns the reports since the last call of {@link #forgetReports}. */
    public synchronized List<Report> reports() {
        return List.copyOf(reports);
    }

    /** Forgets all reports so far. */
    public synchronized void forgetReports() {
        reports.clear();
    }

    /**
     * Waits for a report with one of several prefixes and returns it. Returns null at the time limit, or if the process
     * ended.
     */
    public synchronized Report await(long untilNanos, String... prefixes) throws InterruptedException {
        while (true) {
            for (Report report : reports) {
                if (Stream.of(prefixes).anyMatch(report.text()::startsWith)) {
                    return report;
                }
            }
            long left = untilNanos - System.nanoTime();
            if (hasEnded || left <= 0) {
                return null;
            }
            TimeUnit.NANOSECONDS.timedWait(this, left);
        }
    }

    /** Sends a command and waits for its answer; returns what follows the answer's first word. */
    public String ask(String command, String answer, Duration limit) throws IOException, InterruptedException {
        send(command);
        Report report = await(System.nanoTime() + limit.toNanos(), answer + " ");
        if (report == null) {
            throw new IOException("worker " + pid() + " has not answered to " + command);
        }
        return report.text().substring(answer.length() + 1);
    }

    /** Sends a signal, such as STOP. */
    public void signal(String name) throws IOException, InterruptedException {
        execute("kill", "-" + name, Long.toString(pid()));
    }

    /** Sets a resource limit of the process by an option of the program prlimit, such as {@code --nofile=20:}. */
    public void limit(String limit) throws IOException, InterruptedException {
        execute("prlimit", "--pid", Long.toString(pid()), limit);
    }

    /** Returns the number of open descriptors of the process. */
    public int descriptors() throws IOException {
        try (Stream<Path> all = Files.list(Path.of("/proc", Long.toString(pid()), "fd"))) {
            return (int) all.count();
        }
    }

    private static void execute(String... command) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        process.getOutputStream().close();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        if (process.waitFor() != 0) {
            throw new IOException(String.join(" ", command) + ": " + output);
        }
    }

    /** Kills the process and waits for its end. */
    @Override
    public void close() {
        process.destroyForcibly();
        try {
            process.waitFor(10, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
