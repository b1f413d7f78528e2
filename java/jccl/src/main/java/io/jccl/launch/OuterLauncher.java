package io.jccl.launch;

import io.jccl.BootstrapException;
import io.jccl.config.LaunchSettings;
import io.jccl.internal.Secrets;
import io.jccl.wire.Limits;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * The launcher that started a command which in turn starts ranks. If that launcher started several such commands, a
 * command may start a job of its own only if it is asked to. Otherwise there would be as many jobs as commands, each
 * with ranks from 0 on.
 *
 * @param launch the place of this command among the commands that the launcher has started
 * @param localSize the number of these commands on this host, if known
 * @param rendezvous the place where their ranks meet, in the syntax of {@code JCCL_RENDEZVOUS}
 */
public record OuterLauncher(Launch launch, OptionalInt localSize, String rendezvous) {

    private static final String RENDEZVOUS = LaunchSettings.RENDEZVOUS.name();
    private static final String PMIX_RANK = "PMIX_RANK"; // PMIx has no variable for the number of processes
    private static final String STEP_TASKS = "SLURM_STEP_NUM_TASKS";
    private static final List<String> PLACES_OF_RANKS = List.of(
            LaunchSettings.RANK.name(),
            LaunchSettings.SIZE.name(),
            LaunchSettings.LOCAL_RANK.name(),
            LaunchSettings.LOCAL_SIZE.name(),
            LaunchSettings.MEMBER_FILE.name(),
            RENDEZVOUS);

    /** The rank, size and local rank of one rank in a job whose ranks are started by several commands like this one. */
    public record Place(int rank, int size, int localRank, OptionalInt localSize) {}

    /**
     * Reads the environment of a command that starts some of a job's ranks.
     *
     * @param environment the variables, as {@link System#getenv()}
     * @throws BootstrapException if no launcher's variables are complete; says what is missing
     * @throws IllegalArgumentException if a variable has an invalid value; quotes it
     */
    public static OuterLauncher detect(Map<String, String> environment) {
        Launch launch = LauncherEnvironment.detect(environment);
        OptionalInt localSize = LauncherEnvironment.dialects().stream()
                .filter(dialect -> dialect.name().equals(launch.launcher()))
                .map(dialect -> environment.getOrDefault(dialect.localSize(), ""))
                .filter(text -> text.matches("[1-9][0-9]{0,8}"))
                .mapToInt(Integer::parseInt)
                .findFirst();
        return new OuterLauncher(launch, localSize, LauncherEnvironment.text(launch.rendezvous()));
    }

    /**
     * Returns the variables which show that a launcher started several commands, or which leave open whether it started
     * only one.
     *
     * @param environment the variables, as {@link System#getenv()}
     * @return {@code NAME=value}, without secrets; empty if a command that starts ranks may start a job of its own
     */
    public static List<String> ofSeveral(Map<String, String> environment) {
        List<String> several = new ArrayList<>();
        for (LauncherEnvironment.Dialect dialect : LauncherEnvironment.dialects()) {
            if (mayBeSeveral(dialect, environment)) {
                several.addAll(present(environment, dialect.rank(), dialect.size()));
            } else if (several.isEmpty() && isOne(dialect, environment)) {
                return List.of(); // the innermost launcher started only this command
            }
        }
        if (several.isEmpty()) {
            several.addAll(present(environment, PMIX_RANK));
        }
        boolean meets = several.isEmpty()
                || several.get(0).startsWith("JCCL_")
                || several.get(0).startsWith("JOB_");
        if (meets) {
            several.addAll(present(environment, RENDEZVOUS));
        }
        return several.stream().distinct().toList();
    }

    private static boolean mayBeSeveral(LauncherEnvironment.Dialect dialect, Map<String, String> environment) {
        boolean hasRank = get(environment, dialect.rank()).isPresent();
        return size(dialect, environment)
                .map(size -> !size.equals("1") && (hasRank || !dialect.needsRankAndSize()))
                // a rank variable such as RANK may belong to any program if no size is set
                .orElse(hasRank && dialect.name().equals("jccl"));
    }

    private static boolean isOne(LauncherEnvironment.Dialect dialect, Map<String, String> environment) {
        return get(environment, dialect.rank()).isPresent()
                && size(dialect, environment).equals(Optional.of("1"));
    }

    /** Returns the number of processes that a launcher says it has started. */
    private static Optional<String> size(LauncherEnvironment.Dialect dialect, Map<String, String> environment) {
        Optional<String> size = get(environment, dialect.size());
        if (!dialect.name().equals(LauncherEnvironment.SLURM)) {
            return size;
        }
        // Inside a step, SLURM_NTASKS may be the number of tasks of the whole allocation: a shell that srun
        // --preserve-env starts keeps it.
        return LauncherEnvironment.isInsideSlurmStep(environment)
                ? get(environment, STEP_TASKS).or(() -> size)
                : Optional.empty();
    }

    private static Optional<String> get(Map<String, String> environment, String name) {
        String value = environment.getOrDefault(name, "").trim();
        return value.isEmpty() ? Optional.empty() : Optional.of(value);
    }

    private static List<String> present(Map<String, String> environment, String... names) {
        List<String> variables = new ArrayList<>();
        for (String name : names) {
            get(environment, name)
                    .map(value -> name.equals(RENDEZVOUS) ? Secrets.hidden(value) : value)
                    .ifPresent(value -> variables.add(name + "=" + value));
        }
        return variables;
    }

    /**
     * Removes the variables that place a process in the launcher's job. The ranks that a command starts have places of
     * their own, and other libraries in their programs would mistake the launcher's variables for those places.
     *
     * @param environment the variables, which this method changes
     */
    public static void clear(Map<String, String> environment) {
        boolean insideStep = LauncherEnvironment.isInsideSlurmStep(environment);
        for (LauncherEnvironment.Dialect dialect : LauncherEnvironment.dialects()) {
            if (!dialect.name().equals(LauncherEnvironment.SLURM)
                    || insideStep) { // outside a step, an srun in the program needs Slurm's variables
                environment.remove(dialect.rank());
                environment.remove(dialect.size());
                environment.remove(dialect.localRank());
                environment.remove(dialect.localSize());
            }
        }
        environment.remove(PMIX_RANK);
        if (environment.containsKey(LaunchSettings.MEMBER_FILE.name())) {
            // JCCL_JOIN is meant for a command that was started again, not for the ranks that the command starts
            environment.remove(LaunchSettings.JOIN.name());
        }
        PLACES_OF_RANKS.forEach(environment::remove);
    }

    /**
     * Returns the place of one of the ranks that this command starts. All commands of the launcher start the same
     * number of ranks.
     *
     * @param index the index of the rank among those of this command
     * @param ranks the number of ranks that this command starts
     * @throws IllegalArgumentException if the job has more ranks than a job can have
     */
    public Place place(int index, int ranks) {
        long size = (long) launch.size() * ranks;
        if (size > Limits.MAX_RANKS) {
            throw new IllegalArgumentException("ranks=" + ranks + " of each of " + launch.size()
                    + " commands: expected at most " + Limits.MAX_RANKS + " ranks together");
        }
        OptionalInt commands = launch.localRank().isPresent() ? localSize : OptionalInt.of(1);
        return new Place(
                launch.rank() * ranks + index,
                (int) size,
                launch.localRank().orElse(0) * ranks + index,
                commands.isPresent() ? OptionalInt.of(commands.getAsInt() * ranks) : commands);
    }
}
