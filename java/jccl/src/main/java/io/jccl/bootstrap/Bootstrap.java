package io.jccl.bootstrap;

import io.jccl.BootstrapException;
import io.jccl.CommunicationTimeoutException;
import io.jccl.JcclException;
import io.jccl.PeerFailedException;
import io.jccl.UniqueId;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.SortedSet;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One rank's membership in a group: how it came in, and its networks while it stays.
 *
 * <p>Coming in takes two steps. All ranks meet at the root, which the {@link UniqueId} or the launcher's environment
 * names; there they learn where rank 0's coordinator is, and connect to it to stay. Both steps together end by the initialisation
 * time-out: with a {@link CommunicationTimeoutException} that names the ranks that did not come, the same on every rank, or with a
 * {@link BootstrapException} that says why this rank was not let in.
 *
 * <p>Threads: the factories block and may be interrupted; everything else is safe for any thread. A member has one daemon
 * thread; rank 0 has one more for the coordinator. {@link #close} ends them and their sockets.
 */
public final class Bootstrap implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(Bootstrap.class);

    private static final int NO_OLD_RANK = -1;

    private final int rank;
    private final int size;
    private final byte[] secret;
    private final BootstrapOptions options;
    private final CoordinatorConnection client;
    private final CoordinatorServer coordinator;
    private final ReservedPort reserved;
    private final AtomicBoolean closed = new AtomicBoolean();

    private Bootstrap(
            int rank,
            int size,
            byte[] secret,
            BootstrapOptions options,
            CoordinatorConnection client,
            CoordinatorServer coordinator,
            ReservedPort reserved) {
        this.rank = rank;
        this.size = size;
        this.secret = secret;
        this.options = options;
        this.client = client;
        this.coordinator = coordinator;
        this.reserved = reserved;
    }

    /**
     * Starts a root in this process and returns the id by which the ranks find it. The root ends by itself when all ranks
     * have met, or when none has come for the initialisation time-out.
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
     * @throws BootstrapException if this rank is not let in; says why
     * @throws CommunicationTimeoutException if not all ranks came in time; names them
     */
    public static Bootstrap join(UniqueId id, int rank, int size, BootstrapOptions options) {
        Connector.Place place = new Connector.Place(id.addresses(), id.secret());
        RankRegistration.Hello hello = new RankRegistration.Hello(options.version(), rank, size, NO_OLD_RANK, "", new byte[0]);
        return join(() -> place, id.secret(), hello, false, Connector.Nobody.IS_THERE_ANY_MORE, options);
    }

    /**
     * Joins the group that a launcher has started.
     *
     * @param launch what the launcher said, see {@link LauncherEnvironment}
     * @param generation the number of groups that this process has formed from this environment before, the same on all
     *     ranks: it keeps them apart
     * @throws BootstrapException if this rank is not let in; says why
     * @throws CommunicationTimeoutException if not all ranks came in time; names them
     */
    public static Bootstrap join(Launch launch, int generation, BootstrapOptions options) {
        try (LaunchRendezvous rendezvous = LaunchRendezvous.of(launch, generation, options)) {
            RankRegistration.Hello hello =
                    new RankRegistration.Hello(options.version(), launch.rank(), launch.size(), NO_OLD_RANK, "", new byte[0]);
            return join(rendezvous, null, hello, true, Connector.Nobody.IS_THERE_YET, options);
        }
    }

    /** Joins the group of those that are left; its root may be about to close for an earlier attempt. */
    static Bootstrap join(Connector.Place root, RemainingRanks remaining, BootstrapOptions options) {
        RankRegistration.Hello hello = remaining.hello(new byte[0]);
        return join(() -> root, root.secret(), hello, true, Connector.Nobody.IS_RANK_ZERO, options);
    }

    private static Bootstrap join(
            Connector.Target target,
            byte[] knownSecret,
            RankRegistration.Hello hello,
            boolean patient,
            Connector.Nobody nobody,
            BootstrapOptions options) {
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
        byte[][] used = {knownSecret};
        Connector.Target noting = () -> {
            Connector.Place place = target.locate();
            used[0] = place.secret();
            return place;
        };
        byte[] salt = Handshake.randomBytes(Handshake.NONCE_BYTES);
        byte[] offer = new byte[0];
        CoordinatorServer coordinator = null;
        CoordinatorConnection client = null;
        ReservedPort reserved = null;
        FrameStream root = null;
        byte[] welcome = null;
        try {
            while (welcome == null) {
                root = new Connector(Handshake.Purpose.RENDEZVOUS, who, patient, nobody).connect(noting, deadline);
                if (rank == 0 && coordinator == null) {
                    List<InterfaceCandidate> candidates = coordinatorCandidates(options, root.localAddress());
                    byte[] groupSecret = Handshake.derive(used[0], salt);
                    coordinator = new CoordinatorServer(options, NetworkInterfaces.bindAddress(candidates), groupSecret, size);
                    offer = offer(salt, candidates, coordinator.port());
                }
                welcome = awaitWelcome(root, who, hello.with(offer), nobody, initMillis, deadline);
            }
            byte[] rendezvousSecret = used[0];
            if (coordinator != null) {
                coordinator.listenTo(root); // which knows the ranks that end before they come to the coordinator
            }
            CoordinatorAddress accepted = offerOf(who, welcome);
            byte[] secret = Handshake.derive(rendezvousSecret, accepted.salt());
            Connector.Place place = new Connector.Place(accepted.addresses(), secret);
            FrameStream stream = new Connector(Handshake.Purpose.COORDINATOR, who, false, Connector.Nobody.IS_RANK_ZERO)
                    .connect(() -> place, deadline);
            try {
                stream.awaitWelcome(who, hello, true, initMillis, deadline);
                client = new CoordinatorConnection(rank, size, stream, options);
            } finally {
                if (client == null) {
                    stream.close();
                }
            }
            LOG.debug(
                    "{} of {} joined in {} ms, local address {}",
                    who,
                    size,
                    TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start),
                    client.localAddress());
            if (coordinator == null) {
                root.leave();
            }
            reserved = new ReservedPort(coordinatorCandidates(options, client.localAddress()));
            return new Bootstrap(rank, size, secret, options, client, coordinator, reserved);
        } finally {
            if (root != null) {
                root.close();
            }
            if (reserved == null) {
                if (client != null) {
                    client.close();
                }
                if (coordinator != null) {
                    coordinator.closeSoon();
                }
            }
        }
    }

    /**
     * What the root says, or null if it has made room for another: each attempt to shrink opens one, and ranks may be ahead of
     * the first. If that rank has ended instead, the next connection shows it.
     */
    private static byte[] awaitWelcome(
            FrameStream root,
            String who,
            RankRegistration.Hello hello,
            Connector.Nobody nobody,
            long initMillis,
            long deadline) {
        boolean atRankZero = nobody != Connector.Nobody.IS_THERE_ANY_MORE;
        try {
            return root.awaitWelcome(who, hello, atRankZero, initMillis, deadline);
        } catch (PeerFailedException e) {
            if (!root.isBroken() || nobody != Connector.Nobody.IS_RANK_ZERO) {
                throw e;
            }
            root.close();
            return null;
        }
    }

    private static byte[] offer(byte[] salt, List<InterfaceCandidate> candidates, int port) {
        List<InetSocketAddress> addresses = candidates.stream()
                .limit(UniqueId.MAX_ADDRESSES)
                .map(candidate -> new InetSocketAddress(candidate.address(), port))
                .toList();
        return new CoordinatorAddress(salt, addresses).encode();
    }

    private static CoordinatorAddress offerOf(String who, byte[] welcome) {
        try {
            return CoordinatorAddress.decode(welcome);
        } catch (WireException e) {
            throw new BootstrapException(who + ": where rank 0's coordinator is cannot be read: " + e.getMessage(), e);
        }
    }

    /** The address that reached the root is the best guess for the coordinator; on loopback everybody is on this machine. */
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

    /** The network for agreements. */
    public OutOfBand outOfBand() {
        return client.outOfBand();
    }

    /** The network for failures. */
    public ControlNetwork control() {
        return client.control();
    }

    /**
     * 16 bytes that only the members know, the same on every rank: the key for the group's other connections. No other group
     * has it, not even one of the same ranks and id, so that what is left of an older one cannot speak in this.
     */
    public byte[] secret() {
        return Handshake.derive(secret, "data");
    }

    /** 16 bytes that name the group, the same on every rank; no secret. */
    public byte[] sessionId() {
        return Handshake.derive(secret, "session");
    }

    /** The address of this machine from which rank 0 was reached: the best for other connections too. */
    public InetAddress localAddress() {
        return client.localAddress();
    }

    /**
     * Forms groups of those ranks that give the same color. Every rank of this group must call it, in the same order as
     * other collective calls of {@link #outOfBand}.
     *
     * @param color which group; negative to be in none
     * @param key the order of ranks in the new group; equal keys keep the order of this group
     * @param childOptions the settings of the new group
     * @return the new group, or empty for a negative color
     */
    public Optional<Bootstrap> split(int color, int key, BootstrapOptions childOptions) {
        return Subgroup.form(client.outOfBand(), color, key, childOptions);
    }

    /** Where this rank can be met when the network of the group is gone; a text for the other ranks' {@link #shrink}. */
    public String meetingPlace() {
        return reserved.place();
    }

    /**
     * Forms a group of the ranks that are left, in the same order. Takes nothing of this group's network, which may have
     * failed. Every rank that is left calls it.
     *
     * @param excluded ranks of this group that are left out, not this one; the same on all ranks
     * @param places the {@link #meetingPlace} of every rank of this group
     * @param needsMajority whether a minority of a group that was not aborted is refused
     * @param childOptions the settings of the new group
     * @throws BootstrapException if the ranks do not exclude the same ones, or are a minority
     * @throws CommunicationTimeoutException if not all came in time; names them by their ranks in the new group
     */
    public Bootstrap shrink(
            SortedSet<Integer> excluded, List<String> places, boolean needsMajority, BootstrapOptions childOptions) {
        RemainingRanks remaining = new RemainingRanks(rank, excluded, places, childOptions);
        boolean aborted = control()
                .verdict()
                .filter(verdict -> verdict.kind() == FailureReport.Kind.ABORTED)
                .isPresent();
        boolean minority = needsMajority && !aborted && remaining.leads() && remaining.isMinority(!client.wasCutOff());
        return remaining.form(reserved, secret, minority);
    }

    /** Waits until the group fails, or the time is over, and returns why it failed. */
    public Optional<JcclException> awaitFailure(Duration timeout) {
        return client.outOfBand().awaitFailure(timeout);
    }

    /** Leaves a group whose communicator this rank does not initialise to the end, and tells the others why. */
    public void giveUp(String why) {
        String text = "rank " + rank + " gave up while the communicator was initialised: " + why;
        if (coordinator != null) {
            coordinator.giveUp(text);
        } else {
            client.control().report(ReportKind.GAVE_UP, 0, text);
        }
        close();
    }

    /**
     * Leaves in good order. Takes three seconds at most; on rank 0, which the others need, it waits for them to leave too, for
     * the close time-out at most. Called again it does nothing.
     */
    @Override
    public void close() {
        if (!closed.compareAndSet(false, true)) {
            return;
        }
        reserved.close();
        LastEntered lastEntered = client.control().position().lastEntered();
        client.close();
        if (coordinator != null) {
            coordinator.closeAfter(options.closeTimeout(), lastEntered);
        }
    }

    /** Leaves without a word, like a process that dies: for tests of what the others then do. */
    void die() {
        closed.set(true);
        reserved.close();
        if (coordinator != null) {
            coordinator.close();
        }
        client.die();
    }

    /** Runs a task on the thread of this rank's connection: for tests of a rank that stands still. */
    void onControlThread(Runnable task) {
        client.execute(task);
    }
}
