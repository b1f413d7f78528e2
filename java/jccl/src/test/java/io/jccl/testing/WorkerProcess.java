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
 * A process that executes lines of its standard input, as its driver sees it. Lines that begin with {@value #REPORT} are its
 * reports, which are kept with their times; all of its output goes to a log.
 */
public final class WorkerProcess implements AutoCloseable {

    /** How a report begins. */
    public static final String REPORT = "@";

    /** A configuration of Logback, for {@code logback.configurationFile}. */
    public static final String ONLY_WARNINGS = "io/jccl/testing/only-warnings.xml";

    /**
     * A report of the worker.
     *
     * @param nanos when it was read, by {@link System#nanoTime}
     */
    public record Report(long nanos, String text) {}

    private final Process process;
    private final Writer commands;
    private final List<Report> reports = new ArrayList<>();
    private boolean hasEnded;

    /**
     * Starts a worker.
     *
     * @param inside a command that runs the one that follows it; empty for none
     * @param log where its output goes
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

    /** The process's number. */
    public long pid() {
        return process.pid();
    }

    /** Whether it runs. */
    public boolean isAlive() {
        return process.isAlive();
    }

    /** Returns true if the process has closed its output, which it does when it ends. */
    public synchronized boolean hasEnded() {
        return hasEnded;
    }

    /** The status with which the process ended; waits for the end of one that {@link #hasEnded}. */
    public int exitValue() {
        return process.onExit().join().exitValue();
    }

    /** Ends the process at once, and does not wait for its end. */
    public void kill() {
        process.destroyForcibly();
    }

    /** Sends a line. */
    public void send(String command) throws IOException {
        commands.write(command + "\n");
        commands.flush();
    }

    /** What the worker has reported since its reports were last forgotten. */
    public synchronized List<Report> reports() {
        return List.copyOf(reports);
    }

    /** Forgets all reports so far. */
    public synchronized void forgetReports() {
        reports.clear();
    }

    /** The first report with one of some prefixes, or null if none has come by a time, or the process has ended. */
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

    /** Sets a limit, as the program prlimit takes it, such as {@code --nofile=20:}. */
    public void limit(String limit) throws IOException, InterruptedException {
        execute("prlimit", "--pid", Long.toString(pid()), limit);
    }

    /** How many descriptors it has open. */
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

    /** Ends the process at once, whatever it does. */
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
