package io.jccl.bootstrap;

import io.jccl.BootstrapException;
import io.jccl.CommunicationTimeoutException;
import io.jccl.InterruptedCommunicationException;
import io.jccl.JcclException;
import io.jccl.PeerFailedException;
import io.jccl.UniqueId;
import java.io.IOException;
import java.net.InetAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.SortedSet;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
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

    /** How long a rank that is interrupted before it has come tries to reach those that wait for it. */
    private static final long LEAVE_NANOS = TimeUnit.SECONDS.toNanos(1);

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
    private volatile List<EarlierGroup> earlier = List.of(); // that this one needs a majority of, too
    private volatile List<EarlierGroup> settled = List.of(); // that it does not; a rank that was left out may still ask
    private final List<ReservedPort> ofFailedGroups = new ArrayList<>(); // that came from this one; guarded by this
    private Bootstrap parent; // of a group that was reformed, until it is confirmed; null: none
    private boolean cutOffBefore; // in a group before, until this one is confirmed
    private ReservedPort reserved; // null: nobody has asked for it; guarded by this

    private Bootstrap(
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
        return join(() -> server, jobKey(id.secret()), hello, false, Connector.IfRefused.SERVER_ENDED, options, shared);
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
            return join(rendezvous, key, hello, true, Connector.IfRefused.NOT_OPEN_YET, options, null);
        }
    }

    /** Joins the group of the remaining ranks; its server may be about to close for an earlier attempt. */
    static Bootstrap join(
            Connector.ServerAddress server, RemainingRanks remaining, byte[] jobKey, BootstrapOptions options) {
        RankRegistration.Hello hello = remaining.hello();
        return join(() -> server, jobKey, hello, true, Connector.IfRefused.RANK_ZERO_ENDED, options, null);
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
     * @throws BootstrapException if this process is refused; says why
     * @throws CommunicationTimeoutException if no rank took it in in time; shows what each address answered
     */
    public static Bootstrap join(JobMembers members, int order, BootstrapOptions options) {
        long start = System.nanoTime();
        long deadline = start + options.initTimeout().toNanos();
        JoinSearch.Place place = new JoinSearch(members, order, options).await(deadline);
        try (FrameStream rendezvous = place.rendezvous()) {
            BootstrapOptions ofGroup = options.withGeneration(place.generation());
            RankRegistration.Hello hello = new RankRegistration.Hello(
                    options.version(), place.rank(), place.size(), NO_OLD_RANK, "", new byte[0]);
            Bootstrap group = enter(
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
            group.earlier = place.earlier();
            return group;
        }
    }

    private static Bootstrap join(
            Connector.Target target,
            byte[] knownJobKey,
            RankRegistration.Hello hello,
            boolean retriesRefusals,
            Connector.IfRefused ifRefused,
            BootstrapOptions options,
            Reactor shared) {
        int rank = hello.rank();
        int size = hello.size();
        if (size < 1 || size > Codecs.MAX_RANKS || rank < 0 || rank >= size) {
            throw new IllegalArgumentException("rank=" + rank + " size=" + size + ": expected a size of 1 to "
                    + Codecs.MAX_RANKS + " and a rank from 0 to size-1");
        }
        long start = System.nanoTime();
        long deadline = start + options.initTimeout().toNanos();
        long initMillis = options.initTimeout().toMillis();
        String who = "rank " + rank;
        byte[][] used = new byte[1][]; // the secret of the rendezvous that was tried last
        Connector.Target noting = () -> {
            Connector.ServerAddress server = target.locate();
            used[0] = server.secret();
            return server;
        };
        byte[] salt = Handshake.randomBytes(Handshake.NONCE_BYTES);
        byte[] offer = new byte[0];
        CoordinatorServer coordinator = null;
        boolean joined = false;
        FrameStream rendezvous = null;
        byte[] welcome = null;
        try {
            while (welcome == null) {
                rendezvous = new Connector(
                                Handshake.Purpose.RENDEZVOUS, who, retriesRefusals, ifRefused, options.generation())
                        .connect(noting, deadline);
                if (rank == 0 && coordinator == null) {
                    List<InterfaceCandidate> candidates = coordinatorCandidates(options, rendezvous.localAddress());
                    byte[] groupSecret = Handshake.derive(used[0], salt);
                    coordinator = new CoordinatorServer(
                            options, NetworkInterfaces.bindAddress(candidates), groupSecret, size);
                    offer = offer(salt, candidates, coordinator.port());
                }
                welcome = awaitWelcome(rendezvous, who, hello.with(offer), ifRefused, initMillis, deadline);
            }
            byte[] jobKey = knownJobKey == null ? jobKey(used[0]) : knownJobKey;
            if (coordinator != null) {
                coordinator.listenTo(rendezvous); // which reports ranks that end before they reach the coordinator
            }
            Bootstrap group =
                    enter(rendezvous, welcome, used[0], jobKey, hello, coordinator, options, shared, start, deadline);
            joined = true;
            return group;
        } catch (InterruptedCommunicationException e) {
            if (welcome == null) {
                comeAndLeave(noting, hello, ifRefused, options);
            }
            throw e;
        } finally {
            if (rendezvous != null) {
                rendezvous.close();
            }
            if (!joined && coordinator != null) {
                coordinator.closeSoon();
            }
        }
    }

    /** For a rank that is interrupted before it has come: the others notice only ranks that leave. */
    private static void comeAndLeave(
            Connector.Target target,
            RankRegistration.Hello hello,
            Connector.IfRefused ifRefused,
            BootstrapOptions options) {
        boolean interrupted = Thread.interrupted(); // a connection cannot be made otherwise
        String who = "rank " + hello.rank();
        Connector connector = new Connector(Handshake.Purpose.RENDEZVOUS, who, false, ifRefused, options.generation());
        try (FrameStream server = connector.connect(target, System.nanoTime() + LEAVE_NANOS)) {
            server.writeFrame(FrameType.HELLO, hello.write());
        } catch (JcclException | IOException e) {
            LOG.debug("{} was interrupted before it came, and cannot say so: {}", who, e.getMessage());
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** The second step: from the rendezvous, where all have come, to the coordinator. */
    private static Bootstrap enter(
            FrameStream rendezvous,
            byte[] welcome,
            byte[] rendezvousSecret,
            byte[] jobKey,
            RankRegistration.Hello hello,
            CoordinatorServer coordinator,
            BootstrapOptions options,
            Reactor shared,
            long start,
            long deadline) {
        String who = "rank " + hello.rank();
        CoordinatorAddress accepted = offerOf(who, welcome);
        byte[] secret = Handshake.derive(rendezvousSecret, accepted.salt());
        Connector.ServerAddress server = new Connector.ServerAddress(accepted.addresses(), secret);
        CoordinatorConnection client =
                CoordinatorConnection.join(server, hello, rendezvous.localAddress(), shared, options, deadline);
        boolean joined = false;
        try {
            if (coordinator == null) {
                rendezvous.leave();
                rendezvous.close();
            }
            client.joinRelays(hello, deadline);
            LOG.debug(
                    "{} of {} joined in {} ms, local address {}",
                    who,
                    hello.size(),
                    TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start),
                    client.localAddress());
            joined = true;
            return new Bootstrap(hello.rank(), hello.size(), secret, jobKey, options, client, coordinator);
        } finally {
            if (!joined) {
                client.close();
            }
        }
    }

    /**
     * The rendezvous server's answer, or null if another server has replaced it: each attempt to reform opens one, and
     * ranks may be an attempt ahead of the first. If that rank has ended instead, the next connection shows it.
     */
    private static byte[] awaitWelcome(
            FrameStream rendezvous,
            String who,
            RankRegistration.Hello hello,
            Connector.IfRefused ifRefused,
            long initMillis,
            long deadline) {
        boolean atRankZero = ifRefused != Connector.IfRefused.SERVER_ENDED;
        try {
            return rendezvous.awaitWelcome(who, hello, atRankZero, initMillis, deadline);
        } catch (PeerFailedException e) {
            if (!rendezvous.isBroken() || ifRefused != Connector.IfRefused.RANK_ZERO_ENDED) {
                throw e;
            }
            rendezvous.close();
            return null;
        }
    }

    private static byte[] offer(byte[] salt, List<InterfaceCandidate> candidates, int port) {
        return new CoordinatorAddress(salt, NetworkInterfaces.withPort(candidates, port, UniqueId.MAX_ADDRESSES))
                .encode();
    }

    private static CoordinatorAddress offerOf(String who, byte[] welcome) {
        if (welcome.length == 0) {
            throw new PeerFailedException(
                    who + ": rank 0 was interrupted before it came; look into its log", Set.of(0), null);
        }
        try {
            return CoordinatorAddress.decode(welcome);
        } catch (WireException e) {
            throw new BootstrapException(
                    who + ": the address of rank 0's coordinator cannot be read: " + e.getMessage(), e);
        }
    }

    /** The address that reached the rendezvous server comes first; on loopback all ranks are on this host. */
    private static List<InterfaceCandidate> coordinatorCandidates(BootstrapOptions options, InetAddress toRendezvous) {
        return NetworkInterfaces.preferring(NetworkInterfaces.usable(options), toRendezvous);
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
            reserved = new ReservedPort(coordinatorCandidates(options, client.localAddress()));
        }
        return reserved;
    }

    private synchronized void closeReserved() {
        if (reserved != null) {
            reserved.close();
        }
        ofFailedGroups.forEach(ReservedPort::close);
        ofFailedGroups.clear();
        earlier.forEach(EarlierGroup::close);
        earlier = List.of();
        settled.forEach(EarlierGroup::close);
        settled = List.of();
    }

    /** What others may take for this rank: the reserved port, and those of groups that failed. */
    private synchronized List<ReservedPort> ports() {
        List<ReservedPort> ports = new ArrayList<>(ofFailedGroups);
        ports.add(reserved());
        return ports;
    }

    private synchronized void leaveReservedTo(Bootstrap group) {
        if (reserved != null) {
            group.keep(reserved.share());
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
        RemainingRanks remaining =
                new RemainingRanks(rank, excluded, joiners, jobKey, rendezvousAddresses, earlier, needsMajority, next);
        boolean aborted = control()
                .agreedFailure()
                .filter(report -> report.kind() == FailureReport.Kind.ABORTED)
                .isPresent();
        boolean cutOff = cutOffBefore || client.wasCutOff();
        boolean minority = needsMajority && !aborted && remaining.leads() && remaining.isMinority(!cutOff);
        Bootstrap group = remaining.initialize(reserved(), secret, minority);
        group.isPart = isPart;
        group.parent = this;
        group.cutOffBefore = cutOff;
        group.earlier = remaining.earlierGroups(ports());
        group.settled =
                settled.stream().map(one -> one.after(remaining.left(), true)).toList();
        return group;
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
        PortProbe probe = new PortProbe(rank);
        List<EarlierGroup> stay = new ArrayList<>();
        List<EarlierGroup> ask = new ArrayList<>();
        for (EarlierGroup group : earlier) {
            (group.lasts() ? stay : ask).add(group);
        }
        ask.addAll(settled);
        earlier = withLiving(stay, probe);
        settled = withLiving(ask, probe);
        cutOffBefore = false;
        parent = null;
    }

    /** The groups in which ranks may live that were left out; closes the others. */
    private static List<EarlierGroup> withLiving(List<EarlierGroup> groups, PortProbe probe) {
        List<EarlierGroup> living = new ArrayList<>();
        for (EarlierGroup group : groups) {
            boolean isEmpty = group.leftOut().stream()
                    .allMatch(one ->
                            probe.hasEnded(ReservedPort.decode(group.addresses().get(one))));
            if (isEmpty) {
                group.close();
            } else {
                living.add(group);
            }
        }
        return List.copyOf(living);
    }

    /** A group that came from this one failed, perhaps on this rank only: others must not take it for one that has ended. */
    private synchronized void keep(ReservedPort port) {
        ofFailedGroups.add(port);
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

    /** Runs a task on the thread of this rank's connection: for tests of a rank that stands still. */
    void onControlThread(Runnable task) {
        client.execute(task);
    }
}
