package io.jccl.cli.tune;

import io.jccl.Collective;
import io.jccl.Communicator;
import io.jccl.CommunicatorConfig;
import io.jccl.TransportKind;
import io.jccl.cli.doctor.HostLoad;
import io.jccl.cli.launch.JobDirectory;
import io.jccl.cli.launch.OwnJob;
import io.jccl.cli.output.ByteSizes;
import io.jccl.cli.output.ExitCode;
import io.jccl.cli.output.NearestLabel;
import io.jccl.cli.output.OutputFile;
import io.jccl.cli.output.Progress;
import io.jccl.cli.output.Terminal;
import io.jccl.cli.topo.ThisHost;
import io.jccl.config.AlgorithmSettings;
import io.jccl.config.Settings;
import io.jccl.internal.Causes;
import io.jccl.launch.Launch;
import io.jccl.launch.LauncherEnvironment;
import io.jccl.tuning.HostCosts;
import io.jccl.tuning.HostCosts.General;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The subcommand {@code jccl tune}. */
@Command(
        name = "tune",
        description = {
            "Measures the constants of the cost model on this host and writes them as a file for JCCL_TUNING_PROFILE.",
            "",
            "Ranks of this host time all_reduce with every algorithm and protocol over each transport, in rounds. "
                    + "Constants that cannot be measured, or whose measurements contradict each other, stay as they "
                    + "were, with a note on standard error. With --verify the command instead measures, for each "
                    + "collective and size, how much slower the automatic choice is than the best algorithm and "
                    + "protocol, and in how many cases it is more than 10 %% slower.",
            "",
            "As one rank on each host of a launcher's job, with --hosts-of-job, the command measures only sockets, "
                    + "between these hosts. The first rank prints or writes the result.",
            ""
        },
        footer = {
            "",
            "Example:  jccl tune -o costs.properties && JCCL_TUNING_PROFILE=costs.properties jccl tune --verify",
            "Between hosts:  srun --ntasks-per-node 1 jccl tune --hosts-of-job -o costs.properties"
        },
        sortOptions = false)
public final class TuneCommand implements Callable<Integer> {

    private static final long MIN_MAX_BYTES = 64;
    private static final double MAX_SECONDS = 86_400;

    private static final String HOSTS_OF_JOB = "--hosts-of-job";

    @Mixin
    private OwnJob ownJob;

    @Spec
    private CommandSpec spec;

    @Option(
            names = HOSTS_OF_JOB,
            description = "measure sockets between the hosts of a launcher's job that has started this command once on"
                    + " each host")
    private boolean hostsOfJob;

    @Option(
            names = {"-o", "--output"},
            paramLabel = "FILE",
            description = "file for the profile (default: standard output)")
    private Path output;

    @Option(names = "--verify", description = "measure how good the choices of the profile in use are; write none")
    private boolean verify;

    @Option(
            names = "--transport",
            paramLabel = "NAME",
            split = ",",
            description = "measure only these: p2p (threads), shm, socket (default: all; with --verify shm and socket)")
    private List<String> transports;

    @Option(
            names = "--collective",
            paramLabel = "NAME",
            split = ",",
            defaultValue = "all_reduce,all_gather,reduce_scatter,broadcast,reduce,all_to_all,send_recv",
            description = "collectives that --verify measures (default: ${DEFAULT-VALUE})")
    private List<String> collectives;

    @Option(names = "--forms", description = "with --verify: print also the time of every algorithm and protocol")
    private boolean forms;

    @Option(
            names = "--budget",
            paramLabel = "SECONDS",
            defaultValue = "120",
            description = "time for all rounds; one round is always made (default: ${DEFAULT-VALUE})")
    private double budget;

    @Option(
            names = {"-e", "--max-bytes"},
            paramLabel = "MAX",
            defaultValue = "16M",
            description = "largest size (default: ${DEFAULT-VALUE})")
    private String maxBytes;

    @Option(
            names = {"-q", "--quiet"},
            description = "do not report the progress")
    private boolean quiet;

    @Option(names = "--each", paramLabel = "SECONDS", defaultValue = "0.004", hidden = true)
    private double secondsEach;

    private boolean first = true; // this process reports and writes the results

    @Override
    public Integer call() throws IOException, InterruptedException {
        if (!hostsOfJob) {
            ownJob.require(
                    spec,
                    "a profile belongs to one host: start the command once on each host, add " + HOSTS_OF_JOB
                            + " to measure between these hosts, or " + OwnJob.NAME);
        }
        MeasurementPlan plan;
        List<Collective> verified;
        try {
            verified = collectives.stream().map(TuneCommand::parse).distinct().toList();
            if (verified.contains(Collective.BARRIER)) {
                throw new IllegalArgumentException("collective=barrier: moves no data, so there is one choice for all"
                        + " sizes; name collectives that do");
            }
            int hosts = hostsOfJob ? hosts() : 1;
            plan = plan(hosts);
            if (output != null && !verify && first) {
                OutputFile.requireWritable("output", output);
            }
        } catch (IllegalArgumentException e) {
            throw new ParameterException(spec.commandLine(), Causes.describe(e), e);
        }
        return verify ? verify(plan, verified) : tune(plan);
    }

    /** Returns the number of hosts of the launcher's job, each of which has one rank. */
    private int hosts() {
        Launch place = LauncherEnvironment.find(System.getenv())
                .filter(launch -> launch.size() > 1 && !ownJob.isGiven())
                .orElseThrow(() -> new IllegalArgumentException(
                        HOSTS_OF_JOB + ": expected a launcher that starts this command once on each of several hosts,"
                                + " and no " + OwnJob.NAME + "; leave " + HOSTS_OF_JOB + " out to measure this host"));
        int local = place.localRank().orElse(0);
        if (local > 0) {
            throw new IllegalArgumentException(HOSTS_OF_JOB + ": rank=" + place.rank() + " local_rank=" + local
                    + ": expected one rank on each host, because this host's ranks would share its network; start one");
        }
        first = place.rank() == 0;
        return place.size();
    }

    private static Collective parse(String label) {
        try {
            return Collective.parse(label);
        } catch (IllegalArgumentException e) {
            List<String> labels =
                    Stream.of(Collective.values()).map(Collective::label).toList();
            throw new IllegalArgumentException(Causes.describe(e) + NearestLabel.suggestion(label, labels), e);
        }
    }

    private MeasurementPlan plan(int hosts) {
        long largest = ByteSizes.parse(maxBytes);
        if (largest < MIN_MAX_BYTES) {
            throw new IllegalArgumentException(
                    "max=" + largest + ": expected at least " + MIN_MAX_BYTES + " bytes; set it with -e");
        }
        if (!(budget > 0 && budget <= MAX_SECONDS)) {
            throw new IllegalArgumentException("budget=" + budget + ": expected seconds above 0 and up to a day");
        }
        Settings settings = Settings.load(CommunicatorConfig.defaults());
        return new MeasurementPlan(
                TunedHost.here(hosts, settings),
                wanted(),
                MeasurementPlan.ladder(largest),
                secondsEach,
                !quiet && onTerminal() && first);
    }

    private static boolean onTerminal() {
        return Terminal.isTerminal(Terminal.Stream.ERR);
    }

    private Set<TransportKind> wanted() {
        EnumSet<TransportKind> wanted = EnumSet.noneOf(TransportKind.class);
        if (transports != null) {
            transports.forEach(name -> wanted.add(TransportKind.parse(name)));
            if (hostsOfJob && !wanted.equals(EnumSet.of(TransportKind.SOCKET))) {
                throw new IllegalArgumentException("transport=" + String.join(",", transports)
                        + ": expected socket with " + HOSTS_OF_JOB + ", or no --transport");
            }
            for (TransportKind one : wanted) {
                if (!HostCosts.MEASURED.contains(one)) {
                    throw new IllegalArgumentException("transport=" + one.label()
                            + ": its costs are predicted like those of sockets, not measured; name p2p, shm or socket");
                }
            }
            return wanted;
        }
        if (hostsOfJob) {
            return EnumSet.of(TransportKind.SOCKET);
        }
        return verify ? EnumSet.of(TransportKind.SHM, TransportKind.SOCKET) : EnumSet.copyOf(HostCosts.MEASURED);
    }

    private int tune(MeasurementPlan plan) throws IOException, InterruptedException {
        RunProgress progress = begin();
        HostCosts inUse = plan.host().costs();
        Calibration calibration = new Calibration(plan.host(), this::note);
        try (JobDirectory directory = JobDirectory.create(Duration.ZERO)) {
            Path inPlace = directory.resolve("in-place.properties");
            Path staged = directory.resolve("staged.properties");
            Files.writeString(inPlace, HostCostsWriter.write(inUse.with(General.ZERO_COPY_MIN_BYTES, 0)));
            Files.writeString(staged, HostCostsWriter.write(inUse.with(General.ZERO_COPY_MIN_BYTES, Long.MAX_VALUE)));
            for (MeasurementRun run : plan.forProfile(budget, inPlace, staged)) {
                calibration.add(run, runner().run(progress.begin(run)));
            }
        }
        if (!first) {
            return ExitCode.SUCCESS;
        }
        String profile = HostCostsWriter.write(calibration.profile(source(plan.host())));
        if (output == null) {
            System.out.print(profile);
        } else {
            Files.writeString(output, profile);
            note("wrote " + output.toAbsolutePath() + "; set JCCL_TUNING_PROFILE to this path on every rank");
        }
        return ExitCode.SUCCESS;
    }

    private int verify(MeasurementPlan plan, List<Collective> verified) throws IOException, InterruptedException {
        RunProgress progress = begin();
        if (!first) {
            for (MeasurementRun run : plan.forVerification(budget, verified)) {
                runner().run(progress.begin(run));
            }
            return ExitCode.SUCCESS;
        }
        Optional<Path> profile = plan.host().settings().get(AlgorithmSettings.TUNING_PROFILE);
        System.out.println("# profile in use: "
                + profile.map(file -> file.toAbsolutePath() + ", ").orElse("")
                + plan.host().costs().source());
        List<Slowdown.Row> cells = new ArrayList<>();
        for (MeasurementRun run : plan.forVerification(budget, verified)) {
            List<Times> times = runner().run(progress.begin(run));
            List<Slowdown.Row> rows = Slowdown.of(plan.host(), run, times);
            System.out.println();
            System.out.println("# " + Slowdown.title(run) + ", rounds: "
                    + times.stream()
                            .mapToInt(some -> some.micros().size())
                            .max()
                            .orElse(0));
            System.out.print(Slowdown.toText(rows));
            if (forms) {
                System.out.print(Slowdown.formsToText(rows));
            }
            cells.addAll(rows);
        }
        System.out.println();
        System.out.print(Slowdown.summary(cells));
        return ExitCode.SUCCESS;
    }

    /** Between hosts this process is itself a rank of every run. Otherwise each run has processes of its own. */
    private MeasurementRunner runner() {
        if (!hostsOfJob) {
            return new MeasurementProcesses(System.out, System.err);
        }
        return run -> new MeasurementRank(
                        run,
                        new Progress(System.err, run.progress()),
                        (index, config) -> Communicator.fromEnvironment(config))
                .run();
    }

    /** Warns, before a measurement begins, if other processes would influence it. Returns the progress report. */
    private RunProgress begin() {
        HostLoad.warning().ifPresent(busy -> note("warning: " + busy));
        return new RunProgress(System.err, !quiet && !onTerminal() && first, System::nanoTime);
    }

    private void note(String text) {
        System.err.println("jccl tune: " + text);
    }

    private String source(TunedHost host) {
        String command =
                String.join(" ", spec.commandLine().getParent().getParseResult().originalArgs());
        String made = " on " + LocalDate.now(ZoneOffset.UTC) + " by `jccl " + command + "`";
        String on = ThisHost.processor() + ", " + host.cores() + " cores";
        if (host.isOneOfSeveral()) {
            return "socket rows measured between " + host.hosts() + " hosts with one rank each, the first with " + on
                    + "," + made + "; all other rows: " + host.costs().source();
        }
        return "measured on " + on + ", "
                + host.dedicatedCoreRanks().stream().map(String::valueOf).collect(Collectors.joining(" and "))
                + " ranks, and " + host.oversubscribedRanks() + " that are oversubscribed," + made;
    }
}
