package io.jccl.bootstrap;

import io.jccl.BootstrapException;
import io.jccl.InterruptedCommunicationException;
import io.jccl.JcclException;
import io.jccl.PeerFailedException;
import io.jccl.UniqueId;
import io.jccl.internal.Causes;
import java.io.IOException;
import java.net.InetAddress;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The two steps by which a rank joins a group: from the rendezvous server to the coordinator, see {@link Bootstrap}. */
final class Entry {

    private static final Logger LOG = LoggerFactory.getLogger(Bootstrap.class);

    /** How long a rank that is interrupted before it has come tries to reach those that wait for it. */
    private static final long LEAVE_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** How long rank 0 waits for the others to receive the reason why it gives up. */
    private static final long NOTIFICATION_MILLIS = 1000;

    private Entry() {}

    /**
     * Joins a group.
     *
     * @param knownJobKey what processes prove that join later; null to make it from the rendezvous server's secret
     * @param retriesRefusals whether another server may have the address for now
     * @param ifRefused what it means that nobody listens there
     * @param shared a reactor that has been started and outlives the group; null for one of this rank's own
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
            byte[] jobKey = knownJobKey == null ? Bootstrap.jobKey(used[0]) : knownJobKey;
            if (coordinator != null) {
                coordinator.listenTo(rendezvous); // which reports ranks that end before they reach the coordinator
            }
            Bootstrap group =
                    enter(rendezvous, welcome, used[0], jobKey, hello, coordinator, options, shared, start, deadline);
            joined = true;
            return group;
        } catch (InterruptedCommunicationException e) {
            boolean leaderAsks = ifRefused == Connector.IfRefused.RANK_ZERO_ENDED; // where ranks reform
            if (welcome == null && !leaderAsks) {
                comeAndLeave(noting, hello, ifRefused, options);
            }
            throw e;
        } catch (RuntimeException | Error e) {
            if (coordinator != null) {
                coordinator.refuse("rank 0 gave up: " + Causes.describe(e));
                if (welcome != null) {
                    coordinator.awaitAllNotified(
                            NOTIFICATION_MILLIS); // they are on their way, and this process may end now
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
            LOG.debug("{} was interrupted before it came, and cannot say so: {}", who, Causes.describe(e));
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Sends the others the reason why a rank leaves that has come, unless it is at the coordinator already. */
    private static void report(FrameStream rendezvous, String who, String why) {
        try {
            rendezvous.writeFrame(FrameType.REPORT, new WireWriter().text(why, Codecs.MAX_TEXT));
        } catch (IOException e) {
            LOG.debug("{} cannot say why it leaves: {}", who, Causes.describe(e));
        }
    }

    /** The second step: from the rendezvous, where all have come, to the coordinator. */
    static Bootstrap enter(
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
            return new Bootstrap(hello.rank(), hello.size(), secret, jobKey, options, client, coordinator);
        } finally {
            if (!joined) {
                client.close();
            }
        }
    }

    /** The address by which other ranks best reach this one; null for a loopback address in a job of several hosts. */
    private static InetAddress reachable(InetAddress toRendezvous, CoordinatorAddress coordinator) {
        boolean onlyThisHost = coordinator.addresses().get(0).getAddress().isLoopbackAddress();
        return toRendezvous.isLoopbackAddress() && !onlyThisHost ? null : toRendezvous;
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
    static List<InterfaceCandidate> coordinatorCandidates(BootstrapOptions options, InetAddress toRendezvous) {
        return NetworkInterfaces.preferring(NetworkInterfaces.usable(options), toRendezvous);
    }
}
