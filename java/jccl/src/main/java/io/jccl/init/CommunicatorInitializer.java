package io.jccl.init;

import io.jccl.BootstrapException;
import io.jccl.CommunicatorConfig;
import io.jccl.InterruptedCommunicationException;
import io.jccl.PeerFailedException;
import io.jccl.UniqueId;
import io.jccl.config.EnvironmentVariables;
import io.jccl.config.LaunchSettings;
import io.jccl.config.LoggedOnce;
import io.jccl.config.Settings;
import io.jccl.control.ReportKind;
import io.jccl.launch.Launch;
import io.jccl.launch.LauncherEnvironment;
import io.jccl.membership.Bootstrap;
import io.jccl.membership.JobMembers;
import io.jccl.membership.Subgroup;
import io.jccl.rendezvous.BootstrapOptions;
import io.jccl.status.CommunicatorStatus;
import io.jccl.status.JobIdentity;
import io.jccl.status.JoinStatus;
import io.jccl.status.ProcessStatus;
import io.jccl.tuning.HostCosts;
import java.time.Duration;
import java.util.Collection;
import java.util.Optional;
import java.util.SortedSet;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Initialises communicators on one rank. The ranks meet by a unique id, by their launcher's job, by joining a running
 * job, or as ranks of another communicator. Each of these ways results in a membership, from which
 * {@link Initialization} carries out the remaining steps.
 */
public final class CommunicatorInitializer {

    private static final Logger LOG = LoggerFactory.getLogger(CommunicatorInitializer.class);

    private CommunicatorInitializer() {}

    /** Starts a rendezvous server in this process; see {@link UniqueId#create(CommunicatorConfig)}. */
    public static UniqueId openRendezvous(CommunicatorConfig config) {
        return Bootstrap.createId(InitSettings.bootstrap(Settings.load(config)));
    }

    /** Initialises the communicator of a unique id; see {@link io.jccl.Communicator#init}. */
    public static InitializedCommunicator initialize(UniqueId id, int rank, int size, CommunicatorConfig config) {
        Settings settings = InitSettings.load(config);
        InitSettings.requireRandom(settings, id);
        HostCosts costs = HostCosts.of(settings);
        BootstrapOptions options = InitSettings.bootstrap(settings);
        Timeline timeline = new Timeline("init", System::nanoTime);
        CommunicatorStatus status = ProcessStatus.begin(JobIdentity.of(id), rank, size, settings, options);
        return initialize(config, settings, costs, status, timeline, () -> Bootstrap.join(id, rank, size, options));
    }

    /**
     * Initialises the communicator of the launcher's job; see {@link io.jccl.Communicator#fromEnvironment}.
     *
     * @param generation how many communicators this process has initialised by this method before
     */
    public static InitializedCommunicator fromEnvironment(int generation, CommunicatorConfig config) {
        Settings settings = InitSettings.load(config);
        Optional<String> members = settings.get(LaunchSettings.JOIN);
        if (members.isPresent()) {
            if (!members.get().startsWith("file:")) {
                InitSettings.requireSecret(settings, LauncherEnvironment.address(EnvironmentVariables.all()));
            }
            return join(JobMembers.parse(members.get(), EnvironmentVariables.all()), config, settings);
        }
        Optional<Launch> found = LauncherEnvironment.find(EnvironmentVariables.all());
        if (found.isEmpty()) {
            LauncherEnvironment.requireNone(EnvironmentVariables.all());
            LoggedOnce.warn(
                    CommunicatorInitializer.class,
                    "this process is the only rank of its job, because no launcher started it; for N ranks: jccl run -n N --"
                            + " COMMAND, or torchrun, mpirun or srun");
            return initialize(openRendezvous(config), 0, 1, config);
        }
        Launch launch = found.get();
        if (launch.rendezvous() instanceof Launch.Address address) {
            InitSettings.requireSecret(settings, address);
        }
        HostCosts costs = HostCosts.of(settings);
        BootstrapOptions options = InitSettings.bootstrap(settings);
        Timeline timeline = new Timeline("init", System::nanoTime);
        CommunicatorStatus status =
                ProcessStatus.begin(JobIdentity.of(launch), launch.rank(), launch.size(), settings, options);
        return initialize(config, settings, costs, status, timeline, () -> Bootstrap.join(launch, generation, options));
    }

    /**
     * Joins and initialises. The status exists before the rank joins, so that {@code jccl ps} also shows a rank that is
     * still joining.
     */
    private static InitializedCommunicator initialize(
            CommunicatorConfig config,
            Settings settings,
            HostCosts costs,
            CommunicatorStatus status,
            Timeline timeline,
            Supplier<Bootstrap> join) {
        return endUnlessInitialized(
                status, () -> new Initialization(config, settings, costs, join.get(), status, timeline).initialize());
    }

    private static InitializedCommunicator endUnlessInitialized(
            CommunicatorStatus status, Supplier<InitializedCommunicator> initialize) {
        boolean initialized = false;
        try {
            InitializedCommunicator communicator = initialize.get();
            initialized = true;
            return communicator;
        } finally {
            if (!initialized) {
                status.end();
            }
        }
    }

    /** Initialises the communicator of a job that awaits this process; see {@link io.jccl.Communicator#join}. */
    public static InitializedCommunicator join(UniqueId id, Collection<String> members, CommunicatorConfig config) {
        Settings settings = InitSettings.load(config);
        InitSettings.requireRandom(settings, id);
        return join(JobMembers.of(id, members), config, settings);
    }

    /**
     * Joins a job. If a rank fails while the communicator is initialised, the ranks of the job call reform again, so
     * this process asks to join again.
     */
    private static InitializedCommunicator join(JobMembers members, CommunicatorConfig config, Settings settings) {
        HostCosts costs = HostCosts.of(settings);
        BootstrapOptions options = InitSettings.bootstrap(settings);
        int order = settings.get(LaunchSettings.RANK).orElse(Integer.MAX_VALUE);
        long deadline = System.nanoTime() + options.initTimeout().toNanos();
        BootstrapOptions left = options;
        while (true) {
            Timeline timeline = new Timeline("join", System::nanoTime);
            try {
                Bootstrap membership;
                CommunicatorStatus status;
                try (JoinStatus joining = ProcessStatus.join(members, settings, options)) {
                    membership = Bootstrap.join(members, order, left, joining::asked);
                    status = ProcessStatus.begin(
                            JobIdentity.of(membership), membership.rank(), membership.size(), settings, options);
                }
                return initialize(config, settings, costs, status, timeline, () -> membership);
            } catch (PeerFailedException e) {
                long nanos = deadline - System.nanoTime();
                if (nanos <= 0) {
                    throw e;
                }
                left = options.withInitTimeout(Duration.ofNanos(nanos));
                LOG.info(
                        "a rank failed while this process joined; it asks the members={} again: {}",
                        members,
                        e.getMessage());
            }
        }
    }

    /** Initialises a communicator of the parent's ranks with the same color; see {@link io.jccl.Communicator#split}. */
    public static Optional<InitializedCommunicator> split(
            InitializedCommunicator parent, int color, int key, CommunicatorConfig config) {
        Timeline timeline = new Timeline("split", System::nanoTime);
        try (Subgroup group = parent.membership().beginSplit(color, key)) {
            if (color >= 0 && parent.inheritance().isPresent()) {
                return inherit(parent, parent.inheritance().get(), group, config, timeline);
            }
            Settings settings =
                    parent.inheritance().map(Inheritance::settings).orElseGet(() -> InitSettings.load(config));
            return group.join(
                    InitSettings.bootstrap(settings),
                    new byte[0],
                    (membership, ranks, introductions) -> after(parent, config, membership, settings, timeline));
        } catch (InterruptedCommunicationException e) {
            String text = "split(color=" + color + " key=" + key + ") on rank=" + parent.rank()
                    + ": the thread that waits was interrupted";
            parent.membership().control().report(ReportKind.ABORT, 0, text);
            throw e;
        }
    }

    private static Optional<InitializedCommunicator> inherit(
            InitializedCommunicator parent,
            Inheritance inherited,
            Subgroup group,
            CommunicatorConfig config,
            Timeline timeline) {
        Settings settings = inherited.settings();
        try (SplitDraft draft = new SplitDraft(group, inherited, config)) {
            return group.join(
                    InitSettings.bootstrap(settings), draft.introduction(), (membership, ranks, introductions) -> {
                        CommunicatorStatus status = parent.status().child(membership.rank(), membership.size());
                        return endUnlessInitialized(status, () -> new Initialization(
                                        config, settings, parent.facts().costs(), membership, status, timeline)
                                .inherit(inherited, ranks, introductions, draft));
                    });
        }
    }

    /**
     * Initialises a communicator of the parent's remaining ranks and of processes that join; see
     * {@link io.jccl.Communicator#reform}.
     */
    public static InitializedCommunicator reform(
            InitializedCommunicator parent, SortedSet<Integer> excluded, int joiners, boolean needsMajority) {
        return new Reform(parent, excluded, joiners).initialize(needsMajority);
    }

    /**
     * Checks that the other ranks of a communicator do not count this one as failed.
     *
     * @throws BootstrapException if they do
     */
    public static void requireNotLeftOut(InitializedCommunicator communicator) {
        communicator
                .membership()
                .control()
                .agreedFailure()
                .filter(agreed -> agreed.failedRanks().contains(communicator.rank()))
                .ifPresent(agreed -> {
                    throw new BootstrapException("communicator=" + communicator.id() + " rank=" + communicator.rank()
                            + " cannot be shrunk or reformed here: " + agreed.text());
                });
    }

    /** Initialises the communicator of a group that was reformed or split off from the parent's. */
    static InitializedCommunicator after(
            InitializedCommunicator parent,
            CommunicatorConfig config,
            Bootstrap membership,
            Settings settings,
            Timeline timeline) {
        CommunicatorStatus status = parent.status().child(membership.rank(), membership.size());
        return initialize(config, settings, parent.facts().costs(), status, timeline, () -> membership);
    }
}
