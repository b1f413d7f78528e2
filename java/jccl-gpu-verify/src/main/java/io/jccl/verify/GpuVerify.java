package io.jccl.verify;

import com.fasterxml.jackson.databind.JsonNode;
import io.jccl.DeviceException;
import io.jccl.cli.LogLevelOption;
import io.jccl.cli.Program;
import io.jccl.cli.doctor.DoctorCommand;
import io.jccl.cli.output.BuildVersion;
import io.jccl.cli.output.ExitCode;
import io.jccl.cli.perf.GpuNames;
import io.jccl.cli.topo.ThisHost;
import io.jccl.device.CudaInventory;
import io.jccl.nativelib.CudaLoader;
import io.jccl.nativelib.NativeLoader;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The program that the script {@code gpu-verify} of a bundle starts. */
@Command(
        name = GpuVerify.NAME,
        description = {
            "Verifies this build on a host with a GPU: runs tests, kernels with deliberate errors to be noticed,",
            "and benchmarks with checked results. Writes report.json, report.txt and the output of each step."
        },
        footer = "Exit status: 0 nothing failed, 1 something did, 2 usage.",
        sortOptions = false)
public final class GpuVerify implements Callable<Integer> {

    static final String NAME = "gpu-verify";

    /**
     * Environment of tests whose ranks share a GPU: a hardware queue for each of their streams. JCCL sets the variable
     * itself, but too late if a test uses the GPU first.
     */
    private static final Map<String, String> QUEUES = Map.of("CUDA_DEVICE_MAX_CONNECTIONS", "32");

    private static final Duration SHORT = Duration.ofSeconds(40);
    private static final Pattern COUNT =
            Pattern.compile("\\[\\s*(\\d+) tests (successful|failed|skipped|aborted)\\s*]");

    @Spec
    private CommandSpec spec;

    @Option(
            names = "--bundle",
            required = true,
            paramLabel = "FOLDER",
            description = "the folder that scripts/gpu-bundle has made")
    private Path bundle;

    @Option(
            names = "--report",
            paramLabel = "FOLDER",
            defaultValue = "gpu-verify-report",
            description = "where the report goes (default: ${DEFAULT-VALUE})")
    private Path folder;

    @Option(names = "--gpus", paramLabel = "N", description = "number of GPUs to use (default: all visible ones)")
    private Integer gpus;

    @Option(
            names = "--budget",
            paramLabel = "SECONDS",
            defaultValue = "570",
            description = {
                "time limit: a step that runs then is ended, and those that have not begun are reported as not run",
                "(default: ${DEFAULT-VALUE})"
            })
    private int budget;

    @Option(names = "--require-gpu", description = "fail if there is no GPU")
    private boolean requireGpu;

    @Option(names = "--quick", description = "few small sizes, as for emulated GPUs")
    private boolean quick;

    @Mixin
    private LogLevelOption logLevel;

    private Report report;
    private Steps steps;

    private GpuVerify() {}

    /** Verifies this build and ends the process with the status. */
    public static void main(String[] arguments) {
        Program.run(NAME, GpuVerify::new, arguments);
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        if (budget < 1) {
            throw usage("budget=" + budget + ": expected at least 1 second");
        }
        String obstacle = "";
        List<String> models = List.of();
        try {
            models = GpuNames.of(IntStream.range(0, CudaLoader.devices()));
        } catch (DeviceException e) {
            obstacle = e.getMessage();
        }
        if (gpus != null && (gpus < 1 || (!models.isEmpty() && gpus > models.size()))) {
            throw usage("gpus=" + gpus + ": expected 1 to " + Math.max(1, models.size())
                    + ", the devices that this process can see (CUDA_VISIBLE_DEVICES)");
        }
        int used = models.isEmpty() ? 0 : gpus == null ? models.size() : gpus;
        Files.createDirectories(folder);
        String driver = models.isEmpty() ? obstacle : CudaLoader.driver();
        report = Report.begin(
                BuildVersion.get(),
                NativeLoader.buildId(),
                Instant.now().truncatedTo(ChronoUnit.SECONDS).toString(),
                machine(driver, models, used));
        steps = new Steps(folder, report.steps(), System.out, Duration.ofSeconds(budget), visible(models.size(), used));
        host();
        if (used > 0) {
            onGpus(used);
        } else {
            withoutGpu(obstacle);
        }
        report.write(folder.resolve("report.json"));
        String text = ReportText.of(report);
        Files.writeString(folder.resolve("report.txt"), text);
        System.out.println();
        System.out.print(text);
        return report.hasFailed() ? ExitCode.FAILURE : ExitCode.SUCCESS;
    }

    private ParameterException usage(String message) {
        return new ParameterException(spec.commandLine(), message);
    }

    /** Returns the environment in which a process sees only the first {@code used} of this process's devices. */
    private static Map<String, String> visible(int seen, int used) {
        String name = "CUDA_VISIBLE_DEVICES";
        String all = System.getenv()
                .getOrDefault(
                        name,
                        IntStream.range(0, seen).mapToObj(Integer::toString).collect(Collectors.joining(",")));
        return used == seen
                ? Map.of()
                : Map.of(name, Stream.of(all.split(",")).limit(used).collect(Collectors.joining(",")));
    }

    private static Report.Machine machine(String driver, List<String> models, int used) {
        return new Report.Machine(
                ThisHost.name().orElse("localhost"),
                System.getProperty("os.name") + " " + System.getProperty("os.version"),
                ThisHost.processor(),
                Runtime.getRuntime().availableProcessors(),
                driver,
                models,
                used);
    }

    private void host() throws IOException, InterruptedException {
        steps.step(
                "this host",
                SHORT,
                () -> steps.requireWell("doctor", ChildProcess.unmeasured(List.of("doctor", "-v"))));
        steps.step(
                "host: two processes",
                SHORT,
                () -> steps.requireWell(
                        "host-perf",
                        ChildProcess.unmeasured(List.of(
                                "perf",
                                "all_reduce",
                                "-n",
                                "2",
                                "-e",
                                quick ? "64" : "1M",
                                "--iters",
                                "20",
                                "--warmup",
                                "5",
                                "--check"))));
        hostTests();
    }

    private void withoutGpu(String obstacle) throws IOException, InterruptedException {
        boolean present = !CudaInventory.ask().devices().isEmpty();
        for (String step : List.of("mutations", "tests tagged gpu", "copy limit", "benchmarks", "NCCL")) {
            steps.notRun(step, obstacle);
        }
        if (present || requireGpu) {
            steps.require("a GPU that can be used", SHORT, () -> obstacle);
        }
    }

    private void onGpus(int used) throws IOException, InterruptedException {
        mutations();
        double limit = copyLimit(used);
        tests();
        Benchmarks benchmarks = new Benchmarks(steps, quick, used, limit);
        List<Benchmarks.Run> runs = benchmarks.runs();
        for (Benchmarks.Run run : runs) {
            steps.step(run.name(), SHORT, () -> benchmarks.run(run, report.measurements()));
        }
        nccl(used);
        sanitizer();
    }

    private void mutations() throws IOException, InterruptedException {
        Path library = bundle.resolve("test-lib/libjccl_cuda_mutated.so").toAbsolutePath();
        Duration limit = Duration.ofSeconds(120);
        steps.require("mutations", limit, () -> {
            if (!Files.exists(library)) {
                return "library=" + library + ": missing; make the bundle again";
            }
            report.mutations().addAll(new Mutations(library, steps::child).run());
            return report.mutations().stream()
                    .filter(one -> !one.noticed())
                    .map(one -> one.expected() + " did not notice: " + one.name() + ", " + one.protocol())
                    .collect(Collectors.joining("; "));
        });
    }

    /**
     * Measures the copy limit in GB/s: with one GPU, the bandwidth of copies inside the GPU; with several, the lowest
     * bandwidth of a copy to a neighbour. Returns 0 if nothing was measured.
     */
    private double copyLimit(int used) throws IOException, InterruptedException {
        List<String> command =
                ChildProcess.program(CopyProgram.class, List.of("" + used, quick ? "65536" : "268435456"));
        steps.step("copy limit", SHORT.multipliedBy(2), () -> {
            ChildProcess.Result result = steps.child("copies", command, Map.of());
            for (JsonNode row : result.rows()) {
                report.copies()
                        .add(new Report.Copy(
                                row.path("from").asInt(),
                                row.path("to").asInt(),
                                row.path("bytes").asLong(),
                                row.path("gbps").asDouble()));
            }
            return Steps.failure("copies", result);
        });
        return report.copies().stream()
                .filter(one -> used == 1 || one.from() != one.to())
                .mapToDouble(Report.Copy::gbps)
                .min()
                .orElse(0);
    }

    private void tests() throws IOException, InterruptedException {
        String name = "tests tagged gpu";
        Path jar = bundle.resolve("test-lib/jccl-tests.jar");
        if (Files.exists(jar)) {
            List<String> command = junit("--details=tree", "--include-tag", "gpu", "--scan-classpath", jar.toString());
            steps.require(name, Duration.ofSeconds(240), () -> {
                ChildProcess.Result result = steps.child("tests", command, QUEUES);
                report = report.with(counted(result.output()));
                return Steps.failure("tests", result);
            });
        } else {
            steps.notRun(name, jar + " is not there; make the bundle with scripts/gpu-bundle");
        }
    }

    private void hostTests() throws IOException, InterruptedException {
        if (Files.exists(bundle.resolve("test-lib/jccl-tests.jar"))) {
            String tests = "io.jccl.integration.";
            List<String> command =
                    junit("--details=summary", "-c", tests + "OperationsTest", "-c", tests + "MisuseTest");
            steps.step("host: tests", Duration.ofSeconds(60), () -> steps.requireWell("host-tests", command));
        }
    }

    private List<String> junit(String... further) {
        String classPath = bundle.resolve("lib") + "/*" + File.pathSeparator + bundle.resolve("test-lib") + "/*";
        List<String> command = ChildProcess.java(classPath, Map.of());
        command.addAll(List.of(
                "org.junit.platform.console.ConsoleLauncher",
                "execute",
                "--disable-banner",
                "--disable-ansi-colors",
                "--fail-if-no-tests",
                "--include-engine",
                "junit-jupiter"));
        command.addAll(List.of(further));
        return command;
    }

    /** Reads the summary of JUnit's console. */
    static Report.Tests counted(String output) {
        Map<String, Integer> counts = new HashMap<>();
        Matcher matcher = COUNT.matcher(output);
        while (matcher.find()) {
            counts.merge(matcher.group(2), Integer.valueOf(matcher.group(1)), Integer::sum);
        }
        return new Report.Tests(
                counts.getOrDefault("successful", 0),
                counts.getOrDefault("failed", 0),
                counts.getOrDefault("skipped", 0) + counts.getOrDefault("aborted", 0));
    }

    private void nccl(int used) throws IOException, InterruptedException {
        List<String> missing = new ArrayList<>();
        for (Map.Entry<String, String> one : NcclTests.PROGRAMS.entrySet()) {
            Optional<Path> program = NcclTests.find(one.getValue(), System.getenv());
            if (program.isEmpty()) {
                missing.add(one.getValue());
                continue;
            }
            String name = "nccl-" + one.getKey();
            steps.step("NCCL: " + one.getKey(), SHORT, () -> {
                ChildProcess.Result result = steps.child(name, NcclTests.command(program.get(), used), Map.of());
                List<Report.Measurement> rows = NcclTests.read(one.getKey(), used, result.output());
                report.nccl().addAll(rows);
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
        } else if (used == 1) {
            steps.notRun("NCCL with several ranks", "it takes a GPU for each rank, and one is used");
        }
    }

    /** Runs kernels under compute-sanitizer, which makes them slow. */
    private void sanitizer() throws IOException, InterruptedException {
        Optional<Path> program = NcclTests.find("compute-sanitizer", System.getenv());
        if (program.isEmpty()) {
            steps.notRun("memcheck and racecheck", "there is no compute-sanitizer (of NVIDIA's toolkit) on the path");
            return;
        }
        for (String tool : List.of("memcheck", "racecheck")) {
            for (String protocol : List.of("simple", "ll", "ll128")) {
                String name = tool + "-" + protocol;
                // 99 is an exit status that jccl does not use. The tool does not report API errors: results such as
                // "not ready" are no faults, and the library checks what calls return.
                List<String> command = new ArrayList<>(List.of(
                        program.get().toString(),
                        "--tool",
                        tool,
                        "--error-exitcode",
                        "99",
                        "--report-api-errors",
                        "no"));
                command.addAll(ChildProcess.jccl(ChildProcess.devicePerf(
                        "all_reduce",
                        2,
                        "--threads",
                        "--check",
                        "-b",
                        "8",
                        "-e",
                        "1M",
                        "-f",
                        "64",
                        "--iters",
                        "2",
                        "--warmup",
                        "0",
                        "--algorithm",
                        "ring",
                        "--protocol",
                        protocol)));
                Map<String, String> environment = Map.of("JCCL_TIMEOUT", "10min", "JCCL_LL128", "force");
                steps.step(
                        tool + ": " + protocol,
                        SHORT.multipliedBy(2),
                        () -> Steps.failure(name, steps.child(name, command, environment)));
            }
        }
    }
}
