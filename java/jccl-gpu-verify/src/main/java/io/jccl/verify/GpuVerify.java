package io.jccl.verify;

import io.jccl.cli.LogLevelOption;
import io.jccl.cli.Program;
import io.jccl.cli.output.BuildVersion;
import io.jccl.cli.output.ExitCode;
import io.jccl.cli.topo.ThisHost;
import io.jccl.device.CudaInventory;
import io.jccl.nativelib.NativeLoader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
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
        steps = new Steps(folder, report.steps(), System.out, Duration.ofSeconds(budget), visible.visible(used));
        Bundle bundle = new Bundle(bundleFolder);
        JunitTests tests = new JunitTests(steps, bundle);
        onHost(tests);
        if (used > 0) {
            onGpus(bundle, tests, used);
        } else {
            withoutGpu(visible.driver());
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
        tests.onGpus(counts -> report = report.with(counts));
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
