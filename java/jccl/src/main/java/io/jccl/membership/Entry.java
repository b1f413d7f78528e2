package io.jccl.membership;

import io.jccl.BootstrapException;
import io.jccl.InterruptedCommunicationException;
import io.jccl.JcclException;
import io.jccl.PeerFailedException;
import io.jccl.UniqueId;
import io.jccl.control.CoordinatorConnection;
import io.jccl.control.CoordinatorServer;
import io.jccl.internal.Causes;
import io.jccl.rendezvous.BootstrapOptions;
import io.jccl.rendezvous.Connector;
import io.jccl.rendezvous.CoordinatorAddress;
import io.jccl.rendezvous.FrameStream;
import io.jccl.rendezvous.InterfaceCandidate;
import io.jccl.rendezvous.NetworkInterfaces;
import io.jccl.rendezvous.RankRegistration;
import io.jccl.wire.FrameType;
import io.jccl.wire.Handshake;
import io.jccl.wire.Limits;
import io.jccl.wire.Reactor;
import io.jccl.wire.SessionKeys;
import io.jccl.wire.WireException;
import io.jccl.wire.WireWriter;
import java.io.IOException;
import java.net.InetAddress;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The two steps by which a rank joins a group: it registers at the rendezvous server, then connects to the coordinator.
 * See {@link Bootstrap}.
 */
final class Entry {

    private static final Logger LOG = LoggerFactory.getLogger(Bootstrap.class);

    /** Maximum time in which a rank that is interrupted before it has registered tries to register and leave. */
    private static final long LEAVE_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** Maximum time for which rank 0, when it gives up, waits until the other ranks have received the reason. */
    private static final long NOTIFICATION_MILLIS = 1000;

    private Entry() {}

    /**
     * Joins a group.
     *
     * @param knownJobKey the key that processes which join later must prove; null to derive it from the rendezvous
     *     server's secret
     * @param retriesRefusals true to try again after a refused proof, because another server may use the address for a
     *     while
     * @param ifRefused the conclusion if nobody listens at the server's addresses
     * @param shared a started reactor that outlives the group; null for a reactor of this rank's own
     */
    static Bootstrap join(
            Connector.Target target,
            byte[] knownJobKey,
            RankRegistration.Hello hello,
            boolean retriesRefusals,
            Connector.IfRefused ifRefused,
            BootstrapOptions options,
            Reactor shared) {
        int rank = hello.rank();
        int size = hello.size();
        if (size < 1 || size > Limits.MAX_RANKS || rank < 0 || rank >= size) {
            throw new IllegalArgumentException("rank=" + rank + " size=" + size + ": expected a size of 1 to "
                    + Limits.MAX_RANKS + " and a rank from 0 to size-1");
        }
        long start = System.nanoTime();
        long deadline = start + options.initTimeout().toNanos();
        long initMillis = options.initTimeout().toMillis();
        String who = "rank " + rank;
        byte[][] used = new byte[1][]; // the secret of the rendezvous server to which this rank last tried to connect
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
                        .encrypting(options.encrypted())
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
            byte[] jobKey = knownJobKey == null ? SessionKeys.jobKey(used[0]) : knownJobKey;
            if (coordinator != null) {
                // so that the coordinator learns of ranks that end before they connect to it
                coordinator.listenTo(rendezvous);
            }
            Bootstrap group = enter(
                    new Welcomed(rendezvous, welcome, used[0], jobKey),
                    hello,
                    coordinator,
                    options,
                    shared,
                    start,
                    deadline);
            joined = true;
            return group;
        } catch (InterruptedCommunicationException e) {
            // when ranks reform, the leader probes ranks that have not come, so this rank need not come and leave
            boolean leaderAsks = ifRefused == Connector.IfRefused.RANK_ZERO_ENDED;
            if (welcome == null && !leaderAsks) {
                comeAndLeave(noting, hello, ifRefused, options);
            }
            throw e;
        } catch (RuntimeException | Error e) {
            if (coordinator != null) {
                coordinator.refuse("rank 0 gave up: " + Causes.describe(e));
                if (welcome != null) {
                    coordinator.awaitAllNotified(
                            // the other ranks may still be connecting to get the reason, and this process may end soon
                            NOTIFICATION_MILLIS);
                }
            } else if (welcome != null) {
                report(rendezvous, who, Causes.describe(e));
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

    /**
     * Registers a rank that was interrupted before it had registered, and leaves at once. The other ranks notice only
     * the end of a registered rank.
     */
    private static void comeAndLeave(
            Connector.Target target,
            RankRegistration.Hello hello,
            Connector.IfRefused ifRefused,
            BootstrapOptions options) {
        boolean interrupted = Thread.interrupted(); // a thread whose interrupt flag is set cannot connect
        String who = "rank " + hello.rank();
        Connector connector = new Connector(Handshake.Purpose.RENDEZVOUS, who, false, ifRefused, options.generation())
                .encrypting(options.encrypted());
        try (FrameStream server = connector.connect(target, System.nanoTime() + LEAVE_NANOS)) {
            server.writeFrame(FrameType.HELLO, hello.write());
        } catch (JcclException | IOException e) {
            LOG.debug("{} was interrupted before it came, and cannot say so: {}", who, Causes.describe(e));
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /**
     * Sends the other ranks the reason why this rank leaves after it has come. Has no effect if the rank has already
     * left the rendezvous server for the coordinator.
     */
    private static void report(FrameStream rendezvous, String who, String why) {
        try {
            rendezvous.writeFrame(FrameType.REPORT, new WireWriter().text(why, Limits.MAX_TEXT));
        } catch (IOException e) {
            LOG.debug("{} cannot say why it leaves: {}", who, Causes.describe(e));
        }
    }

    /**
     * The state of this rank after all ranks have met at the rendezvous server.
     *
     * @param rendezvous the connection to the rendezvous server
     * @param welcome what the server has sent to all ranks
     * @param secret the secret of the rendezvous server
     * @param jobKey the key that processes which join later must prove
     */
    @SuppressWarnings("ArrayRecordComponent") // the arrays are read at once, never compared
    record Welcomed(FrameStream rendezvous, byte[] welcome, byte[] secret, byte[] jobKey) {}

    /**
     * Executes the second step: after all ranks have met at the rendezvous server, connects this rank to the
     * coordinator.
     */
    static Bootstrap enter(
            Welcomed welcomed,
            RankRegistration.Hello hello,
            CoordinatorServer coordinator,
            BootstrapOptions options,
            Reactor shared,
            long start,
            long deadline) {
        String who = "rank " + hello.rank();
        FrameStream rendezvous = welcomed.rendezvous();
        CoordinatorAddress accepted = offerOf(who, welcomed.welcome());
        byte[] secret = Handshake.derive(welcomed.secret(), accepted.salt());
        Connector.ServerAddress server = new Connector.ServerAddress(accepted.addresses(), secret);
        InetAddress local = reachable(rendezvous.localAddress(), accepted);
        CoordinatorConnection client = CoordinatorConnection.join(
                server, hello, rendezvous, coordinator != null, local, shared, options, deadline);
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
            return new Bootstrap(hello.rank(), hello.size(), secret, welcomed.jobKey(), options, client, coordinator);
        } finally {
            if (!joined) {
                client.close();
            }
        }
    }

    /**
     * Returns the address by which other ranks best reach this one; null for a loopback address in a job of several
     * hosts.
     */
    private static InetAddress reachable(InetAddress toRendezvous, CoordinatorAddress coordinator) {
        boolean onlyThisHost = coordinator.addresses().get(0).getAddress().isLoopbackAddress();
        return toRendezvous.isLoopbackAddress() && !onlyThisHost ? null : toRendezvous;
    }

    /**
     * Returns the rendezvous server's answer, or null if the connection broke because the leader may have replaced the
     * server. Each attempt to reform opens a new server, and this rank may be an attempt ahead of the leader. If the
     * leader has ended instead, the next attempt to connect shows it.
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

    /**
     * Returns the usable addresses, first the one that reached the rendezvous server. If that is a loopback address,
     * all ranks are on this host.
     */
    static List<InterfaceCandidate> coordinatorCandidates(BootstrapOptions options, InetAddress toRendezvous) {
        return NetworkInterfaces.preferring(NetworkInterfaces.usable(options), toRendezvous);
    }
}
