package io.jccl.cli.perf;

import io.jccl.cli.launch.Job;
import io.jccl.cli.launch.LocalLauncher;
import io.jccl.cli.launch.Outcome;
import io.jccl.cli.output.ExitCode;
import io.jccl.cli.output.Terminal;
import java.io.File;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** Runs all ranks as processes of this host. Each is the {@code jccl} command again, with a launcher's environment. */
public final class RankProcesses {

    /** Property with the path of the library that calls NCCL, for {@code --peer nccl}. */
    public static final String NCCL_BINDING = "jccl.nccl.path";

    /**
     * Name of the system property that holds the path of the class-data archive (CDS) from which the JVM starts; see
     * scripts/jccl.
     */
    private static final String ARCHIVE = "jccl.class.archive";

    /**
     * A name, because a reference to the class would make this package and that of {@code Main} depend on each other.
     */
    private static final String MAIN_CLASS = "io.jccl.cli.Main";

    private static final int FIRST_JDK_THAT_WARNS_OF_NATIVE_CODE = 24;
    private static final Duration LINGER = Duration.ofSeconds(6); // survivors notice a death within five seconds
    private static final Duration GRACE = Duration.ofSeconds(3);
    private static final long SPARE_BYTES = 512L << 20;

    private final String name;
    private final Buffers buffers;
    private final int ranks;
    private final List<String> arguments;

    /**
     * The memory of a rank's buffers.
     *
     * @param bytes size of all buffers together
     * @param onHeap true if they are Java arrays
     */
    public record Buffers(long bytes, boolean onHeap) {}

    /**
     * @param name name of the command that starts the ranks, for its messages
     * @param arguments arguments of the {@code jccl} command in each rank
     */
    public RankProcesses(String name, Buffers buffers, int ranks, List<String> arguments) {
        this.name = name;
        this.buffers = buffers;
        this.ranks = ranks;
        this.arguments = List.copyOf(arguments);
    }

    /** Runs the ranks to their end; returns the exit status of this command. */
    public int run(PrintStream out, PrintStream err) throws InterruptedException, IOException {
        Job.Colours colours = new Job.Colours(false, Terminal.colours(Terminal.Stream.ERR));
        Job job = new Job(ranks, command(), Map.of(), List.of(), Job.Output.FIRST_RANK, colours, LINGER, GRACE, false);
        Outcome outcome = new LocalLauncher(job, out, err).run();
        if (outcome.status() <= ExitCode.REGRESSION) {
            return outcome.status(); // rank 0 or the failed rank has reported why
        }
        err.println(name + ": rank " + outcome.failedRank() + " ended with " + Outcome.describe(outcome.status())
                + "; the others were ended");
        return ExitCode.FAILURE;
    }

    /**
     * Returns the options with which this version of Java loads native code without a warning, as scripts/jccl has
     * them.
     */
    public static List<String> nativeAccess() {
        return Runtime.version().feature() >= FIRST_JDK_THAT_WARNS_OF_NATIVE_CODE
                ? List.of("--enable-native-access=ALL-UNNAMED")
                : List.of();
    }

    private List<String> command() {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        List<String> further = Stream.of(
                        System.getenv().getOrDefault("JCCL_JAVA_OPTS", "").split("\\s+"))
                .filter(option -> !option.isEmpty())
                .toList();
        if (further.stream().noneMatch(option -> option.matches("-XX:\\+Use\\w*GC"))) {
            command.add("-XX:+UseSerialGC"); // the JVM refuses two collectors
        }
        command.addAll(nativeAccess());
        command.add("-XX:-UsePerfData");
        command.add("-Xshare:auto");
        String archive = System.getProperty(ARCHIVE, "");
        // If this archive is missing or empty, the JVM does not use its default archive either.
        if (new File(archive).length() > 0) {
            command.add("-XX:SharedArchiveFile=" + archive);
            command.add("-Xlog:cds=off");
            command.add("-Xlog:cds+dynamic=off");
            command.add("-Xlog:class+path=off");
        }
        long memory = buffers.bytes() + SPARE_BYTES;
        command.add("-XX:MaxDirectMemorySize=" + memory);
        if (buffers.onHeap()) {
            command.add("-Xmx" + memory);
        }
        command.addAll(further);
        System.getProperties().stringPropertyNames().stream()
                .filter(name -> name.startsWith("jccl."))
                .forEach(name -> command.add("-D" + name + "=" + System.getProperty(name)));
        command.add("-cp");
        command.add(System.getProperty("java.class.path"));
        command.add(MAIN_CLASS);
        command.addAll(arguments);
        return command;
    }
}
