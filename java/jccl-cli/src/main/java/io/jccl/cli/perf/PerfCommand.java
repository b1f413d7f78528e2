package io.jccl.cli.perf;

import io.jccl.Algorithm;
import io.jccl.Collective;
import io.jccl.Communicator;
import io.jccl.DataType;
import io.jccl.Protocol;
import io.jccl.ReduceOp;
import io.jccl.TransportKind;
import io.jccl.WireFormat;
import io.jccl.cli.doctor.HostLoad;
import io.jccl.cli.launch.OwnJob;
import io.jccl.cli.output.ByteSizes;
import io.jccl.cli.output.ExitCode;
import io.jccl.internal.Causes;
import io.jccl.launch.Launch;
import io.jccl.launch.LauncherEnvironment;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.function.Function;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** The subcommand {@code jccl perf}. */
@Command(
        name = "perf",
        description = {
            "Times one collective over a range of sizes, and checks it with --check.",
            "",
            "Starts its ranks itself, as processes of this host or, with --threads, as threads of this process. Inside "
                    + "a launcher's environment (jccl run, torchrun, Open MPI, PMI, Slurm) it is one rank of that job. "
                    + "A time is the slowest rank's average over consecutive iterations, and a size is that of the "
                    + "larger buffer of a rank in bytes, as in nccl-tests.",
            ""
        },
        footer = {
            "",
            "Exit status: 0 fine, 1 wrong results or a failure, 2 usage, 3 slower than a baseline.",
            "Examples:  jccl perf all_reduce -n 4 --check --json before.json",
            "           jccl perf all_reduce -n 4 --compare before.json --plot all_reduce.svg"
        },
        sortOptions = false)
public final class PerfCommand implements Callable<Integer> {

    private static final int DEFAULT_RANKS = 2;

    @Spec
    private CommandSpec spec;

    @Parameters(
            paramLabel = "COLLECTIVE",
            description = "all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all, gather, scatter, "
                    + "send_recv (a ring: to the next rank, from the previous), barrier, or one of all_gather_v, "
                    + "reduce_scatter_v, all_to_all_v (uneven blocks: 1 : 2 : ... : n)")
    private String collective;

    @Option(
            names = {"-n", "--ranks"},
            paramLabel = "N",
            description = "number of ranks to start (default: 2)")
    private Integer ranks;

    @Mixin
    private OwnJob ownJob;

    @Option(names = "--threads", description = "run the ranks as threads of one JVM")
    private boolean threads;

    @Option(
            names = {"-b", "--min-bytes"},
            paramLabel = "MIN",
            defaultValue = "8",
            description = "smallest size; suffixes K, M, G are powers of 1024 (default: ${DEFAULT-VALUE})")
    private String minBytes;

    @Option(
            names = {"-e", "--max-bytes"},
            paramLabel = "MAX",
            defaultValue = "64M",
            description = "largest size (default: ${DEFAULT-VALUE})")
    private String maxBytes;

    @ArgGroup
    private Growth growth = new Growth();

    private static final class Growth {
        @Option(
                names = {"-f", "--factor"},
                paramLabel = "FACTOR",
                description = "factor between two sizes (default: 2)")
        private Integer factor;

        @Option(
                names = {"-i", "--step"},
                paramLabel = "STEP",
                description = "bytes between two sizes, instead of a factor")
        private String step;
    }

    @Option(
            names = {"-t", "--type"},
            paramLabel = "TYPE",
            defaultValue = "float32",
            description = "int8, uint8, int16, uint16, int32, uint32, int64, uint64, float16, bfloat16, float32, "
                    + "float64, float8_e4m3 or float8_e5m2 (default: ${DEFAULT-VALUE})")
    private String type;

    @Option(
            names = {"-o", "--op"},
            paramLabel = "OP",
            defaultValue = "sum",
            description = "sum, prod, min, max, avg, or for integers band, bor, bxor (default: ${DEFAULT-VALUE})")
    private String op;

    @Option(
            names = {"-r", "--root"},
            paramLabel = "ROOT",
            defaultValue = "0",
            description = "root (default: ${DEFAULT-VALUE})")
    private int root;

    @Option(
            names = "--iters",
            paramLabel = "COUNT",
            description = "timed iterations (default: as many as fit into --budget)")
    private Integer iterations;

    @Option(
            names = "--warmup",
            paramLabel = "COUNT",
            description = "untimed iterations before each measurement (default: by time)")
    private Integer warmup;

    @Option(
            names = "--budget",
            paramLabel = "SECONDS",
            defaultValue = "0.1",
            description = "time for each measurement when --iters is not given (default: ${DEFAULT-VALUE})")
    private double budget;

    @Option(
            names = "--backend",
            paramLabel = "NAME",
            defaultValue = "auto",
            description = "auto, host or cuda (default: ${DEFAULT-VALUE})")
    private String backend;

    @Option(
            names = "--transport",
            paramLabel = "NAME",
            defaultValue = "auto",
            description = "auto, p2p (threads of one JVM), shm, plugin, ib or socket (default: ${DEFAULT-VALUE})")
    private String transport;

    @Option(
            names = "--algorithm",
            paramLabel = "NAME",
            defaultValue = "auto",
            description = "auto, ring, tree or direct (default: ${DEFAULT-VALUE})")
    private String algorithm;

    @Option(
            names = "--protocol",
            paramLabel = "NAME",
            defaultValue = "auto",
            description = "auto, ll, ll128 or simple (default: ${DEFAULT-VALUE})")
    private String protocol;

    @Option(
            names = "--channels",
            paramLabel = "N",
            defaultValue = "0",
            description = "channels, 1 to 64 (default: JCCL chooses)")
    private int channels;

    @Option(
            names = "--wire",
            paramLabel = "FORMAT",
            description = "format between hosts for float32 and float64: exact, bfloat16, float16, float8_block or "
                    + "int8_block; a :seed=N at the end rounds at random (default: JCCL_WIRE_FORMAT)")
    private String wire;

    @Option(
            names = "--memory",
            paramLabel = "KIND",
            defaultValue = "direct",
            description = "direct, heap, shared, registered or device (default: ${DEFAULT-VALUE})")
    private String memory;

    @Option(
            names = "--mode",
            paramLabel = "MODE",
            defaultValue = "await",
            description = {
                "await: each operation is awaited before the next; stream: batches of 20 on a stream of the GPU,",
                "awaited together; graph: a captured graph of 20 operations is replayed. Times are of one operation,",
                "medians those of batches. stream and graph need --memory device (default: ${DEFAULT-VALUE})"
            })
    private String mode;

    @Option(
            names = "--peer",
            paramLabel = "LIBRARY",
            description = "nccl: measure NCCL in turn with JCCL in the same processes, on the same buffers; needs "
                    + "--memory device, and NCCL 2.30 or later if ranks share a GPU")
    private String peer;

    @Option(
            names = "--peer-library",
            paramLabel = "FILE",
            description = "the libnccl.so.2 of --peer (default: that of a Python package, or the system's)")
    private Path peerLibrary;

    @Option(names = "--check", description = "verify every element of every result, bit for bit")
    private boolean check;

    @Option(
            names = "--json",
            paramLabel = "FILE",
            description = "write JSON lines to FILE; - is standard output, without the table")
    private String json;

    @Option(
            names = "--csv",
            paramLabel = "FILE",
            description = "write comma-separated values to FILE; - is standard output, without the table")
    private String csv;

    @Option(
            names = "--plot",
            paramLabel = "FILE.svg",
            description = "draw bandwidth and time over size, out of place, with a curve for each --compare")
    private Path plot;

    @Option(
            names = "--compare",
            paramLabel = "BASELINE",
            description = "compare medians with a file that --json wrote; may be given several times")
    private List<Path> baselines = List.of();

    @Option(
            names = "--tolerance",
            paramLabel = "PCT",
            defaultValue = "10",
            description = "percentage by which a median may be slower than the baseline's (default: ${DEFAULT-VALUE})")
    private double tolerance;

    @Override
    public Integer call() throws InterruptedException, IOException {
        PerfOptions options;
        Optional<Launch> place;
        int size;
        try {
            options = options();
            place = threads || ownJob.isGiven() ? Optional.empty() : launch();
            size = place.map(Launch::size).orElseGet(() -> ranks == null ? DEFAULT_RANKS : ranks);
            checkRanks(size);
            if (place.isEmpty()) {
                ownJob.require(
                        spec,
                        "to measure ranks of all of them, leave " + (threads ? "--threads" : "-n")
                                + " out; to measure on" + " this host only, add " + OwnJob.NAME);
            }
            if (place.isEmpty() || place.get().rank() == 0) {
                options.outputs().requireUsable();
            }
        } catch (IllegalArgumentException e) {
            throw new ParameterException(spec.commandLine(), Causes.describe(e), e);
        }
        if (place.isPresent()) {
            return runRank(options, place.get());
        }
        if (!options.outputs().earlier().isEmpty()) { // before the ranks make this host busy
            HostLoad.warning().ifPresent(busy -> System.err.println("jccl perf: warning: " + busy));
        }
        if (threads) {
            try (Reporters reporter = new Reporters(options, System.out, System.err)) {
                return status(new RankThreads(options, size).run(reporter), reporter);
            }
        }
        List<String> arguments = spec.commandLine().getParent().getParseResult().originalArgs().stream()
                .filter(argument -> !argument.equals(OwnJob.NAME)) // the ranks belong to this command's job anyway
                .toList();
        RankProcesses.Buffers buffers =
                new RankProcesses.Buffers(2 * options.ladder().maxBytes(), options.memory() == MemoryKind.HEAP);
        return new RankProcesses("jccl perf", buffers, size, arguments).run(System.out, System.err);
    }

    /**
     * Returns this process's place in a launcher's job. Empty if there is no launcher, or if the job has one rank but
     * the user asks for more ranks, which this command then starts itself.
     */
    private Optional<Launch> launch() {
        return LauncherEnvironment.find(System.getenv())
                .filter(place -> place.size() > 1 || ranks == null || ranks == 1);
    }

    private static int runRank(PerfOptions options, Launch place) {
        if (place.rank() > 0) {
            return status(runRank(options, place, Reporter.SILENT), Reporter.SILENT);
        }
        try (Reporters reporter = new Reporters(options, System.out, System.err)) {
            return status(runRank(options, place, reporter), reporter);
        }
    }

    private static long runRank(PerfOptions options, Launch place, Reporter reporter) {
        try (Communicator communicator = Communicator.fromEnvironment(options.communicatorConfig(place.rank()))) {
            return new RankRun(options, communicator, reporter).run();
        }
    }

    private static int status(long wrong, Reporter reporter) {
        if (wrong > 0) {
            return ExitCode.FAILURE;
        }
        return reporter.hasRegressed() ? ExitCode.REGRESSION : ExitCode.SUCCESS;
    }

    private void checkRanks(int size) {
        if (size < 1) {
            throw new IllegalArgumentException("ranks=" + size + ": expected at least 1; set it with -n");
        }
        if (ranks != null && ranks != size) {
            throw new IllegalArgumentException("ranks=" + ranks + ": a launcher started this process as one of " + size
                    + " ranks; leave -n out, make it the same, or add " + OwnJob.NAME + " for ranks of this host only");
        }
        if (root < 0 || root >= size) {
            throw new IllegalArgumentException("root=" + root + ": expected 0 to " + (size - 1) + " for ranks=" + size);
        }
    }

    private PerfOptions options() {
        checkBackend();
        checkNumbers();
        int factor = growth.step != null ? 0 : growth.factor == null ? 2 : growth.factor;
        long step = growth.step == null ? 0 : ByteSizes.parse(growth.step);
        if (growth.step != null && step == 0) {
            throw new IllegalArgumentException("step=0: expected at least 1 byte; set it with -i");
        }
        PerfCollective parsed = PerfCollective.parse(collective);
        boolean sized = parsed.kind() != Collective.BARRIER;
        require(
                plot == null || plot.toString().matches("(?i).*\\.svg|(.*/)?[^./]*"),
                "plot",
                plot,
                "a name that ends in .svg, the only format; a browser or rsvg-convert converts it to others");
        DataType elements = DataType.parse(type);
        ReduceOp combined = ReduceOp.parse(op);
        require(
                combined.supports(elements),
                "op",
                op,
                "one that supports type=" + type + "; band, bor and bxor combine integers only");
        long min = sized ? ByteSizes.parse(minBytes) : 1;
        long max = sized ? ByteSizes.parse(maxBytes) : 1;
        require(sized || plot == null, "plot", plot, "a collective that has sizes; leave --plot out for barrier");
        return new PerfOptions(
                parsed,
                new SizeLadder(min, max, factor, step),
                elements,
                combined,
                root,
                iterations == null ? 0 : iterations,
                warmup == null ? -1 : warmup,
                budget,
                unlessAuto(algorithm, Algorithm::parse),
                unlessAuto(protocol, Protocol::parse),
                unlessAuto(transport, TransportKind::parse),
                channels == 0 ? Optional.empty() : Optional.of(channels),
                Optional.ofNullable(wire).map(WireFormat::parse),
                memoryKind(),
                Mode.parse(mode),
                peer(parsed, combined),
                check,
                new Outputs(
                        Optional.ofNullable(json),
                        Optional.ofNullable(csv),
                        Optional.ofNullable(plot),
                        baselines,
                        tolerance));
    }

    private Optional<Peer> peer(PerfCollective measured, ReduceOp combined) {
        require(peer != null || peerLibrary == null, "peer-library", peerLibrary, "--peer nccl with it");
        if (peer == null) {
            return Optional.empty();
        }
        Peer parsed = Peer.parse(peer, Optional.ofNullable(peerLibrary));
        Peer.require(measured, memoryKind(), combined);
        return Optional.of(parsed);
    }

    private static <T> Optional<T> unlessAuto(String name, Function<String, T> parse) {
        return "auto".equalsIgnoreCase(name) ? Optional.empty() : Optional.of(parse.apply(name));
    }

    private void checkBackend() {
        switch (backend.toLowerCase(Locale.ROOT)) {
            case "auto" -> {}
            case "host" -> requireBackend(memoryKind() != MemoryKind.DEVICE, "direct, heap, shared or registered");
            case "cuda" -> requireBackend(memoryKind() == MemoryKind.DEVICE, "device");
            default -> throw new IllegalArgumentException(
                    "backend=\"" + backend + "\": unknown; name one of [auto, host, cuda]");
        }
    }

    private void requireBackend(boolean fits, String expected) {
        if (!fits) {
            throw new IllegalArgumentException("backend=" + backend + " memory=" + memory
                    + ": a backend works on its own memory; use --memory " + expected);
        }
    }

    private MemoryKind memoryKind() {
        for (MemoryKind kind : MemoryKind.values()) {
            if (kind.label().equalsIgnoreCase(memory)) {
                return kind;
            }
        }
        throw new IllegalArgumentException(
                "memory=\"" + memory + "\": unknown; name one of [direct, heap, shared, registered, device]");
    }

    private void checkNumbers() {
        require(iterations == null || iterations >= 1, "iters", iterations, "at least 1, or leave it out");
        require(warmup == null || warmup >= 0, "warmup", warmup, "0 or more");
        require(budget > 0 && budget <= 3600, "budget", budget, "seconds above 0 and up to 3600");
        require(tolerance >= 0, "tolerance", tolerance, "0 or more percent");
        require(channels >= 0 && channels <= 64, "channels", channels, "1 to 64, or 0 for JCCL's choice");
    }

    private static void require(boolean fine, String name, Object value, String expected) {
        if (!fine) {
            throw new IllegalArgumentException(name + "=" + value + ": expected " + expected);
        }
    }
}
