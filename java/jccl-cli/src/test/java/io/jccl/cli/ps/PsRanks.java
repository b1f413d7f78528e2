package io.jccl.cli.ps;

import io.jccl.UniqueId;
import io.jccl.cli.perf.RankProcesses;
import java.io.File;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** Starts processes with ranks that {@code jccl ps} inspects. {@link #close} kills and reaps all processes. */
final class PsRanks implements AutoCloseable {

    private final Path folder;
    private final List<Process> processes = new ArrayList<>();
    private final List<Path> outputs = new ArrayList<>();

    PsRanks(Path folder) {
        this.folder = folder;
    }

    /** Starts a process for each rank. */
    static PsRanks start(Path folder, int size, int differs, PsRankMain.Fault fault) throws IOException {
        PsRanks ranks = new PsRanks(folder);
        UniqueId id = UniqueId.create();
        for (int rank = 0; rank < size; rank++) {
            ranks.startProcess(id, rank, 1, size, differs, fault, Map.of());
        }
        return ranks;
    }

    /** Starts a rank as a launcher does. */
    void startLaunched(int rank, int size, String rendezvous, int statusPort) throws IOException {
        startLaunched(
                rank,
                size,
                rendezvous,
                -1,
                PsRankMain.Fault.NONE,
                Map.of("JCCL_STATUS_PORT", Integer.toString(statusPort)));
    }

    void startLaunched(
            int rank, int size, String rendezvous, int differs, PsRankMain.Fault fault, Map<String, String> more)
            throws IOException {
        Map<String, String> environment = new HashMap<>(more);
        environment.put("JCCL_RANK", Integer.toString(rank));
        environment.put("JCCL_SIZE", Integer.toString(size));
        environment.put("JCCL_RENDEZVOUS", rendezvous);
        startProcess(PsRankMain.LAUNCHED, rank, 1, size, differs, fault, environment);
    }

    /** Starts a process with ranks as its threads. */
    void startProcess(
            UniqueId id,
            int first,
            int count,
            int size,
            int differs,
            PsRankMain.Fault fault,
            Map<String, String> environment)
            throws IOException {
        startProcess(id.toText(), first, count, size, differs, fault, environment);
    }

    private void startProcess(
            String id,
            int first,
            int count,
            int size,
            int differs,
            PsRankMain.Fault fault,
            Map<String, String> environment)
            throws IOException {
        Path output = folder.resolve("ranks" + first + ".out");
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-Xmx256m",
                "-cp",
                System.getProperty("java.class.path")));
        command.addAll(1, RankProcesses.nativeAccess());
        command.addAll(List.of(
                PsRankMain.class.getName(),
                id,
                Integer.toString(first),
                Integer.toString(count),
                Integer.toString(size),
                Integer.toString(differs),
                fault.name()));
        ProcessBuilder builder = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .redirectInput(new File("/dev/null"));
        builder.environment().keySet().removeIf(name -> name.matches("(JCCL|NCCL)_.*"));
        builder.environment().put("JCCL_STATUS_DIR", statusDirectory().toString());
        builder.environment().putAll(environment);
        processes.add(builder.start());
        outputs.add(output);
    }

    static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        }
    }

    Path statusDirectory() {
        return folder.resolve("status");
    }

    Process process(int index) {
        return processes.get(index);
    }

    long pid(int index) {
        return processes.get(index).pid();
    }

    /** Waits until a process has printed {@code text}. */
    void await(int index, String text) throws IOException, InterruptedException {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (!output(index).contains(text)) {
            if (System.nanoTime() - end >= 0 || !processes.get(index).isAlive()) {
                throw new AssertionError("process " + index + " did not print " + text + ": " + output(index));
            }
            processes.get(index).waitFor(20, TimeUnit.MILLISECONDS);
        }
    }

    String output(int index) throws IOException {
        return Files.readString(outputs.get(index), StandardCharsets.UTF_8);
    }

    void signal(int index, String signal) throws IOException, InterruptedException {
        Process kill = new ProcessBuilder("kill", signal, Long.toString(pid(index))).start();
        if (kill.waitFor() != 0) {
            throw new IOException("kill " + signal + " ended with " + kill.exitValue());
        }
    }

    @Override
    public void close() {
        processes.forEach(Process::destroyForcibly);
        for (Process process : processes) {
            try {
                process.waitFor(10, TimeUnit.SECONDS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
