package io.jccl.launch;

import io.jccl.BootstrapException;
import io.jccl.device.UserId;
import io.jccl.internal.Secrets;
import io.jccl.rendezvous.HostLookup;
import io.jccl.rendezvous.HostPort;
import io.jccl.wire.Handshake;
import io.jccl.wire.Limits;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads the variables of a launcher from the environment of this process. The first launcher whose variables are
 * complete wins, in this order:
 *
 * <ol>
 *   <li>JCCL's own: {@code JCCL_RANK}, {@code JCCL_SIZE}, {@code JCCL_RENDEZVOUS}, optionally {@code JCCL_LOCAL_RANK}
 *   <li>an Indexed Job of Kubernetes: {@code JOB_COMPLETION_INDEX} instead of {@code JCCL_RANK}
 *   <li>torchrun: {@code RANK}, {@code WORLD_SIZE}, {@code MASTER_ADDR}, {@code MASTER_PORT}, {@code LOCAL_RANK}
 *   <li>Kubeflow Trainer, which starts a process on each node: {@code PET_NODE_RANK}, {@code PET_NNODES}, {@code
 *       PET_MASTER_ADDR}, {@code PET_MASTER_PORT}
 *   <li>Open MPI: {@code OMPI_COMM_WORLD_RANK}, {@code _SIZE}, {@code _LOCAL_RANK}, {@code _LOCAL_SIZE}
 *   <li>PMI, as with MPICH: {@code PMI_RANK}, {@code PMI_SIZE}, {@code MPI_LOCALRANKID}, {@code MPI_LOCALNRANKS}
 *   <li>Slurm: {@code SLURM_PROCID}, {@code SLURM_NTASKS}, {@code SLURM_LOCALID}, {@code SLURM_JOB_ID}, ...,
 *       inside a step that {@code srun} started: the shell of an allocation or of a batch script is no rank
 * </ol>
 *
 * <p>{@code JCCL_RENDEZVOUS} overrides the place where the ranks of any launcher meet. Its value is {@code host:port}
 * or {@code [v6-address]:port}, each optionally followed by {@code /secret}, or {@code file:/path} of a file that all
 * ranks share. Without a secret the key is derived from the launcher's variables, which others on the network may
 * guess; a warning says so. Only variables that are equal on all ranks become part of a key or of the name of a file.
 * All methods depend on the environment that is passed in; the path of a file also depends on the user and on
 * {@code /tmp}.
 */
public final class LauncherEnvironment {

    private static final Logger LOG = LoggerFactory.getLogger(LauncherEnvironment.class);
    private static final String RENDEZVOUS = "JCCL_RENDEZVOUS";
    static final String KUBERNETES = "kubernetes";
    static final String SLURM = "slurm";
    private static final String TORCHRUN = "torchrun";
    private static final String KUBEFLOW = "kubeflow";
    /**
     * The prefix of a {@code JCCL_RENDEZVOUS} value that a command derives from a launcher's variables and passes to
     * its ranks.
     */
    private static final String MADE = "made-from-the-launcher:";

    private static final int FIRST_JOB_PORT = 20_000;
    private static final int JOB_PORTS = 10_000;

    private final Map<String, String> environment;
    private final SlurmJob slurm;

    private LauncherEnvironment(Map<String, String> environment) {
        this.environment = environment;
        this.slurm = new SlurmJob(this::get);
    }

    /** The variables of one launcher. An empty name stands for a variable that the launcher does not set. */
    record Dialect(String name, String rank, String size, String localRank, String localSize) {

        /**
         * Returns true if the launcher is recognised only when its variables for rank and size are both set, because
         * one of the two has other uses.
         */
        boolean needsRankAndSize() {
            return name.equals(KUBERNETES) || name.equals(KUBEFLOW);
        }
    }

    private static final List<Dialect> DIALECTS = List.of(
            new Dialect("jccl", "JCCL_RANK", "JCCL_SIZE", "JCCL_LOCAL_RANK", "JCCL_LOCAL_SIZE"),
            new Dialect(KUBERNETES, "JOB_COMPLETION_INDEX", "JCCL_SIZE", "JCCL_LOCAL_RANK", "JCCL_LOCAL_SIZE"),
            new Dialect(TORCHRUN, "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"),
            new Dialect(KUBEFLOW, "PET_NODE_RANK", "PET_NNODES", "", ""),
            new Dialect(
                    "openmpi",
                    "OMPI_COMM_WORLD_RANK",
                    "OMPI_COMM_WORLD_SIZE",
                    "OMPI_COMM_WORLD_LOCAL_RANK",
                    "OMPI_COMM_WORLD_LOCAL_SIZE"),
            new Dialect("pmi", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
            new Dialect(SLURM, "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE"));

    /**
     * Returns the launch that the environment describes.
     *
     * @param environment the variables, as {@link System#getenv()}
     * @throws BootstrapException if no launcher's variables are complete; says what is missing
     * @throws IllegalArgumentException if a variable has an invalid value; quotes it
     */
    public static Launch detect(Map<String, String> environment) {
        return find(environment)
                .orElseThrow(
                        () -> new BootstrapException("no launcher's environment was found: set JCCL_RANK, JCCL_SIZE and"
                                + " JCCL_RENDEZVOUS=host:port, or start with jccl run, torchrun, mpirun or srun"));
    }

    /**
     * Returns the launch that the environment describes, if there is one.
     *
     * @param environment the variables, as {@link System#getenv()}
     * @return empty if no launcher's variables are set
     * @throws BootstrapException if some variables are set, but no launcher's are complete; says what is missing
     * @throws IllegalArgumentException if a variable has an invalid value; quotes it
     */
    public static Optional<Launch> find(Map<String, String> environment) {
        LauncherEnvironment reader = new LauncherEnvironment(environment);
        List<String> incomplete = new ArrayList<>();
        for (Dialect dialect : DIALECTS) {
            Optional<Launch> launch = reader.read(dialect, incomplete);
            if (launch.isPresent()) {
                LOG.info("launched by {}: {}", dialect.name(), launch.get());
                return launch;
            }
        }
        if (!incomplete.isEmpty()) {
            throw new BootstrapException("the launcher's environment is incomplete: " + String.join("; ", incomplete));
        }
        return Optional.empty();
    }

    /**
     * Checks that no variable indicates other ranks, after {@link #find} has found no launcher. A process that was
     * started by hand is the only rank of its job. A process whose environment lost some of a launcher's variables must
     * not become the only rank of a job.
     *
     * @param environment the variables, as {@link System#getenv()}
     * @throws BootstrapException if a variable indicates other ranks; names the variable
     */
    public static void requireNone(Map<String, String> environment) {
        LauncherEnvironment reader = new LauncherEnvironment(environment);
        List<String> found = DIALECTS.stream()
                .filter(dialect -> !dialect.name().equals(SLURM)) // a shell of an allocation has Slurm's variables, too
                .flatMap(dialect -> Stream.of(dialect.rank(), dialect.localRank(), dialect.localSize()))
                .filter(name -> reader.get(name).isPresent())
                .distinct()
                .collect(Collectors.toCollection(ArrayList::new));
        reader.get(RENDEZVOUS).ifPresent(value -> found.add(RENDEZVOUS));
        if (!found.isEmpty()) {
            throw new BootstrapException("the launcher's environment is incomplete: " + String.join(", ", found)
                    + " is set, but neither JCCL_RANK and JCCL_SIZE nor what another launcher sets in their place: set"
                    + " both, or unset " + String.join(", ", found) + " for a job of this process alone");
        }
    }

    private Optional<String> get(String name) {
        String value = environment.get(name);
        return value == null || value.isBlank() ? Optional.empty() : Optional.of(value.trim());
    }

    private Optional<Launch> read(Dialect dialect, List<String> incomplete) {
        boolean hasRank = get(dialect.rank()).isPresent();
        boolean hasSize = get(dialect.size()).isPresent();
        // One variable alone may have another use: pods of any Indexed Job have the index, JCCL_SIZE also belongs to
        // JCCL's own launcher, and torchrun reads PET_NNODES as an option.
        boolean anything = dialect.needsRankAndSize() ? hasRank && hasSize : hasRank || hasSize;
        if (!anything || dialect.name().equals(SLURM) && !slurm.insideStep()) {
            return Optional.empty();
        }
        List<String> missing = new ArrayList<>();
        for (String name : List.of(dialect.rank(), dialect.size())) {
            if (get(name).isEmpty()) {
                missing.add(name);
            }
        }
        Optional<Launch.Rendezvous> rendezvous = rendezvous(dialect, missing);
        if (!missing.isEmpty()) {
            incomplete.add(dialect.name() + " lacks " + String.join(", ", missing));
            return Optional.empty();
        }
        int size = number(dialect.size(), 1, Limits.MAX_RANKS);
        int rank = number(dialect.rank(), 0, size - 1);
        OptionalInt localRank = get(dialect.localRank()).isPresent()
                ? OptionalInt.of(number(dialect.localRank(), 0, size - 1))
                : OptionalInt.empty();
        return Optional.of(new Launch(dialect.name(), rank, size, localRank, rendezvous.orElseThrow()));
    }

    /** Returns the variables of every launcher, in order of precedence. */
    static List<Dialect> dialects() {
        return DIALECTS;
    }

    /**
     * Returns true if {@code srun} started this process or one of its ancestors, so that Slurm's variables give its
     * place among others.
     */
    static boolean isInsideSlurmStep(Map<String, String> environment) {
        return new LauncherEnvironment(environment).slurm.insideStep();
    }

    private int number(String name, int min, int max) {
        String value = environment.get(name).trim();
        try {
            int number = Integer.parseInt(value);
            if (number >= min && number <= max) {
                return number;
            }
        } catch (NumberFormatException e) {
            LOG.trace("not a number", e);
        }
        throw new IllegalArgumentException(name + "=\"" + value + "\": expected a number from " + min + " to " + max);
    }

    private Optional<Launch.Rendezvous> rendezvous(Dialect dialect, List<String> missing) {
        Optional<String> explicit = get(RENDEZVOUS);
        if (explicit.isPresent()) {
            return Optional.of(parseRendezvous(explicit.get()));
        }
        return switch (dialect.name()) {
            case TORCHRUN, KUBEFLOW -> torchrun(dialect, missing);
            case SLURM -> slurmStep(missing);
            case "openmpi" -> mpi(
                    dialect, missing, Optional.empty(), List.of("PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"));
            case "pmi" -> mpi(
                    dialect, missing, Optional.of("PMI_PORT"), List.of("PMI_JOBID", "HYDRA_JOBID", "I_MPI_HYDRA_UUID"));
            default -> {
                missing.add(RENDEZVOUS + " (host:port of rank 0, or file:/path on a shared file system)");
                yield Optional.empty();
            }
        };
    }

    /**
     * Returns the rendezvous of torchrun or Kubeflow Trainer. If torchrun's agent hosts PyTorch's store, the agent
     * listens on {@code MASTER_PORT}, so JCCL uses the next port. Every agent counts restarts by itself and may spell
     * the host differently; on the first host of a PyTorchJob the host is {@code localhost}. So neither the restarts
     * nor the host are part of the key, and rank 0 accepts connections from all hosts unless all ranks are known to be
     * on this host. Kubeflow Trainer sets the same variables under the names of torchrun's options, without an agent.
     */
    private Optional<Launch.Rendezvous> torchrun(Dialect dialect, List<String> missing) {
        String prefix = dialect.name().equals(KUBEFLOW) ? "PET_" : "";
        String address = prefix + "MASTER_ADDR";
        String masterPort = prefix + "MASTER_PORT";
        int before = missing.size();
        for (String name : List.of(address, masterPort)) {
            if (get(name).isEmpty()) {
                missing.add(name);
            }
        }
        if (missing.size() > before) {
            return Optional.empty();
        }
        boolean agentListens = get("TORCHELASTIC_USE_AGENT_STORE")
                .map("true"::equalsIgnoreCase)
                .orElse(false);
        int port = number(masterPort, 1, 65534) + (agentListens ? 1 : 0);
        String host = get(address).orElseThrow();
        Launch.Secret job = new Launch.Secret(
                dialect.name() + " " + get("TORCHELASTIC_RUN_ID").orElse("") + " " + port);
        Optional<String> localSize = get(dialect.localSize());
        boolean onlyHere =
                localSize.isPresent() ? localSize.equals(get(dialect.size())) : !HostLookup.isLocalhost(host);
        return Optional.of(new Launch.Address(
                List.of(host), port, job, true, onlyHere ? HostLookup.loopback(host) : Optional.empty()));
    }

    private Optional<Launch.Rendezvous> slurmStep(List<String> missing) {
        return inSlurmJob(slurm.step().orElse("0"), slurm.stepNodes(), missing);
    }

    /**
     * Returns a rendezvous on a host of the Slurm job. Ranks see the hosts of the job and of the step in different
     * spellings and orders, so the hosts are no part of the key.
     *
     * @param name a name of the launch that is the same on all ranks and differs from other launches of the job
     */
    private Optional<Launch.Rendezvous> inSlurmJob(String name, List<String> hosts, List<String> missing) {
        Optional<String> job = slurm.id();
        if (job.isEmpty()) {
            missing.add("SLURM_JOB_ID");
        }
        if (hosts.isEmpty()) {
            missing.add("SLURM_JOB_NODELIST");
        }
        if (job.isEmpty() || hosts.isEmpty()) {
            return Optional.empty();
        }
        String launch = job.get() + "." + name;
        int port = FIRST_JOB_PORT + Math.floorMod(launch.hashCode(), JOB_PORTS);
        return Optional.of(new Launch.Address(
                hosts, port, new Launch.Secret("slurm " + launch), true, HostLookup.loopback(hosts.get(0))));
    }

    /**
     * Returns the rendezvous of an MPI launcher, which sets no address. If all ranks are on one host and a variable
     * names the job, they meet by a file that is named after the job. In a Slurm job of several hosts, rank 0 is on one
     * of the job's hosts.
     *
     * @param ofHost a variable that names the job to the ranks of one host only
     * @param ofJob variables that name the job to all ranks
     */
    private Optional<Launch.Rendezvous> mpi(
            Dialect dialect, List<String> missing, Optional<String> ofHost, List<String> ofJob) {
        Optional<String> job = named(ofJob);
        Optional<String> file = job.isPresent() ? job : named(ofHost.stream().toList());
        boolean allHere =
                get(dialect.size()).isPresent() && get(dialect.localSize()).equals(get(dialect.size()));
        if (allHere && file.isPresent()) {
            return Optional.of(file(file.get()));
        }
        String launch = dialect.name() + " " + get(dialect.size()).orElse("") + " " + job.orElse("");
        List<String> hosts = allHere ? List.of(HostLookup.LOCALHOST) : slurm.jobNodes();
        Optional<Launch.Rendezvous> allocation = inSlurmJob(launch, hosts, new ArrayList<>());
        if (allocation.isPresent()) {
            return allocation;
        }
        missing.add(RENDEZVOUS + " (host:port of rank 0; " + dialect.name()
                + " sets no address, which is optional only when all ranks are on one host and one of "
                + String.join(
                        ", ", Stream.concat(ofJob.stream(), ofHost.stream()).toList()) + " names the job)");
        return Optional.empty();
    }

    /** Returns {@code name=value} of the first variable that is set. */
    private Optional<String> named(List<String> names) {
        return names.stream()
                .filter(name -> get(name).isPresent())
                .map(name -> name + "=" + get(name).orElseThrow())
                .findFirst();
    }

    /**
     * Returns a file of this host that is named after the job. Its directory is {@code /tmp}. If {@code /tmp} is not
     * writable, the directory comes from a variable such as {@code TMPDIR}, whose value may differ between ranks.
     */
    private Launch.Rendezvous file(String job) {
        Path directory = Path.of("/tmp");
        if (!Files.isWritable(directory)) {
            directory = Path.of(get("XDG_RUNTIME_DIR").or(() -> get("TMPDIR")).orElse("/dev/shm"));
        }
        byte[] name = Handshake.derive((job + " " + user()).getBytes(StandardCharsets.UTF_8), "file name");
        return new Launch.SharedFile(directory.resolve("jccl-" + HexFormat.of().formatHex(name)));
    }

    private static String user() {
        try {
            return Long.toString(UserId.ofThisProcess());
        } catch (IOException e) {
            return ""; // the owner of the file is checked anyway
        }
    }

    /**
     * Parses {@code JCCL_RENDEZVOUS}.
     *
     * @throws IllegalArgumentException if the text is invalid; quotes it without its secret
     */
    static Launch.Rendezvous parseRendezvous(String text) {
        if (text.startsWith("file:")) {
            String path = text.substring((text.startsWith("file:///") ? "file://" : "file:").length());
            if (!path.startsWith("/")) {
                throw badRendezvous(text, "a file needs an absolute path");
            }
            return new Launch.SharedFile(Path.of(path));
        }
        if (text.startsWith(MADE)) {
            return made(text.substring(MADE.length()));
        }
        int slash = text.indexOf('/');
        String address = slash < 0 ? text : text.substring(0, slash);
        String secret = slash < 0 ? "" : text.substring(slash + 1);
        if (slash >= 0 && secret.isEmpty()) {
            throw badRendezvous(address, "the secret behind / is empty");
        }
        HostPort place = HostPort.parse(address, why -> badRendezvous(address, why));
        boolean guessable = secret.isEmpty();
        // The host is no part of the key, because ranks may write it as a name, with its domain, or as an address.
        Launch.Secret key = new Launch.Secret(guessable ? "jccl " + place.port() : secret);
        return new Launch.Address(place.host(), place.port(), key, guessable);
    }

    /**
     * Returns a rendezvous in the syntax of {@code JCCL_RENDEZVOUS}, from which {@link #parseRendezvous} reads an equal
     * one.
     */
    static String text(Launch.Rendezvous rendezvous) {
        if (rendezvous instanceof Launch.SharedFile file) {
            return "file:" + file.path().toAbsolutePath();
        }
        Launch.Address address = (Launch.Address) rendezvous;
        if (!address.guessable()) {
            return withPort(address.host(), address.port()) + "/"
                    + address.secret().text();
        }
        String hosts = address.hosts().stream()
                .map(host -> withPort(host, address.port()))
                .collect(Collectors.joining(","));
        return MADE + (address.onlyLoopback().isPresent() ? "loopback," : "") + hosts + "/"
                + address.secret().text();
    }

    private static String withPort(String host, int port) {
        return (host.contains(":") ? "[" + host + "]" : host) + ":" + port;
    }

    /** Reads the part that {@link #text} wrote after {@link #MADE}. */
    private static Launch.Address made(String text) {
        int slash = text.indexOf('/');
        List<String> places =
                new ArrayList<>(List.of(text.substring(0, Math.max(slash, 0)).split(",")));
        boolean onlyLoopback = places.remove("loopback");
        List<HostPort> hosts = places.stream()
                .map(place -> HostPort.parse(place, why -> badRendezvous(MADE + text, why)))
                .toList();
        return new Launch.Address(
                hosts.stream().map(HostPort::host).toList(),
                hosts.get(0).port(),
                new Launch.Secret(text.substring(slash + 1)),
                true,
                onlyLoopback ? HostLookup.loopback(hosts.get(0).host()) : Optional.empty());
    }

    /**
     * Returns the secret of the launch, for a process that joins.
     *
     * @param environment the variables, as {@link System#getenv()}
     * @throws BootstrapException if there is no secret
     * @throws IllegalArgumentException if a variable has an invalid value; quotes it
     */
    public static Launch.Secret secret(Map<String, String> environment) {
        return address(environment).secret();
    }

    /** Like {@link #secret}, with the address to which the secret belongs. */
    public static Launch.Address address(Map<String, String> environment) {
        Optional<Launch.Rendezvous> explicit =
                new LauncherEnvironment(environment).get(RENDEZVOUS).map(LauncherEnvironment::parseRendezvous);
        Optional<Launch.Rendezvous> rendezvous =
                explicit.isPresent() ? explicit : find(environment).map(Launch::rendezvous);
        if (rendezvous.isPresent() && rendezvous.get() instanceof Launch.Address address) {
            return address;
        }
        throw new BootstrapException("JCCL_JOIN names addresses, and " + RENDEZVOUS
                + (rendezvous.isPresent() ? " is a file, which has no secret for them" : " is not set")
                + ": set " + RENDEZVOUS
                + "=HOST:PORT/SECRET as for the ranks of the job, or JCCL_JOIN=file:/DIRECTORY");
    }

    private static IllegalArgumentException badRendezvous(String text, String why) {
        return new IllegalArgumentException(RENDEZVOUS + "=\"" + Secrets.hidden(text) + "\": " + why
                + "; expected host:port, [v6-address]:port, either with /secret, or file:/path");
    }
}
