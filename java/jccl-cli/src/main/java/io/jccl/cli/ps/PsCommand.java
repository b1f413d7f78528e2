package io.jccl.cli.ps;

import io.jccl.CommunicatorConfig;
import io.jccl.cli.output.ExitCode;
import io.jccl.cli.output.Json;
import io.jccl.cli.output.Terminal;
import io.jccl.config.LaunchSettings;
import io.jccl.config.Settings;
import io.jccl.diagnosis.Diagnosis;
import io.jccl.internal.Causes;
import io.jccl.status.Answer;
import io.jccl.status.JobIdentity;
import io.jccl.status.ProcessSnapshot;
import io.jccl.status.Request;
import io.jccl.status.StatusDirectory;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** The subcommand {@code jccl ps}. */
@Command(
        name = "ps",
        description = {
            "Shows what the ranks of a running job do, and names those that hold the others up: stopped, ended, absent,"
                    + " slow, or in another operation.",
            "",
            "Without TARGET it finds your processes on this host. It attaches to one of them, and that process asks all"
                    + " others of the job. From another host, name HOST:PORT of any process of the job (jccl ps --json"
                    + " shows the ports), and give the job's secret: set JCCL_RENDEZVOUS as in the job, or write the"
                    + " part of it after the /, or the text of the UniqueId, to a file for --secret-file.",
            ""
        },
        footer = {
            "",
            "Exit status: 0 if no rank holds others up, 1 if nothing could be seen, 2 usage, 4 if ranks are named.",
            "docs/ps.md explains what is printed."
        },
        sortOptions = false)
public final class PsCommand implements Callable<Integer> {

    private static final Pattern ADDRESS = Pattern.compile("(\\[[^\\]]+\\]|[^:\\[\\]]+):([0-9]{1,5})");
    private static final int MAX_PORT = 65_535;
    private static final int MAX_SECRET_BYTES = 4096;
    private static final String CLEAR_SCREEN = "\u001b[H\u001b[2J";

    @Spec
    private CommandSpec spec;

    @Parameters(
            arity = "0..1",
            paramLabel = "TARGET",
            description = "a process id of this host, or HOST:PORT of a process of the job")
    private String target;

    @Option(names = "--job", paramLabel = "ID", description = "only the job or communicator whose name begins with ID")
    private String job = "";

    @Option(
            names = {"-v", "--verbose"},
            description = "print a line for each rank, and for each channel that waits")
    private boolean verbose;

    @Option(names = "--json", description = "print JSON, as docs/schema/ps.schema.json describes it")
    private boolean json;

    @Option(
            names = "--watch",
            arity = "0..1",
            fallbackValue = "2",
            paramLabel = "SECONDS",
            description = "look again every SECONDS (default: ${FALLBACK-VALUE})")
    private Double watchSeconds;

    @Option(
            names = "--dump",
            paramLabel = "DIR",
            description = "let every rank write its last operations to DIR on its own host; jccl trace compares them")
    private Path dumpFolder;

    @Option(names = "--secret-file", paramLabel = "FILE", description = "the file with the job's secret, for HOST:PORT")
    private Path secretFile;

    /** Called by picocli. */
    public PsCommand() {
        // picocli sets the fields with options
    }

    @Override
    public Integer call() throws InterruptedException {
        if (watchSeconds != null && !(watchSeconds >= 0.1 && watchSeconds <= 86_400)) {
            throw new ParameterException(
                    spec.commandLine(), "watch=" + watchSeconds + ": expected 0.1 to 86400 seconds");
        }
        try (Attached attached = attach()) {
            int status = look(attached);
            while (watchSeconds != null && !System.out.checkError()) { // until the reader of the output has ended
                Thread.sleep((long) (watchSeconds * 1000));
                status = look(attached);
            }
            return status;
        } catch (IOException e) {
            System.err.println("jccl ps: " + Causes.describe(e));
            return ExitCode.FAILURE;
        }
    }

    private int look(Attached attached) throws IOException, InterruptedException {
        Look look = Look.at(attached, job);
        List<Diagnosis> all = look.communicators();
        List<ProcessSnapshot> processes = List.copyOf(look.processes());
        boolean nothing = all.isEmpty() && processes.isEmpty();
        List<String> dumps = dumpFolder == null ? List.of() : dump(attached, all);
        if (json) {
            System.out.println(Json.pretty(out -> PsJson.write(out, all, processes, dumps, attached.notes())));
        } else if (!nothing) {
            boolean terminal = Terminal.isTerminal(Terminal.Stream.OUT);
            System.out.print((watchSeconds != null && terminal ? CLEAR_SCREEN : "")
                    + PsText.of(all, processes, attached.notes(), verbose, Terminal.colours(Terminal.Stream.OUT)));
            dumps.forEach(dump -> System.out.println("dump: " + dump));
            if (watchSeconds != null && !terminal) {
                System.out.println();
            }
        }
        System.out.flush();
        if (nothing) {
            if (!json) {
                attached.notes().forEach(note -> System.err.println("jccl ps: " + note));
            }
            System.err.println("jccl ps: "
                    + (job.isEmpty()
                            ? "no job of this user runs here"
                            : "job=" + job
                                    + ": no job or communicator here has such a name; jccl ps lists those that are"));
            return ExitCode.FAILURE;
        }
        return all.stream().allMatch(one -> one.findings().isEmpty()) ? ExitCode.SUCCESS : ExitCode.HELD_UP;
    }

    /**
     * Makes all ranks of the communicators shown write their files; returns the path of each file, or why there is
     * none.
     */
    private List<String> dump(Attached attached, List<Diagnosis> all) throws IOException {
        String folder = dumpFolder.toAbsolutePath().normalize().toString();
        SortedSet<String> dumps = new TreeSet<>();
        for (Diagnosis one : all) {
            Request request = new Request(Request.Kind.JOB, one.sample().id(), 0, folder);
            for (Answer answer : one.sample().id().isEmpty() ? List.<Answer>of() : attached.ask(request)) {
                for (ProcessSnapshot process : answer.processes()) {
                    process.dumps().forEach(dump -> dumps.add(process.hostName() + ": " + dump));
                }
            }
        }
        return List.copyOf(dumps);
    }

    private Attached attach() throws IOException {
        Settings settings = Settings.load(CommunicatorConfig.defaults());
        if (target == null) {
            return new Attached.Local(StatusDirectory.of(settings), Optional.empty(), job);
        }
        if (target.matches("[1-9][0-9]{0,9}")) {
            long pid = Long.parseLong(target);
            return new Attached.Local(directoryOf(settings, pid), Optional.of(pid), job);
        }
        Matcher address = ADDRESS.matcher(target);
        if (!address.matches() || Integer.parseInt(address.group(2)) > MAX_PORT) {
            throw new ParameterException(
                    spec.commandLine(), "target=\"" + target + "\": expected a process id or HOST:PORT");
        }
        String host = address.group(1).replaceAll("[\\[\\]]", "");
        InetSocketAddress socket = new InetSocketAddress(host, Integer.parseInt(address.group(2)));
        if (socket.isUnresolved()) {
            throw new IOException("host=" + host + ": no address is known for this name");
        }
        return new Attached.Remote(socket, key(settings));
    }

    private static StatusDirectory directoryOf(Settings settings, long pid) throws IOException {
        try {
            return StatusDirectory.ofProcess(settings, pid);
        } catch (NoSuchFileException e) {
            return StatusDirectory.of(settings); // there is no such process: Attached.Local reports it
        }
    }

    private JobIdentity.Key key(Settings settings) throws IOException {
        String secret;
        if (secretFile != null) {
            if (Files.size(secretFile) > MAX_SECRET_BYTES) {
                throw new IOException("secret-file=" + secretFile + ": too long for a secret");
            }
            secret = Files.readString(secretFile).strip();
        } else {
            String rendezvous = settings.get(LaunchSettings.RENDEZVOUS).orElse("");
            int slash = rendezvous.indexOf('/');
            secret = rendezvous.startsWith("file:") || slash < 0 ? "" : rendezvous.substring(slash + 1);
        }
        if (secret.isEmpty()) {
            throw new ParameterException(
                    spec.commandLine(),
                    "target=" + target + ": a process of another host answers only to the job's secret; write the part"
                            + " of JCCL_RENDEZVOUS after the /, or the UniqueId's text, to a file and name it"
                            + " with --secret-file, or set JCCL_RENDEZVOUS as in the job");
        }
        return JobIdentity.ofSecret(secret).key().orElseThrow();
    }
}
