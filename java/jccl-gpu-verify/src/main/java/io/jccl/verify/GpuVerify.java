package io.jccl.verify;

import io.jccl.cli.LogLevelOption;
import io.jccl.cli.Program;
import io.jccl.cli.output.BuildVersion;
import io.jccl.cli.output.ExitCode;
import io.jccl.cli.perf.RankProcesses;
import io.jccl.cli.topo.ThisHost;
import io.jccl.device.CudaInventory;
import io.jccl.nativelib.NativeLoader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
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

    private static final int DEFAULT_BUDGET = 570;
    private static final int MOST_OF_LOG_BYTES = 128 << 10;
    private static final String PROGRAMS_LOG = "programs.log";

    @Spec
    private CommandSpec spec;

    @Option(
            names = "--bundle",
            required = true,
            paramLabel = "FOLDER",
            description = "the folder that scripts/gpu-bundle has made")
    private Path bundleFolder;

    @Option(
            names = "--report",
            paramLabel = "FOLDER",
            defaultValue = "gpu-verify-report",
            description = "where the report goes (default: ${DEFAULT-VALUE})")
    private Path folder;

    @Option(names = "--gpus", paramLabel = "N", description = "number of GPUs to use (default: all visible ones)")
    private Integer gpus;

    @Option(
            names = "--part",
            paramLabel = "PART",
            description = {
                "for a GPU that is lent for minutes: first measures for at most six minutes, second tests for at most",
                "three; without it, everything that verifies this build runs. Results are written after each step"
            })
    private String partName;

    @Option(
            names = "--nccl",
            paramLabel = "FILE",
            description = "the libnccl.so.2 with which --part first compares (default: as jccl perf --peer nccl)")
    private Path nccl;

    @Option(
            names = "--budget",
            paramLabel = "SECONDS",
            description = {
                "time limit: a step that runs then is ended, and those that have not begun are reported as not run",
                "(default: " + DEFAULT_BUDGET + "; with --part, the sum of the limits of its steps)"
            })
    private Integer budget;

    @Option(names = "--require-gpu", description = "fail if there is no GPU")
    private boolean requireGpu;

    @Option(names = "--quick", description = "few small sizes, as for emulated GPUs")
    private boolean quick;

    @Mixin
    private LogLevelOption logLevel;

    private Parts.Part part; // null: all of the verification
    private Report report;
    private Steps steps;
    private Path logs;

    private GpuVerify() {}

    /** Verifies this build and ends the process with the status. */
    public static void main(String[] arguments) {
        Program.run(NAME, GpuVerify::new, arguments);
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        if (budget != null && budget < 1) {
            throw usage("budget=" + budget + ": expected at least 1 second");
        }
        if (partName != null) {
            part = Parts.Part.find(partName)
                    .orElseThrow(() -> usage("part=\"" + partName + "\": expected first or second"));
        }
        Gpus visible = Gpus.ofThisProcess();
        int seen = visible.models().size();
        if (gpus != null && (gpus < 1 || (seen > 0 && gpus > seen))) {
            throw usage("gpus=" + gpus + ": expected 1 to " + Math.max(1, seen)
                    + ", the devices that this process can see (CUDA_VISIBLE_DEVICES)");
        }
        int used = seen == 0 ? 0 : gpus == null ? seen : gpus;
        Files.createDirectories(folder);
        report = Report.begin(
                BuildVersion.get(),
                NativeLoader.buildId(),
                Instant.now().truncatedTo(ChronoUnit.SECONDS).toString(),
                machine(visible, used));
        Bundle bundle = new Bundle(bundleFolder);
        if (System.getProperty(RankProcesses.NCCL_BINDING) == null && Files.exists(bundle.ncclBinding())) {
            System.setProperty(RankProcesses.NCCL_BINDING, bundle.ncclBinding().toString());
        }
        // Few files come back from a lent GPU.
        logs = part == null ? folder : Files.createTempDirectory("gpu-verify");
        steps = new Steps(logs, report.steps(), System.out, limit(), visible.visible(used), this::recordStep);
        JunitTests tests = new JunitTests(steps, bundle);
        if (part == null) {
            onHost(tests);
        }
        if (used == 0) {
            withoutGpu(visible.driver());
        } else if (part == null) {
            onGpus(bundle, tests, used);
        } else {
            part(bundle, tests);
        }
        report.write(folder.resolve("report.json"));
        String text = ReportText.of(report);
        Files.writeString(folder.resolve("report.txt"), text);
        System.out.println();
        System.out.print(text);
        return report.hasFailed() ? ExitCode.FAILURE : ExitCode.SUCCESS;
    }

    private Duration limit() {
        return budget != null
                ? Duration.ofSeconds(budget)
                : part == null ? Duration.ofSeconds(DEFAULT_BUDGET) : Parts.limit(part);
    }

    private void part(Bundle bundle, JunitTests tests) throws IOException, InterruptedException {
        Parts.plan(part).forEach((name, limit) -> System.out.printf("at most  %4d s    %s%n", limit.toSeconds(), name));
        Parts parts = new Parts(steps, bundle, report.records(), quick, Optional.ofNullable(nccl));
        if (part == Parts.Part.FIRST) {
            parts.first();
        } else {
            parts.second(tests, counts -> report = report.with(counts));
        }
    }

    /** Writes what there is so far, because the GPU may be taken away before the end. */
    private void recordStep() {
        if (part == null) {
            return;
        }
        try {
            report.write(folder.resolve("report.json"));
            try (Stream<Path> files = Files.list(logs)) {
                for (Path file : files.sorted().toList()) {
                    String text = Files.readString(file);
                    String end = text.substring(Math.max(0, text.length() - MOST_OF_LOG_BYTES));
                    Files.writeString(
                            folder.resolve(PROGRAMS_LOG),
                            "== " + file.getFileName() + "\n" + end + "\n",
                            StandardOpenOption.CREATE,
                            StandardOpenOption.APPEND);
                    Files.delete(file);
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private ParameterException usage(String message) {
        return new ParameterException(spec.commandLine(), message);
    }

    private static Report.Machine machine(Gpus visible, int used) {
        return new Report.Machine(
                ThisHost.name().orElse("localhost"),
                System.getProperty("os.name") + " " + System.getProperty("os.version"),
                ThisHost.processor(),
                Runtime.getRuntime().availableProcessors(),
                visible.driver(),
                visible.models(),
                used);
    }

    private void onHost(JunitTests tests) throws IOException, InterruptedException {
        steps.step("this host", Steps.SHORT, () -> steps.requireWell("doctor", Jvm.brief(List.of("doctor", "-v"))));
        steps.step(
                "host: two processes",
                Steps.SHORT,
                () -> steps.requireWell(
                        "host-perf",
                        Jvm.brief(List.of(
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
        tests.onHost();
    }

    private void withoutGpu(String obstacle) throws IOException, InterruptedException {
        boolean present = !CudaInventory.ask().devices().isEmpty();
        for (String step : List.of("mutations", "tests tagged gpu", "copy limit", "benchmarks", "NCCL")) {
            steps.notRun(step, obstacle);
        }
        if (present || requireGpu) {
            steps.require("a GPU that can be used", Steps.SHORT, () -> obstacle);
        }
    }

    private void onGpus(Bundle bundle, JunitTests tests, int used) throws IOException, InterruptedException {
        mutations(bundle.mutatedKernels());
        double limit = CopyLimit.measure(steps, used, quick ? 64L << 10 : 256L << 20, report.copies());
        tests.onGpus(Duration.ofSeconds(240), counts -> report = report.with(counts));
        Benchmarks benchmarks = new Benchmarks(steps, quick, used, limit);
        for (Benchmarks.Run run : benchmarks.runs()) {
            steps.step(run.name(), Steps.SHORT, () -> benchmarks.run(run, report.measurements()));
        }
        NcclTests.run(steps, used, report.nccl());
        new Sanitizer(steps).run();
    }

    private void mutations(Path library) throws IOException, InterruptedException {
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
}
