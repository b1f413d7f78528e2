package io.jccl.verify;

import io.jccl.cli.doctor.DoctorCommand;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * The programs of nccl-tests, which measure NCCL, if they are on the path. They run as their README says: one process
 * with a rank for each GPU.
 */
final class NcclTests {

    /** The programs, by the names that jccl perf has for the same collectives. */
    private static final Map<String, String> PROGRAMS = new TreeMap<>(Map.of(
            "all_reduce", "all_reduce_perf",
            "all_gather", "all_gather_perf",
            "reduce_scatter", "reduce_scatter_perf",
            "broadcast", "broadcast_perf",
            "reduce", "reduce_perf",
            "all_to_all", "alltoall_perf",
            "send_recv", "sendrecv_perf"));

    private static final int COLUMNS = 13;

    private NcclTests() {}

    /** Runs the programs that are on the path, and records which are not. */
    static void run(Steps steps, int gpus, List<Report.Measurement> measurements)
            throws IOException, InterruptedException {
        List<String> missing = new ArrayList<>();
        for (Map.Entry<String, String> one : PROGRAMS.entrySet()) {
            Optional<Path> program = find(one.getValue(), System.getenv());
            if (program.isEmpty()) {
                missing.add(one.getValue());
                continue;
            }
            String name = "nccl-" + one.getKey();
            steps.step("NCCL: " + one.getKey(), Steps.SHORT, () -> {
                ChildProcess.Result result = steps.child(name, command(program.get(), gpus), Map.of());
                List<Report.Measurement> rows = read(one.getKey(), gpus, result.output());
                measurements.addAll(rows);
                String failure = Steps.failure(name, result);
                return failure.isEmpty() && rows.isEmpty() ? "no rows that can be read; see " + name + ".log" : failure;
            });
        }
        if (!missing.isEmpty()) {
            steps.notRun(
                    "NCCL: missing programs",
                    String.join(", ", missing)
                            + ": not on the path; they are programs of nccl-tests, which measure NCCL; libnccl.so.2: "
                            + DoctorCommand.library("libnccl.so.2").orElse("not found"));
        } else if (gpus == 1) {
            steps.notRun(
                    "NCCL with several ranks",
                    "nccl-tests need a GPU for each rank, and one is used; --part first compares ranks that share it");
        }
    }

    /** Returns a program on the path of an environment; empty if it is not there. */
    static Optional<Path> find(String program, Map<String, String> environment) {
        return Stream.of(environment.getOrDefault("PATH", "").split(File.pathSeparator))
                .filter(folder -> !folder.isEmpty())
                .map(folder -> Path.of(folder, program))
                .filter(Files::isExecutable)
                .findFirst();
    }

    /** Returns the command line for {@code gpus} GPUs, with the sizes of {@link Benchmarks}. */
    private static List<String> command(Path program, int gpus) {
        return List.of(program.toString(), "-b", "8", "-e", "128M", "-f", "16", "-g", "" + gpus);
    }

    /**
     * Reads the table that such a program prints: size, count, type, redop, root; then time, algbw, busbw and wrong
     * elements, first out of place and then in place. Ignores other lines.
     */
    static List<Report.Measurement> read(String collective, int ranks, String output) {
        List<Report.Measurement> rows = new ArrayList<>();
        for (String line : output.split("\n")) {
            String[] cells = line.trim().split("\\s+");
            if (cells.length == COLUMNS && cells[0].matches("\\d+")) {
                rows.add(new Report.Measurement(
                        collective,
                        ranks,
                        1,
                        "stream",
                        Long.parseLong(cells[0]),
                        "nccl",
                        "nccl",
                        0,
                        Double.parseDouble(cells[5]),
                        null,
                        Double.parseDouble(cells[6]),
                        Double.parseDouble(cells[7]),
                        null,
                        cells[8].matches("\\d+") ? Long.valueOf(cells[8]) : null,
                        0));
            }
        }
        return rows;
    }
}
