package io.jccl.membership;

import io.jccl.BootstrapException;
import io.jccl.CommunicationTimeoutException;
import io.jccl.InterruptedCommunicationException;
import io.jccl.JcclException;
import io.jccl.rendezvous.BootstrapOptions;
import io.jccl.rendezvous.Connector;
import io.jccl.rendezvous.NetworkInterfaces;
import io.jccl.rendezvous.RankRegistration;
import io.jccl.rendezvous.RendezvousServer;
import io.jccl.wire.Addresses;
import io.jccl.wire.Handshake;
import io.jccl.wire.LastEntered;
import io.jccl.wire.RankList;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.SortedSet;
import java.util.function.LongSupplier;
import java.util.stream.IntStream;

/**
 * The remaining ranks of a group, which initialise a new group. The old network may be gone, and rank 0 with it. So
 * every rank opens a rendezvous server on its {@link ReservedPort}, and all register at the server of the first
 * remaining rank, see {@link ReformRendezvous}.
 */
final class RemainingRanks {

    private static final int MAX_KEY_CHARS = 300;

    private final String group;
    private final int rank;
    private final int size;
    private final List<Integer> left;
    private final SortedSet<Integer> excluded;
    private final List<String> rendezvousAddresses;
    private final int joiners;
    private final byte[] jobKey;
    private final List<EarlierGroup> earlier;
    private final boolean lasts;
    private final Optional<LastEntered> entered;
    private final BootstrapOptions options;

    /**
     * The group that loses ranks.
     *
     * @param name the name of the group
     * @param rank this rank in the group
     * @param jobKey the key that processes which join must prove
     * @param rendezvousAddresses the addresses of all ranks of the group, see {@link ReservedPort}
     * @param earlier groups before this one of which ranks may still live
     */
    @SuppressWarnings("ArrayRecordComponent") // the array is read at once, never compared
    record OldGroup(
            String name, int rank, byte[] jobKey, List<String> rendezvousAddresses, List<EarlierGroup> earlier) {}

    /**
     * Creates the remaining ranks.
     *
     * @param excluded ranks of the old group that are left out; must not contain this rank
     * @param joiners the number of processes that join
     * @param lasts true if the ranks that are left out may continue, too
     * @param entered the last operations that this rank entered in the old group, if all ranks can continue in that
     *     group; else empty
     * @param options the settings of the new group, with its generation
     */
    RemainingRanks(
            OldGroup old,
            SortedSet<Integer> excluded,
            int joiners,
            boolean lasts,
            Optional<LastEntered> entered,
            BootstrapOptions options) {
        this.group = old.name();
        this.rank = old.rank();
        this.earlier = old.earlier();
        this.lasts = lasts;
        this.entered = entered;
        this.joiners = joiners;
        this.jobKey = old.jobKey();
        this.rendezvousAddresses = old.rendezvousAddresses();
        this.size = rendezvousAddresses.size();
        this.excluded = excluded;
        this.options = options;
        this.left = IntStream.range(0, size)
                .filter(one -> !excluded.contains(one))
                .boxed()
                .toList();
    }

    /** Returns the name of the old group. */
    String group() {
        return group;
    }

    int rank() {
        return rank;
    }

    /** Returns the number of ranks of the old group. */
    int oldSize() {
        return size;
    }

    /** Returns the remaining ranks, by their numbers in the old group, in the order of the new group. */
    List<Integer> left() {
        return left;
    }

    /** Returns true if this rank is the leader, at which the others register. */
    boolean leads() {
        return left.get(0) == rank;
    }

    /** Returns the ranks of the old group that are left out. */
    SortedSet<Integer> excluded() {
        return excluded;
    }

    /** Returns groups before the old group of which ranks may still live. */
    List<EarlierGroup> earlier() {
        return earlier;
    }

    /** Returns the number of processes that join. */
    int joiners() {
        return joiners;
    }

    /** Returns the number of ranks of the new group. */
    int newSize() {
        return left.size() + joiners;
    }

    /** Returns the generation of the new group. */
    int generation() {
        return options.generation();
    }

    /** Returns the key that processes must prove in order to join. */
    Handshake.Key joinKey() {
        return new Handshake.Key(Handshake.Purpose.JOIN, jobKey, generation(), options.encrypted());
    }

    /** Returns the proof that a rank's rendezvous server demands. */
    Handshake.Key rendezvousKey(byte[] secret) {
        return new Handshake.Key(Handshake.Purpose.RENDEZVOUS, secret, generation(), options.encrypted());
    }

    /** Returns a second port at which processes that join find this rank; 0 if there is none. */
    int memberPort() {
        return options.memberPort();
    }

    /** Returns the address on which this rank listens; null for all addresses. */
    InetAddress bindAddress() {
        return NetworkInterfaces.bindAddress(NetworkInterfaces.usable(options));
    }

    LongSupplier clock() {
        return options.clock();
    }

    /** Returns the addresses of the leader, for processes that join. */
    byte[] leaderAddresses() {
        return Addresses.encode(addresses(left.get(0)));
    }

    /** Returns the addresses of a rank's reserved port in the old group. */
    List<InetSocketAddress> addresses(int oldRank) {
        return ReservedPort.decode(rendezvousAddresses.get(oldRank));
    }

    /**
     * Returns the text that must be equal on all remaining ranks: the ranks that they exclude, and the number of
     * processes that they await.
     */
    String key() {
        return excludedText() + (joiners == 0 ? "" : " and awaits joiners=" + joiners);
    }

    private String excludedText() {
        String text = RankList.text(excluded);
        if (text.length() <= MAX_KEY_CHARS && !text.endsWith("more")) {
            return text;
        }
        byte[] all = excluded.toString().getBytes(StandardCharsets.US_ASCII);
        return text + " hash=" + HexFormat.of().formatHex(Handshake.derive(all, "excluded"));
    }

    /**
     * Returns true if another rank has entered operations of the old group that this rank has not, and this rank can
     * still enter them.
     */
    boolean isBehind(RankRegistration.Hello other) {
        return entered.isPresent() && !entered.get().hasReached(other.entered());
    }

    RankRegistration.Hello hello() {
        return new RankRegistration.Hello(
                options.version(),
                left.indexOf(rank),
                newSize(),
                rank,
                entered.orElse(LastEntered.NOTHING),
                key(),
                new byte[0]);
    }

    /** Returns the first frame for a process that joins. */
    RankRegistration.Hello hello(int newRank) {
        return new RankRegistration.Hello(options.version(), newRank, newSize(), -1, key(), new byte[0]);
    }

    /**
     * Initialises the new group.
     *
     * @param own this rank's reserved port
     * @param secret the secret of the old group; the secret of the rendezvous is derived from it and the generation
     * @param isMinority true if this rank, which leads, refuses to continue with so few ranks
     * @throws BootstrapException if the ranks do not all exclude the same ranks, or are a minority
     * @throws io.jccl.PeerFailedException if ranks have ended; names them by their ranks in the new group
     * @throws CommunicationTimeoutException if not all came in time; names the missing ones by their ranks in the new
     *     group
     */
    Bootstrap initialize(ReservedPort own, byte[] secret, boolean isMinority) {
        byte[] rendezvousSecret = Handshake.derive(secret, "reform generation " + generation());
        Connector.ServerAddress leader = new Connector.ServerAddress(addresses(left.get(0)), rendezvousSecret);
        RendezvousServer server = own.open(options, rendezvousSecret, this);
        if (isMinority) {
            throw refuseMinority(server);
        }
        boolean lingers = true;
        try {
            Bootstrap group = Bootstrap.join(leader, this, jobKey, options);
            server.complete();
            return group;
        } catch (JcclException e) {
            // The leader's server stays open for ranks that are late. The server of any other rank stays open after a
            // time-out or an interrupt, for a leader that is late and has not seen this rank leave.
            lingers = leads()
                    || e instanceof CommunicationTimeoutException
                    || e instanceof InterruptedCommunicationException;
            String text = "rank " + rank + " gave up: " + e.getMessage();
            server.fail(RankRegistration.Cause.LOST, Set.of(left.indexOf(rank)), text);
            throw e;
        } finally {
            if (!lingers) {
                server.close();
            }
        }
    }

    private BootstrapException refuseMinority(RendezvousServer server) {
        String text = "only " + left.size() + " of " + size + " ranks are left, " + RankList.text(left)
                + ", and enough of ranks " + RankList.text(excluded)
                + " may live to have continued without"
                + " these: join a new communicator, or ask for Quorum.ANY if you know that they have not";
        server.fail(RankRegistration.Cause.REFUSED, Set.of(), text);
        return new BootstrapException(text);
    }

    /**
     * Returns the earlier groups of the new group, see {@link EarlierGroup}.
     *
     * @param own this rank's ports, which are shared; empty if the result is for another process
     */
    List<EarlierGroup> earlierGroups(List<ReservedPort> own) {
        List<EarlierGroup> groups = new ArrayList<>();
        for (EarlierGroup group : earlier) {
            groups.add(group.after(left, !own.isEmpty()));
        }
        List<Integer> ranks = new ArrayList<>();
        for (int one = 0; one < size; one++) {
            ranks.add(left.indexOf(one));
        }
        groups.add(new EarlierGroup(rendezvousAddresses, ranks, lasts, EarlierGroup.shared(own)));
        return groups;
    }
}
