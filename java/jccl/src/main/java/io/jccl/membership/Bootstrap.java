package io.jccl.membership;

import io.jccl.BootstrapException;
import io.jccl.CommunicationTimeoutException;
import io.jccl.InterruptedCommunicationException;
import io.jccl.JcclException;
import io.jccl.UniqueId;
import io.jccl.control.ControlNetwork;
import io.jccl.control.CoordinatorConnection;
import io.jccl.control.CoordinatorServer;
import io.jccl.control.FailureReport;
import io.jccl.control.OutOfBand;
import io.jccl.control.ReportKind;
import io.jccl.control.SplitCoordinator;
import io.jccl.internal.Causes;
import io.jccl.launch.Launch;
import io.jccl.launch.LaunchRendezvous;
import io.jccl.launch.LauncherEnvironment;
import io.jccl.rendezvous.BootstrapOptions;
import io.jccl.rendezvous.Connector;
import io.jccl.rendezvous.FrameStream;
import io.jccl.rendezvous.InterfaceCandidate;
import io.jccl.rendezvous.RankRegistration;
import io.jccl.rendezvous.RendezvousServer;
import io.jccl.wire.Handshake;
import io.jccl.wire.LastEntered;
import io.jccl.wire.PortProbe;
import io.jccl.wire.Reactor;
import io.jccl.wire.SessionKeys;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedSet;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One rank's membership in a group, the ranks of one communicator. Joins the group and provides its networks.
 *
 * <p>Joining takes two steps. First all ranks register at the rendezvous server, which the {@link UniqueId} or the
 * launcher's environment names. The server sends them the address of rank 0's coordinator. Then every rank connects to
 * the coordinator and keeps that connection. The initialisation time-out limits both steps together. A rank that cannot
 * join throws a {@link CommunicationTimeoutException}, which names the same missing ranks on every rank, or a
 * {@link BootstrapException} with the reason why this rank was refused.
 *
 * <p>Threads: the factories block and may be interrupted; all other methods are safe for any thread. A member has one
 * daemon thread; rank 0 has one more for the coordinator. {@link #close} ends these threads and their sockets.
 */
public final class Bootstrap implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(Bootstrap.class);

    private static final int NO_OLD_RANK = -1;
    private final int rank;
    private final int size;
    private final byte[] secret;
    private final byte[] jobKey;
    private SplitCoordinator splitCoordinator; // of rank 0 of a group that shares connections, or null; set at once
    // the connections to other ranks than rank 0, by rank; guarded by itself
    private final Map<Integer, Star> stars = new HashMap<>();
    private boolean isPart; // set before another thread can see this object
    private final BootstrapOptions options;
    private final CoordinatorConnection client;
    private final CoordinatorServer coordinator;
    private final AtomicBoolean closed = new AtomicBoolean();
    private Succession succession = new Succession(); // replaced before another thread can see this object
    private Bootstrap parent; // the previous group until this group is confirmed; null afterwards, or if there is none
    private ReservedPort reserved; // null until it is first used; guarded by this
    private List<InterfaceCandidate> candidates; // addresses of this host; null until first used; guarded by this

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
     * itself when all ranks have met, or when no rank has come for as long as the initialisation time-out.
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
     * @throws BootstrapException if this rank is refused; the message says why
     * @throws CommunicationTimeoutException if not all ranks came in time; names the missing ranks
     */
    public static Bootstrap join(UniqueId id, int rank, int size, BootstrapOptions options) {
        return join(id, rank, size, options, null);
    }

    /**
     * Joins the group of an id with a reactor that many ranks of one process share, so that they need few threads and
     * selectors.
     *
     * @param shared a started reactor that outlives the group; null for a reactor of this rank's own
     */
    static Bootstrap join(UniqueId id, int rank, int size, BootstrapOptions options, Reactor shared) {
        Connector.ServerAddress server = new Connector.ServerAddress(id.addresses(), id.secret());
        RankRegistration.Hello hello =
                new RankRegistration.Hello(options.version(), rank, size, NO_OLD_RANK, "", new byte[0]);
        return Entry.join(
                () -> server,
                SessionKeys.jobKey(id.secret()),
                hello,
                false,
                Connector.IfRefused.SERVER_ENDED,
                options,
                shared);
    }

    /**
     * Joins the group that a launcher has started.
     *
     * @param launch the launcher's settings for this process, see {@link LauncherEnvironment}
     * @param generation the number of groups that this process has already joined with this environment; the same on
     *     all ranks. This number distinguishes these groups
     * @throws BootstrapException if this rank is refused; the message says why
     * @throws CommunicationTimeoutException if not all ranks came in time; names the missing ranks
     */
    public static Bootstrap join(Launch launch, int generation, BootstrapOptions options) {
        try (LaunchRendezvous rendezvous = LaunchRendezvous.of(launch, generation, options)) {
            RankRegistration.Hello hello = new RankRegistration.Hello(
                    options.version(), launch.rank(), launch.size(), NO_OLD_RANK, "", new byte[0]);
            byte[] key = launch.rendezvous() instanceof Launch.Address address
                    ? SessionKeys.jobKey(address.secret().key())
                    : null; // null: Entry derives the key from the secret in the file
            try {
                return Entry.join(rendezvous, key, hello, true, Connector.IfRefused.NOT_OPEN_YET, options, null);
            } catch (CommunicationTimeoutException e) {
                String why = rendezvous.explanation();
                throw why.isEmpty()
                        ? e
                        : new CommunicationTimeoutException(e.getMessage() + "\n" + why, e.missingRanks(), e);
            } catch (InterruptedCommunicationException e) {
                throw e; // Entry has already reported the interrupt to the other ranks
            } catch (RuntimeException | Error e) {
                rendezvous.refuse("rank 0 gave up: " + Causes.describe(e));
                throw e;
            }
        }
    }

    /**
     * Joins the group of the remaining ranks. At the address there may still be the server of an earlier attempt; that
     * server is about to close.
     */
    static Bootstrap join(
            Connector.ServerAddress server, RemainingRanks remaining, byte[] jobKey, BootstrapOptions options) {
        RankRegistration.Hello hello = remaining.hello();
        return Entry.join(() -> server, jobKey, hello, true, Connector.IfRefused.RANK_ZERO_ENDED, options, null);
    }

    /**
     * Joins a group whose ranks reform it and await processes, see {@link #reform}. Waits for such a reform, at most
     * for the initialisation time-out.
     *
     * @param members the addresses at which the process looks for ranks of the group
     * @param order this process's preferred place among the processes that join; the lowest comes first
     * @param progress receives the results of the attempts so far, repeatedly, on this thread
     * @throws BootstrapException if this process is refused; the message says why
     * @throws CommunicationTimeoutException if no rank admitted this process before the time-out; shows the answer of
     *     each address
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
                    new Entry.Welcomed(rendezvous, place.welcome(), place.secret(), place.jobKey()),
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

    /** Returns this rank, numbered from 0. */
    public int rank() {
        return rank;
    }

    /** Returns the number of ranks. */
    public int size() {
        return size;
    }

    /** Returns the out-of-band network. */
    public OutOfBand outOfBand() {
        return client.outOfBand();
    }

    /** Returns the network that detects failures. */
    public ControlNetwork control() {
        return client.control();
    }

    /** Returns what the group's other connections need. */
    public GroupIdentity identity() {
        return new GroupIdentity(rank, size, secret);
    }

    /** Returns {@link GroupIdentity#sessionId}. */
    public byte[] sessionId() {
        return identity().sessionId();
    }

    /** Returns {@link GroupIdentity#name}. */
    public String name() {
        return identity().name();
    }

    /**
     * Returns the address of this host from which this rank reached rank 0. Other connections should prefer this
     * address.
     */
    public InetAddress localAddress() {
        return client.localAddress();
    }

    /**
     * Begins to split this group into one new group for each color. Every rank of this group must call this method and
     * then {@link Subgroup#join}, in the same order relative to other collective calls of {@link #outOfBand}.
     *
     * @param color the new group of this rank; negative for none
     * @param key the order of ranks in the new group; equal keys keep the order of this group
     */
    public Subgroup beginSplit(int color, int key) {
        return new Subgroup(this, client.outOfBand(), color, key);
    }

    /** Returns the secret of a group of the given color that is split off next and uses this group's connections. */
    byte[] secretOfPart(int color) {
        return Handshake.derive(secret, "split=" + client.outOfBand().nextNumber() + " color=" + color);
    }

    /**
     * Enters a group of some ranks of this group, which uses this group's connections. Rank 0 of both is the same.
     *
     * @param newRank this rank in the new group
     * @param ranks the ranks of the new group in its order
     * @param childSecret the secret of the new group
     */
    Bootstrap enter(int newRank, List<Integer> ranks, byte[] childSecret, BootstrapOptions childOptions) {
        long number = ByteBuffer.wrap(SessionKeys.sessionId(childSecret)).getLong();
        CoordinatorConnection entered = client.enter(number, newRank, ranks, childOptions);
        Bootstrap group =
                new Bootstrap(newRank, ranks.size(), childSecret, jobKey.clone(), childOptions, entered, null);
        group.candidates = candidates();
        if (newRank == 0) {
            CoordinatorServer server = coordinator != null ? coordinator : splitCoordinator.server();
            group.splitCoordinator = server.split(number);
        }
        return group;
    }

    /** Returns the connections to other ranks than rank 0 that groups which are split off can use. */
    List<Star> stars() {
        synchronized (stars) {
            return stars.values().stream()
                    .filter(star -> !star.group().client.outOfBand().hasFailed())
                    .toList();
        }
    }

    /** Keeps connections for groups that are split off later. Closes them with this group. */
    void keep(Star star) {
        Star before;
        synchronized (stars) {
            before = closed.get() ? star : stars.put(star.leader(), star);
        }
        if (before != null) {
            before.group().leave();
        }
    }

    private void closeStars() {
        List<Star> all;
        synchronized (stars) {
            all = List.copyOf(stars.values());
            stars.clear();
        }
        all.forEach(star -> star.group().leave());
    }

    /** Makes the calls of this group's network fail, unless all ranks have entered the group. */
    void failUnlessMet(Supplier<JcclException> cause) {
        client.outOfBand().failUnlessMet(cause);
    }

    /** Returns the address of this rank's reserved port as text, for {@link #reform} on the other ranks. */
    public String rendezvousAddress() {
        return reserved().encoded();
    }

    private synchronized ReservedPort reserved() {
        if (reserved == null) {
            reserved = reservePort();
        }
        return reserved;
    }

    /** Reserves another port of this host. */
    ReservedPort reservePort() {
        return new ReservedPort(candidates());
    }

    private synchronized List<InterfaceCandidate> candidates() {
        if (candidates == null) {
            candidates = Entry.coordinatorCandidates(options, client.localAddress());
        }
        return candidates;
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

    /** Returns how often the group was reformed. */
    public int generation() {
        return options.generation();
    }

    /** Returns the key that all groups of the job have in common. */
    public byte[] jobKey() {
        return jobKey.clone();
    }

    /** Returns true if the group was split off from another. */
    public boolean isPart() {
        return isPart;
    }

    /**
     * Marks this group as split off from another.
     *
     * @param port this rank's reserved port, or null to reserve it when it is needed
     */
    synchronized void splitFrom(Bootstrap other, ReservedPort port) {
        System.arraycopy(other.jobKey, 0, jobKey, 0, jobKey.length);
        isPart = true;
        reserved = port;
    }

    /** Returns an id with this rank's reserved port and the job's key, which a process needs in order to join. */
    public UniqueId memberId() {
        return UniqueId.of(ReservedPort.decode(rendezvousAddress()), jobKey);
    }

    /**
     * Initialises a group of the remaining ranks, in the same order, followed by processes that join. Every remaining
     * rank calls this method. The method does not use this group's network, which may have failed.
     *
     * @param excluded ranks of this group that are left out, the same on all ranks; must not contain this rank
     * @param joiners the number of processes that join, the same on all ranks
     * @param rendezvousAddresses the {@link #rendezvousAddress} of every rank of this group
     * @param needsMajority true if a minority of this group must not continue, unless the group was aborted
     * @param childOptions the settings of the new group
     * @throws BootstrapException if the ranks do not all exclude the same ranks, or are a minority
     * @throws CommunicationTimeoutException if not all came in time; names the missing ones by their ranks in the new
     *     group
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
                new RemainingRanks.OldGroup(name(), rank, jobKey, rendezvousAddresses, succession.earlier()),
                excluded,
                joiners,
                needsMajority,
                failure.isPresent() || needsMajority
                        ? Optional.empty()
                        : Optional.of(client.control().position().lastEntered()),
                next);
        boolean aborted = failure.filter(report -> report.kind() == FailureReport.Kind.ABORTED)
                .isPresent();
        boolean cutOff = succession.wasCutOff() || client.wasCutOff();
        boolean minority =
                needsMajority && !aborted && remaining.leads() && new Majority(remaining, !cutOff).isMissing();
        Bootstrap group = remaining.initialize(reserved(), secret, minority);
        group.isPart = isPart;
        group.parent = this;
        group.succession = succession.after(remaining, reserved(), cutOff);
        return group;
    }

    /** Returns true if all ranks are known to use this group, so that none has continued with an earlier group. */
    public boolean isConfirmed() {
        return succession.isConfirmed() || !isReformed();
    }

    /**
     * Returns true if this group replaces an earlier one. Then {@link #confirm} must be called once all ranks are known
     * to use this group.
     */
    public boolean isReformed() {
        return generation() > 0;
    }

    /**
     * Notes that all ranks use this group: none has failed to initialise it and continued with the previous group. From
     * now on the previous group matters only if ranks that may still live were left out of this one.
     */
    public void confirm() {
        succession.confirm(new PortProbe(rank));
        parent = null;
    }

    /** Waits for the group to fail, at most for {@code timeout}. Returns the failure, or empty if there is none. */
    public Optional<JcclException> awaitFailure(Duration timeout) {
        return client.outOfBand().awaitFailure(timeout);
    }

    /** Leaves a group whose communicator this rank cannot finish initialising, and sends the other ranks the reason. */
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
     * Leaves in good order, within three seconds. The coordinator, which the other ranks need, continues on rank 0 until
     * these have left, at most for the close time-out. A second call does nothing.
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
            coordinator.closeAfterOthers(lastEntered);
        } else if (splitCoordinator != null) {
            splitCoordinator.closeAfterOthers(lastEntered);
        }
        closeStars();
    }

    /** Leaves a group that only holds connections for others. No rank needs it after the first has left it. */
    private void leave() {
        if (closed.compareAndSet(false, true)) {
            client.close();
            if (coordinator != null) {
                coordinator.leave();
            }
        }
    }

    /** Leaves without a FIN, like a process that dies. For tests of how the other ranks react. */
    void die() {
        closed.set(true);
        closeReserved();
        synchronized (stars) {
            stars.values().forEach(star -> star.group().die());
        }
        if (coordinator != null) {
            coordinator.close();
        }
        client.die();
    }

    /** Closes the connections to the ranks above and below in the tree of relays. For tests. */
    void loseRelays() {
        client.loseRelays();
    }

    /** Returns the number of bytes that this rank has sent as the coordinator; 0 on ranks other than 0. */
    long sentAsCoordinator() {
        return coordinator == null ? 0 : coordinator.sentBytes();
    }

    /** Runs a task on the coordinator's thread, on rank 0 only. For tests of errors on that thread. */
    void onCoordinatorThread(Runnable task) {
        coordinator.onThread(task);
    }

    /** Runs a task on the thread of this rank's connection. For tests of a rank that stands still. */
    void onControlThread(Runnable task) {
        client.execute(task);
    }
}
