package io.jccl.bootstrap;

import io.jccl.BootstrapException;
import io.jccl.JcclTimeoutException;
import io.jccl.UniqueId;
import java.net.InetAddress;
import java.net.InetSocketAddress;
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
 * names; there they learn where rank 0's hub is, and connect to it to stay. Both steps together end by the initialisation
 * time-out: with a {@link JcclTimeoutException} that names the ranks that did not come, the same on every rank, or with a
 * {@link BootstrapException} that says why this rank was not let in.
 *
 * <p>Threads: the factories block and may be interrupted; everything else is safe for any thread. A member has one daemon
 * thread; rank 0 has one more for the hub. {@link #close} ends them and their sockets.
 */
public final class Bootstrap implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(Bootstrap.class);

    private final int rank;
    private final int size;
    private final byte[] secret;
    private final BootstrapOptions options;
    private final HubClient client;
    private final Hub hub;
    private final ReservedPort reserved;
    private final AtomicBoolean closed = new AtomicBoolean();

    private Bootstrap(
            int rank,
            int size,
            byte[] secret,
            BootstrapOptions options,
            HubClient client,
            Hub hub,
            ReservedPort reserved) {
        this.rank = rank;
        this.size = size;
        this.secret = secret;
        this.options = options;
        this.client = client;
        this.hub = hub;
        this.reserved = reserved;
    }

    /**
     * Starts a root in this process and returns the id by which the ranks find it. The root ends by itself when all ranks
     * have met, or when none has come for the initialisation time-out.
     *
     * @throws BootstrapException if no network interface is usable
     */
    public static UniqueId createId(BootstrapOptions options) {
        return Root.open(options).id();
    }

    /**
     * Joins the group of an id.
     *
     * @param id the same on all ranks
     * @param rank this rank, from 0 to {@code size - 1}
     * @param size the number of ranks, the same on all ranks
     * @throws BootstrapException if this rank is not let in; says why
     * @throws JcclTimeoutException if not all ranks came in time; names them
     */
    public static Bootstrap join(UniqueId id, int rank, int size, BootstrapOptions options) {
        Connector.Place place = new Connector.Place(id.addresses(), id.secret());
        return join(() -> place, id.secret(), rank, size, false, options);
    }

    /**
     * Joins the group that a launcher has started.
     *
     * @param launch what the launcher said, see {@link LauncherEnvironment}
     * @param generation the number of groups that this process has formed from this environment before, the same on all
     *     ranks: it keeps them apart
     * @throws BootstrapException if this rank is not let in; says why
     * @throws JcclTimeoutException if not all ranks came in time; names them
     */
    public static Bootstrap join(Launch launch, int generation, BootstrapOptions options) {
        try (LaunchedRoot meeting = LaunchedRoot.of(launch, generation, options)) {
            return join(meeting, null, launch.rank(), launch.size(), true, options);
        }
    }

    /** Joins the group of a root that may not have opened yet, or may be about to close for an earlier attempt. */
    static Bootstrap join(Connector.Place root, int rank, int size, BootstrapOptions options) {
        return join(() -> root, root.secret(), rank, size, true, options);
    }

    private static Bootstrap join(
            Connector.Target target,
            byte[] knownSecret,
            int rank,
            int size,
            boolean patient,
            BootstrapOptions options) {
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
        Hub hub = null;
        HubClient client = null;
        ReservedPort reserved = null;
        try (FrameStream root = new Connector(Handshake.Purpose.ROOT, who, patient).connect(noting, deadline)) {
            byte[] rootSecret = used[0];
            byte[] offer = new byte[0];
            if (rank == 0) {
                List<InterfaceCandidate> candidates = hubCandidates(options, root.localAddress());
                byte[] salt = Handshake.randomBytes(Handshake.NONCE_BYTES);
                byte[] groupSecret = Handshake.derive(rootSecret, salt);
                hub = new Hub(options, NetworkInterfaces.bindAddress(candidates), groupSecret, size);
                int port = hub.port();
                List<InetSocketAddress> addresses = candidates.stream()
                        .limit(UniqueId.MAX_ADDRESSES)
                        .map(candidate -> new InetSocketAddress(candidate.address(), port))
                        .toList();
                offer = new HubOffer(salt, addresses).encode();
            }
            WireWriter hello = Assembly.hello(options.version(), rank, size, offer);
            byte[] welcome = root.awaitWelcome(who, hello, size, initMillis, deadline);
            HubOffer accepted = offerOf(who, welcome);
            byte[] secret = Handshake.derive(rootSecret, accepted.salt());
            Connector.Place place = new Connector.Place(accepted.addresses(), secret);
            FrameStream stream = new Connector(Handshake.Purpose.HUB, who, false).connect(() -> place, deadline);
            try {
                stream.awaitWelcome(
                        who, Assembly.hello(options.version(), rank, size, new byte[0]), size, initMillis, deadline);
                client = new HubClient(rank, size, stream, options);
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
            reserved = new ReservedPort(hubCandidates(options, client.localAddress()));
            return new Bootstrap(rank, size, secret, options, client, hub, reserved);
        } finally {
            if (reserved == null) {
                if (client != null) {
                    client.close();
                }
                if (hub != null) {
                    hub.close();
                }
            }
        }
    }

    private static HubOffer offerOf(String who, byte[] welcome) {
        try {
            return HubOffer.decode(welcome);
        } catch (WireException e) {
            throw new BootstrapException(who + ": where rank 0's hub is cannot be read: " + e.getMessage(), e);
        }
    }

    /** The address that reached the root is the best guess for the hub; on loopback everybody is on this machine. */
    private static List<InterfaceCandidate> hubCandidates(BootstrapOptions options, InetAddress toRoot) {
        return NetworkInterfaces.preferring(NetworkInterfaces.usable(options), toRoot);
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
        return Subgroup.form(outOfBand(), color, key, childOptions);
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
     * @param childOptions the settings of the new group
     * @throws BootstrapException if the ranks do not exclude the same ones
     * @throws JcclTimeoutException if not all came in time; names them by their ranks in the new group
     */
    public Bootstrap shrink(SortedSet<Integer> excluded, List<String> places, BootstrapOptions childOptions) {
        return new Survivors(rank, size, excluded).form(reserved, places, secret, childOptions);
    }

    /**
     * Leaves in good order. Takes a second at most; on rank 0, which the others need, it waits for them to leave too, for
     * the close time-out at most. Called again it does nothing.
     */
    @Override
    public void close() {
        if (!closed.compareAndSet(false, true)) {
            return;
        }
        reserved.close();
        LastEntered lastEntered = client.control().lastEntered();
        client.close();
        if (hub != null) {
            hub.closeAfter(options.closeTimeout(), lastEntered);
        }
    }

    /** Leaves without a word, like a process that dies: for tests of what the others then do. */
    void die() {
        closed.set(true);
        reserved.close();
        if (hub != null) {
            hub.close();
        }
        client.die();
    }

    /** Runs a task on the thread of this rank's connection: for tests of a rank that stands still. */
    void onControlThread(Runnable task) {
        client.execute(task);
    }
}
