package io.jccl.cli.launch;

import io.jccl.BootstrapException;
import io.jccl.CommunicatorConfig;
import io.jccl.cli.output.Terminal;
import io.jccl.config.LaunchSettings;
import io.jccl.config.Settings;
import io.jccl.internal.Causes;
import io.jccl.launch.OuterLauncher;
import io.jccl.topology.ProcessorGroups;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** The subcommand {@code jccl run}: the local launcher. */
@Command(
        name = "run",
        description = {
            "Starts COMMAND as the ranks of a job on this host, or with --hosts-of-job as this host's share of a job.",
            "",
            "Each process finds its place in JCCL_RANK, JCCL_SIZE, JCCL_LOCAL_RANK and JCCL_RENDEZVOUS, which "
                    + "Communicator.fromEnvironment() reads. When a rank ends with a status other than 0, jccl run "
                    + "ends the others and exits with that status. INT, TERM and HUP end the job. With --elastic a "
                    + "failed process is started again instead, and joins the others.",
            ""
        },
        footer = {
            "",
            "Example:  jccl run -n 4 -- java -cp app.jar Train",
            "          srun --ntasks-per-node 1 jccl run -n 4 --hosts-of-job -- java -cp app.jar Train"
        },
        sortOptions = false)
public final class RunCommand implements Callable<Integer> {

    private static final Pattern ELASTIC = Pattern.compile("([0-9]{1,6}):([0-9]{1,6})");
    private static final Duration MIN_BACKOFF = Duration.ofMillis(100);
    private static final Duration MAX_BACKOFF = Duration.ofSeconds(10);

    @Spec
    private CommandSpec spec;

    @Option(
            names = {"-n", "--ranks"},
            paramLabel = "N",
            description = "number of processes to start (default with --elastic: MAX)")
    private Integer given;

    private int ranks;

    @Option(
            names = "--hosts-of-job",
            description =
                    "one job over all hosts on which a launcher (srun, mpirun, torchrun, Kubernetes) has started this "
                            + "command with the same N: N ranks on each, in the launcher's order, with its rendezvous")
    private boolean hostsOfJob;

    @Mixin
    private OwnJob ownJob;

    @Option(
            names = "--elastic",
            paramLabel = "MIN:MAX",
            description =
                    "start a failed process again, so that it joins the others (JCCL_JOIN), which call reform; end the "
                            + "job when fewer than MIN are alive")
    private String elastic;

    @Option(
            names = "--restarts",
            paramLabel = "N",
            defaultValue = "10",
            description = "with --elastic: limit on restarts, counted over all processes (default: ${DEFAULT-VALUE})")
    private int restarts;

    @Option(
            names = "--bind",
            paramLabel = "core|numa|none",
            defaultValue = "none",
            description =
                    "bind each rank to cores of its own, to a NUMA node, or to nothing, out of the processors that this "
                            + "command may use; JCCL_CPU_AFFINITY narrows these down (default: ${DEFAULT-VALUE})")
    private String bind;

    @Option(
            names = "--oversubscribe",
            description = "let ranks share processors if --bind finds fewer processors than ranks")
    private boolean oversubscribe;

    @Option(names = "--no-prefix", description = "do not prefix each line of output with its rank")
    private boolean noPrefix;

    @Option(
            names = "--linger",
            paramLabel = "SECONDS",
            defaultValue = "0",
            description = "time that the other ranks may continue after one has failed (default: ${DEFAULT-VALUE})")
    private double lingerSeconds;

    @Option(
            names = "--grace",
            paramLabel = "SECONDS",
            defaultValue = "5",
            description = "time that a rank may take to end before it is killed (default: ${DEFAULT-VALUE})")
    private double graceSeconds;

    @Option(
            names = {"-v", "--verbose"},
            description = "print the process id of each rank")
    private boolean verbose;

    @Parameters(paramLabel = "COMMAND", arity = "1..*", description = "the program and its arguments, after --")
    private List<String> command;

    @Override
    public Integer call() throws InterruptedException {
        ranks = given == null ? 0 : given;
        Elastic policy = elastic == null ? null : policy();
        if (given == null && policy == null) {
            throw new ParameterException(
                    spec.commandLine(), "ranks=(not given): set the number of processes with -n N");
        }
        Job job = job();
        OuterLauncher outer = outer(policy);
        try {
            LocalLauncher launcher = outer == null
                    ? new LocalLauncher(job, policy, System.out, System.err)
                    : new LocalLauncher(job, outer, System.out, System.err);
            Outcome outcome = launcher.run();
            if (outcome.status() != 0) {
                System.err.println(
                        "jccl run: rank " + outcome.failedRank() + " ended with " + Outcome.describe(outcome.status()));
            }
            return outcome.status();
        } catch (IOException e) {
            System.err.println("jccl run: command=\"" + command.get(0) + "\" cannot be started: " + Causes.describe(e));
            return 127; // a shell's status for a command that cannot be started
        }
    }

    /** Returns the launcher to whose job these ranks belong; null if they are a job of their own. */
    private OuterLauncher outer(Elastic policy) {
        if (!hostsOfJob) {
            ownJob.require(
                    spec,
                    "for one job of all of them with " + ranks
                            + " ranks each, add --hosts-of-job; for a job of this host" + " only, add " + OwnJob.NAME);
            return null;
        }
        if (policy != null || ownJob.isGiven()) {
            throw new ParameterException(
                    spec.commandLine(),
                    "--hosts-of-job with " + (policy == null ? OwnJob.NAME : "--elastic")
                            + ": expected one of them; docs/elastic.md has elastic jobs of several hosts");
        }
        try {
            OuterLauncher outer = OuterLauncher.detect(System.getenv());
            outer.place(ranks - 1, ranks); // throws an exception if there are too many ranks
            return outer;
        } catch (BootstrapException | IllegalArgumentException e) {
            throw new ParameterException(spec.commandLine(), "--hosts-of-job: " + Causes.describe(e), e);
        }
    }

    /** Parses {@code --elastic} and {@code -n}. */
    private Elastic policy() {
        Matcher range = ELASTIC.matcher(elastic);
        int min = range.matches() ? Integer.parseInt(range.group(1)) : 0;
        int max = range.matches() ? Integer.parseInt(range.group(2)) : -1;
        ranks = given == null ? max : given;
        if (min < 1 || max < min || ranks < min || ranks > max || restarts < 0) {
            throw new ParameterException(
                    spec.commandLine(),
                    "elastic=" + elastic + (given == null ? "" : " ranks=" + given) + " restarts=" + restarts
                            + ": expected MIN:MAX with 1 <= MIN <= MAX, -n from MIN to MAX, and 0 restarts or more");
        }
        return new Elastic(min, restarts, MIN_BACKOFF, MAX_BACKOFF);
    }

    private Job job() {
        if (lingerSeconds < 0 || graceSeconds < 0) {
            throw new ParameterException(
                    spec.commandLine(), "linger=" + lingerSeconds + " grace=" + graceSeconds + ": expected 0 or more");
        }
        Job.Output output = noPrefix ? Job.Output.PLAIN : Job.Output.PREFIXED;
        Job.Colours colours =
                new Job.Colours(Terminal.colours(Terminal.Stream.OUT), Terminal.colours(Terminal.Stream.ERR));
        try {
            Binding binding = Binding.named(bind);
            return new Job(
                    ranks,
                    command,
                    Map.of(),
                    binding.split(processors(), ranks, oversubscribe),
                    output,
                    colours,
                    seconds(lingerSeconds),
                    seconds(graceSeconds),
                    verbose);
        } catch (IllegalArgumentException e) {
            throw new ParameterException(spec.commandLine(), Causes.describe(e), e);
        }
    }

    private static ProcessorGroups processors() {
        ProcessorGroups all = ProcessorGroups.ofThisHost();
        return Settings.load(CommunicatorConfig.defaults())
                .get(LaunchSettings.CPU_AFFINITY)
                .map(all::within)
                .orElse(all);
    }

    private static Duration seconds(double seconds) {
        return Duration.ofNanos((long) (seconds * 1e9));
    }
}
