package io.jccl.bootstrap;

import io.jccl.BootstrapException;
import io.jccl.CommunicationTimeoutException;
import io.jccl.InterruptedCommunicationException;
import io.jccl.JcclException;
import io.jccl.PeerFailedException;
import io.jccl.UniqueId;
import io.jccl.internal.Causes;
import java.net.InetAddress;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.SortedSet;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One rank's membership in a group: how it joins, and its networks while it is a member.
 *
 * <p>Joining takes two steps. All ranks register at the rendezvous server, which the {@link UniqueId} or the launcher's
 * environment names; it sends them the address of rank 0's coordinator. They connect to the coordinator and keep that
 * connection. Both steps together end by the initialisation time-out: with a {@link CommunicationTimeoutException} that
 * names the ranks that did not come, the same on every rank, or with a {@link BootstrapException} that says why this
 * rank was refused.
 *
 * <p>Threads: the factories block and may be interrupted; everything else is safe for any thread. A member has one
 * daemon thread; rank 0 has one more for the coordinator. {@link #close} ends them and their sockets.
 */
public final class Bootstrap implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(Bootstrap.class);

    private static final int NO_OLD_RANK = -1;
    private static final int NAME_BYTES = 4;

    /** The label of what names a group. */
    static final String SESSION = "session";

    private final int rank;
    private final int size;
    private final byte[] secret;
    private final byte[] jobKey;
    private boolean isPart; // set before anybody else has this
    private final BootstrapOptions options;
    private final CoordinatorConnection client;
    private final CoordinatorServer coordinator;
    private final AtomicBoolean closed = new AtomicBoolean();
    private Succession succession = new Succession(); // replaced before anybody else has this
    private Bootstrap parent; // of a group that was reformed, until it is confirmed; null: none
    private ReservedPort reserved; // null: nobody has asked for it; guarded by this

    Bootstrap(
            int rank,
            int size,
            byte[] secret,
            byte[] jobKey,
            BootstrapOptions options,
            CoordinatorConnection client,
            CoordinatorServer coordinator) {
        this.rank = rank;
        this.size = size;
        this.secret = secret;
        this.jobKey = jobKey;
        this.options = options;
        this.client = client;
        this.coordinator = coordinator;
    }

    /**
     * Starts a rendezvous server in this process and returns the id by which the ranks find it. The server ends by
     * itself when all ranks have met, or when none has come for the initialisation time-out.
     *
     * @throws BootstrapException if no network interface is usable
     */
    public static UniqueId createId(BootstrapOptions options) {
        return RendezvousServer.open(options).id();
    }

    /**
     * Joins the group of an id.
     *
     * @param id the same on all ranks
     * @param rank this rank, from 0 to {@code size - 1}
     * @param size the number of ranks, the same on all ranks
     * @throws BootstrapException if this rank is refused; says why
     * @throws CommunicationTimeoutException if not all ranks came in time; names them
     */
    public static Bootstrap join(UniqueId id, int rank, int size, BootstrapOptions options) {
        return join(id, rank, size, options, null);
    }

    /**
     * Joins as one of many ranks of a process, which share threads and selectors.
     *
     * @param shared has been started, and outlives the group; null for a thread of this rank's own
     */
    static Bootstrap join(UniqueId id, int rank, int size, BootstrapOptions options, Reactor shared) {
        Connector.ServerAddress server = new Connector.ServerAddress(id.addresses(), id.secret());
        RankRegistration.Hello hello =
                new RankRegistration.Hello(options.version(), rank, size, NO_OLD_RANK, "", new byte[0]);
        return Entry.join(
                () -> server, jobKey(id.secret()), hello, false, Connector.IfRefused.SERVER_ENDED, options, shared);
    }

    /**
     * Joins the group that a launcher has started.
     *
     * @param launch what the launcher set, see {@link LauncherEnvironment}
     * @param generation the number of groups that this process has joined by this environment before, the same on all
     *     ranks: it distinguishes them
     * @throws BootstrapException if this rank is refused; says why
     * @throws CommunicationTimeoutException if not all ranks came in time; names them
     */
    public static Bootstrap join(Launch launch, int generation, BootstrapOptions options) {
        try (LaunchRendezvous rendezvous = LaunchRendezvous.of(launch, generation, options)) {
            RankRegistration.Hello hello = new RankRegistration.Hello(
                    options.version(), launch.rank(), launch.size(), NO_OLD_RANK, "", new byte[0]);
            byte[] key = launch.rendezvous() instanceof Launch.Address address
                    ? jobKey(address.secret().key())
                    : null; // made from what the file has
            try {
                return Entry.join(rendezvous, key, hello, true, Connector.IfRefused.NOT_OPEN_YET, options, null);
            } catch (CommunicationTimeoutException e) {
                String why = rendezvous.explanation();
                throw why.isEmpty()
                        ? e
                        : new CommunicationTimeoutException(e.getMessage() + "\n" + why, e.missingRanks(), e);
            } catch (InterruptedCommunicationException e) {
                throw e; // Entry has reported it
            } catch (RuntimeException | Error e) {
                rendezvous.refuse("rank 0 gave up: " + Causes.describe(e));
                throw e;
            }
        }
    }

    /** Joins the group of the remaining ranks; its server may be about to close for an earlier attempt. */
    static Bootstrap join(
            Connector.ServerAddress server, RemainingRanks remaining, byte[] jobKey, BootstrapOptions options) {
        RankRegistration.Hello hello = remaining.hello();
        return Entry.join(() -> server, jobKey, hello, true, Connector.IfRefused.RANK_ZERO_ENDED, options, null);
    }

    /** What a process proves that joins a job whose ranks have met by a secret. */
    public static byte[] jobKey(byte[] secret) {
        return Handshake.derive(secret, "job");
    }

    /**
     * Joins a group whose ranks await processes, see {@link #reform}. Waits for that until the initialisation time-out.
     *
     * @param members where ranks of the group may be found
     * @param order the preferred place among processes that join, the least first
     * @param progress takes what has come of it so far, again and again, on this thread
     * @throws BootstrapException if this process is refused; says why
     * @throws CommunicationTimeoutException if no rank took it in in time; shows what each address answered
     */
    public static Bootstrap join(
            JobMembers members, int order, BootstrapOptions options, Consumer<JoinAttempt> progress) {
        long start = System.nanoTime();
        long deadline = start + options.initTimeout().toNanos();
        JoinSearch.Place place = new JoinSearch(members, order, options, progress).await(deadline);
        try (FrameStream rendezvous = place.rendezvous()) {
            BootstrapOptions ofGroup = options.withGeneration(place.generation());
            RankRegistration.Hello hello = new RankRegistration.Hello(
                    options.version(), place.rank(), place.size(), NO_OLD_RANK, "", new byte[0]);
            Bootstrap group = Entry.enter(
                    rendezvous,
                    place.welcome(),
                    place.secret(),
                    place.jobKey(),
                    hello,
                    null,
                    ofGroup,
                    null,
                    start,
                    deadline);
            group.succession = new Succession(place.earlier());
            return group;
        }
    }

    /** This rank, from 0. */
    public int rank() {
        return rank;
    }

    /** The number of ranks. */
    public int size() {
        return size;
    }

    /** The out-of-band network. */
    public OutOfBand outOfBand() {
        return client.outOfBand();
    }

    /** The network that detects failures. */
    public ControlNetwork control() {
        return client.control();
    }

    /**
     * 16 bytes that only the members know, the same on every rank: the key for the group's other connections. No other
     * group has it, not even one of the same ranks and id, so that connections of an older group do not fit this one.
     */
    public byte[] secret() {
        return Handshake.derive(secret, "data");
    }

    /** 16 bytes that name the group, the same on every rank; no secret. */
    public byte[] sessionId() {
        return Handshake.derive(secret, SESSION);
    }

    /** A short name of the group, the same on every rank. */
    public String name() {
        return name(sessionId());
    }

    static String name(byte[] sessionId) {
        return HexFormat.of().formatHex(sessionId, 0, NAME_BYTES);
    }

    /** The address of this host from which rank 0 was reached: the best for other connections too. */
    public InetAddress localAddress() {
        return client.localAddress();
    }

    /**
     * Initialises groups of those ranks that give the same color. Every rank of this group must call it, in the same
     * order as other collective calls of {@link #outOfBand}.
     *
     * @param color which group; negative to be in none
     * @param key the order of ranks in the new group; equal keys keep the order of this group
     * @param childOptions the settings of the new group
     * @param initialize makes what is wanted of the new group
     * @return what was made, or empty for a negative color
     * @throws CommunicationTimeoutException if not all came in time; names them by their ranks in this group
     * @throws PeerFailedException if ranks failed; names them by their ranks in this group
     */
    public <T> Optional<T> split(int color, int key, BootstrapOptions childOptions, Function<Bootstrap, T> initialize) {
        return Subgroup.join(client.outOfBand(), color, key, childOptions, group -> {
            group.splitFrom(jobKey);
            return initialize.apply(group);
        });
    }

    /** The address of this rank's reserved port, as text for the other ranks' {@link #reform}. */
    public String rendezvousAddress() {
        return reserved().encoded();
    }

    private synchronized ReservedPort reserved() {
        if (reserved == null) {
            reserved = new ReservedPort(Entry.coordinatorCandidates(options, client.localAddress()));
        }
        return reserved;
    }

    private synchronized void closeReserved() {
        if (reserved != null) {
            reserved.close();
        }
        succession.close();
    }

    private synchronized void leaveReservedTo(Bootstrap group) {
        if (reserved != null) {
            group.succession.keep(reserved.share());
        }
    }

    /** How often the group was reformed. */
    public int generation() {
        return options.generation();
    }

    /** The key that all groups of the job have in common. */
    public byte[] jobKey() {
        return jobKey.clone();
    }

    /** Whether the group was split off from another. */
    public boolean isPart() {
        return isPart;
    }

    /** The group was split off from one of this key. */
    void splitFrom(byte[] parentJobKey) {
        System.arraycopy(parentJobKey, 0, jobKey, 0, jobKey.length);
        isPart = true;
    }

    /** This rank's reserved port and the job's key, as a process that joins needs them. */
    public UniqueId memberId() {
        return UniqueId.of(ReservedPort.decode(rendezvousAddress()), jobKey);
    }

    /**
     * Initialises a group of the remaining ranks, in the same order, and of processes that join, behind them. Uses nothing
     * of this group's network, which may have failed. Every remaining rank calls it.
     *
     * @param excluded ranks of this group that are left out, not this one; the same on all ranks
     * @param joiners how many processes join; the same on all ranks
     * @param rendezvousAddresses the {@link #rendezvousAddress} of every rank of this group
     * @param needsMajority whether a minority of a group that was not aborted is refused
     * @param childOptions the settings of the new group
     * @throws BootstrapException if the ranks do not exclude the same ones, or are a minority
     * @throws CommunicationTimeoutException if not all came in time; names them by their ranks in the new group
     */
    public Bootstrap reform(
            SortedSet<Integer> excluded,
            int joiners,
            List<String> rendezvousAddresses,
            boolean needsMajority,
            BootstrapOptions childOptions) {
        BootstrapOptions next = childOptions.withGeneration(generation() + 1);
        Optional<FailureReport> failure = control().agreedFailure();
        RemainingRanks remaining = new RemainingRanks(
                name(),
                rank,
                excluded,
                joiners,
                jobKey,
                rendezvousAddresses,
                succession.earlier(),
                needsMajority,
                failure.isPresent() || needsMajority
                        ? Optional.empty()
                        : Optional.of(client.control().position().lastEntered()),
                next);
        boolean aborted = failure.filter(report -> report.kind() == FailureReport.Kind.ABORTED)
                .isPresent();
        boolean cutOff = succession.wasCutOff() || client.wasCutOff();
        boolean minority = needsMajority && !aborted && remaining.leads() && remaining.isMinority(!cutOff);
        Bootstrap group = remaining.initialize(reserved(), secret, minority);
        group.isPart = isPart;
        group.parent = this;
        group.succession = succession.after(remaining, reserved(), cutOff);
        return group;
    }

    /** Whether all ranks are known to use the group, and none to have gone on with one before. */
    public boolean isConfirmed() {
        return succession.isConfirmed() || !isReformed();
    }

    /** Whether the group comes from one before, and {@link #confirm} is to be called once all ranks are known to use it. */
    public boolean isReformed() {
        return generation() > 0;
    }

    /**
     * All ranks are known to use this group: none has failed to initialise it, and went on with the group before. That
     * matters no more, unless ranks were left out of it that may live.
     */
    public void confirm() {
        succession.confirm(new PortProbe(rank));
        parent = null;
    }

    /** Waits until the group fails, or the time is over, and returns why it failed. */
    public Optional<JcclException> awaitFailure(Duration timeout) {
        return client.outOfBand().awaitFailure(timeout);
    }

    /** Leaves a group whose communicator this rank does not initialise to the end, and sends the others the reason. */
    public void giveUp(String why) {
        String text = "rank " + rank + " gave up while the communicator was initialised: " + why;
        if (coordinator != null) {
            coordinator.giveUp(text);
        } else {
            client.control().report(ReportKind.GAVE_UP, 0, text);
        }
        if (parent != null) {
            leaveReservedTo(parent);
        }
        close();
    }

    /**
     * Leaves in good order. Takes three seconds at most; on rank 0, which the others need, it waits for them to leave
     * too, for the close time-out at most. Called again it does nothing.
     */
    @Override
    public void close() {
        if (!closed.compareAndSet(false, true)) {
            return;
        }
        closeReserved();
        LastEntered lastEntered = client.control().position().lastEntered();
        client.close();
        if (coordinator != null) {
            coordinator.closeAfter(options.closeTimeout(), lastEntered);
        }
    }

    /** Leaves without a FIN, like a process that dies: for tests of what the others then do. */
    void die() {
        closed.set(true);
        closeReserved();
        if (coordinator != null) {
            coordinator.close();
        }
        client.die();
    }

    /** Loses the connections to the ranks above and below: for tests of what then happens. */
    void loseRelays() {
        client.loseRelays();
    }

    /** The bytes that this rank has sent as the coordinator; 0 on other ranks. */
    long sentAsCoordinator() {
        return coordinator == null ? 0 : coordinator.sentBytes();
    }

    /** Runs a task on the coordinator's thread; on rank 0: for tests of errors there. */
    void onCoordinatorThread(Runnable task) {
        coordinator.onThread(task);
    }

    /** Runs a task on the thread of this rank's connection: for tests of a rank that stands still. */
    void onControlThread(Runnable task) {
        client.execute(task);
    }
}
