package io.jccl.integration;

import io.jccl.testing.JavaCommand;
import io.jccl.testing.WorkerProcess;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * The process of one rank. Most ranks run in a JVM that has run other ranks before ({@link RankServer}). A rank gets
 * its own JVM if it changes something that lasts as long as the process, if it measures its process, or if a command
 * other than {@code env} starts it.
 */
final class RankProcess {

    /**
     * Scenarios that need their own JVM: they bind the process to processors, measure its resources, or wait for its
     * end.
     */
    private static final Set<String> ALONE = Set.of("bound", "late", "cycles", "stop-in-place");

    /** Environment variables that each communicator reads. Others are read once, when a process or library starts. */
    private static final String READ_AGAIN = "(JCCL|NCCL)_(?!EMULATED_|CUDA_|TEST_PLUGIN_).*";

    private static final int MAX_IDLE = 8;

    /** JVMs that wait for a scenario, the most recently used one last. */
    private static final Deque<Server> IDLE = new ArrayDeque<>();

    /**
     * A JVM for scenarios.
     *
     * @param kind properties that cannot change while it runs: environment variables, and a word if the JVM uses GPUs
     * @param log file with the output of the JVM itself
     */
    private record Server(List<String> kind, WorkerProcess process, Path log) {}

    private final Process own; // null if the rank runs in a server
    private final Server server; // null if the rank has its own JVM
    private final long logBegin; // bytes in the server's log before the rank started

    private RankProcess(Process own, Server server, long logBegin) {
        this.own = own;
        this.server = server;
        this.logBegin = logBegin;
    }

    /**
     * Starts a rank.
     *
     * @param inside the prefix of its command, such as {@code env NAME=value}; empty for none
     * @param output the file for what the rank prints
     * @param arguments the arguments of {@link RankMain}
     */
    static RankProcess start(List<String> inside, Path output, List<String> arguments) throws IOException {
        boolean isPlain =
                inside.isEmpty() || inside.get(0).equals("env") && System.getProperty(NativeFunctions.LIBRARY) != null;
        if (!isPlain || ALONE.contains(arguments.get(RankMain.SCENARIO))) {
            return startAlone(inside, output, arguments);
        }
        List<String> kind = new ArrayList<>();
        List<String> variables = new ArrayList<>();
        for (String variable : inside.subList(Math.min(1, inside.size()), inside.size())) {
            (variable.matches(READ_AGAIN) ? variables : kind).add(variable);
        }
        kind.add(RankMain.hasGpus(arguments) ? "gpus" : "");
        Server server = take(kind);
        long logBegin = Files.size(server.log());
        Files.write(output, new byte[0]);
        server.process().forgetReports();
        server.process().send(RankServer.command(output, variables, arguments));
        return new RankProcess(null, server, logBegin);
    }

    private static RankProcess startAlone(List<String> inside, Path output, List<String> arguments) throws IOException {
        List<String> java = new ArrayList<>(List.of("-Xmx256m", RankMain.class.getName()));
        java.addAll(arguments);
        List<String> command = new ArrayList<>(inside);
        command.addAll(JavaCommand.of(java));
        Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .redirectInput(new File("/dev/null"))
                .start();
        return new RankProcess(process, null, 0);
    }

    private static synchronized Server take(List<String> kind) throws IOException {
        for (Server idle : IDLE) {
            if (idle.kind().equals(kind)) {
                IDLE.remove(idle);
                return idle;
            }
        }
        List<String> inside = new ArrayList<>(List.of("env"));
        inside.addAll(kind.subList(0, kind.size() - 1));
        Path log = Files.createTempFile("rank-server", ".log");
        log.toFile().deleteOnExit();
        return new Server(kind, new WorkerProcess(inside, log, RankServer.java()), log);
    }

    private static synchronized void giveBack(Server server) {
        IDLE.add(server);
        if (IDLE.size() > MAX_IDLE) {
            IDLE.removeFirst().process().close();
        }
    }

    long pid() {
        return own != null ? own.pid() : server.process().pid();
    }

    /** Returns true unless the rank has ended. */
    boolean isAlive() {
        return own != null ? own.isAlive() : server.process().isAlive() && !hasReported();
    }

    private boolean hasReported() {
        return server.process().reports().stream().anyMatch(one -> one.text().startsWith(RankServer.END));
    }

    /** Waits until the rank has ended; returns false if it still runs after {@code limit}. */
    boolean await(Duration limit) throws InterruptedException {
        return own != null
                ? own.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS)
                : server.process().await(System.nanoTime() + limit.toNanos(), RankServer.END) != null
                        || server.process().hasEnded();
    }

    /**
     * Returns the status of a rank that has ended: that of its scenario, or of its process if the process has ended.
     */
    int status() {
        if (own != null) {
            return own.exitValue();
        }
        return server.process().reports().stream()
                .map(WorkerProcess.Report::text)
                .filter(text -> text.startsWith(RankServer.END))
                .map(text -> Integer.parseInt(text.substring(RankServer.END.length())))
                .findFirst()
                .orElseGet(() -> server.process().exitValue());
    }

    /** Kills the rank's process as {@code kill -9} does. */
    void kill() {
        if (own != null) {
            own.destroyForcibly();
        } else {
            server.process().kill();
        }
    }

    /** Returns output of the JVM itself, such as stacks of its threads, unless it is part of the rank's output. */
    String furtherOutput() {
        if (own != null) {
            return "";
        }
        byte[] all;
        try {
            all = Files.readAllBytes(server.log());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return new String(all, (int) logBegin, (int) (all.length - logBegin), StandardCharsets.UTF_8);
    }

    /** Keeps a JVM whose scenario succeeded for later ranks, and ends any other. */
    void release() throws InterruptedException {
        if (own != null) {
            own.destroyForcibly();
            own.waitFor(10, TimeUnit.SECONDS);
        } else if (hasReported() && status() == 0 && server.process().isAlive()) {
            giveBack(server);
        } else {
            server.process().close();
        }
    }
}
