package io.jccl.bootstrap;

import io.jccl.BootstrapException;
import io.jccl.CommunicationTimeoutException;
import io.jccl.InterruptedCommunicationException;
import io.jccl.JcclException;
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
 * The remaining ranks of a group, and how they initialise a group of their own. The old network may be gone, and rank 0
 * with it: so every rank opens a rendezvous server on its {@link ReservedPort}, and all register at the first rank's,
 * see {@link ReformRendezvous}.
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
     * The ranks that are left.
     *
     * @param group the name of the old group
     * @param rank this rank of the old group
     * @param excluded ranks of the old group that are left out; not this one
     * @param joiners how many processes join
     * @param jobKey what they prove
     * @param rendezvousAddresses of all ranks of the old group, see {@link ReservedPort}
     * @param earlier groups before that one, in which ranks may be left
     * @param lasts whether the ranks that are left out may go on, too
     * @param entered how far this rank has come in the old group, where all its ranks can go on with that; else empty
     * @param options of the new group, with its generation
     */
    RemainingRanks(
            String group,
            int rank,
            SortedSet<Integer> excluded,
            int joiners,
            byte[] jobKey,
            List<String> rendezvousAddresses,
            List<EarlierGroup> earlier,
            boolean lasts,
            Optional<LastEntered> entered,
            BootstrapOptions options) {
        this.group = group;
        this.rank = rank;
        this.earlier = earlier;
        this.lasts = lasts;
        this.entered = entered;
        this.joiners = joiners;
        this.jobKey = jobKey;
        this.size = rendezvousAddresses.size();
        this.excluded = excluded;
        this.rendezvousAddresses = rendezvousAddresses;
        this.options = options;
        this.left = IntStream.range(0, size)
                .filter(one -> !excluded.contains(one))
                .boxed()
                .toList();
    }

    /** The name of the old group. */
    String group() {
        return group;
    }

    int rank() {
        return rank;
    }

    /** How many ranks the old group has. */
    int oldSize() {
        return size;
    }

    /** The ranks of the old group, in the order of the new one. */
    List<Integer> left() {
        return left;
    }

    /** Whether the ranks register at this one. */
    boolean leads() {
        return left.get(0) == rank;
    }

    /** How many processes join. */
    int joiners() {
        return joiners;
    }

    /** How many ranks the new group has. */
    int newSize() {
        return left.size() + joiners;
    }

    /** The generation of the new group. */
    int generation() {
        return options.generation();
    }

    /** What processes prove that join. */
    Handshake.Key joinKey() {
        return new Handshake.Key(Handshake.Purpose.JOIN, jobKey, generation());
    }

    /** Where processes that join find this rank too; 0: nowhere else. */
    int memberPort() {
        return options.memberPort();
    }

    /** What this rank listens on; null for all addresses. */
    InetAddress bindAddress() {
        return NetworkInterfaces.bindAddress(NetworkInterfaces.usable(options));
    }

    LongSupplier clock() {
        return options.clock();
    }

    /** Where processes that join find the rank that leads. */
    byte[] leaderAddresses() {
        return RendezvousServer.encodeAddresses(addresses(left.get(0)));
    }

    List<InetSocketAddress> addresses(int oldRank) {
        return ReservedPort.decode(rendezvousAddresses.get(oldRank));
    }

    /** What all remaining ranks must have in common: the ranks that they exclude, and how many processes they await. */
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

    /** Whether another rank has come further in the old group than this one, which it goes on with. */
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

    /** The hello of a process that joins. */
    RankRegistration.Hello hello(int newRank) {
        return new RankRegistration.Hello(options.version(), newRank, newSize(), -1, key(), new byte[0]);
    }

    /**
     * Initialises the new group.
     *
     * @param own this rank's port
     * @param secret of the old group; that of the rendezvous depends on it and on the generation
     * @param isMinority whether this rank, which leads, refuses to continue with so few
     * @throws BootstrapException if the ranks do not exclude the same ones
     * @throws io.jccl.PeerFailedException if ranks have ended; names them by their ranks in the new group
     * @throws CommunicationTimeoutException if not all came in time; names them by their ranks in the new group
     */
    Bootstrap initialize(ReservedPort own, byte[] secret, boolean isMinority) {
        byte[] rendezvousSecret = Handshake.derive(secret, "reform generation " + generation());
        Connector.ServerAddress leader = new Connector.ServerAddress(addresses(left.get(0)), rendezvousSecret);
        RendezvousServer server = own.open(options, rendezvousSecret, this);
        if (isMinority) {
            String text = "only " + left.size() + " of " + size + " ranks are left, " + RankList.text(left)
                    + ", and of ranks " + RankList.text(excluded)
                    + " so many may live that they can have gone on without"
                    + " these: join a new communicator, or ask for Quorum.ANY if you know that they have not";
            server.fail(RankRegistration.Cause.REFUSED, Set.of(), text);
            throw new BootstrapException(text);
        }
        boolean lingers = true;
        try {
            Bootstrap group = Bootstrap.join(leader, this, jobKey, options);
            server.complete();
            return group;
        } catch (JcclException e) {
            // The leader answers ranks that are late; the others answer a leader that is late and has not seen them
            // leave.
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

    /**
     * Whether so few remain that the others may continue without them: no more than half of the ranks that are not
     * known to have ended; of exactly half, those without the lowest rank. Of a group before, where ranks may be left that
     * have not come here, half are never enough.
     *
     * @param endedCount whether ranks whose ports are closed have ended; otherwise they may have continued without this
     *     one
     */
    boolean isMinority(boolean endedCount) {
        PortProbe probe = new PortProbe(rank);
        int living = size;
        for (int one : excluded) {
            if (isMajorityOf(living) || !endedCount) {
                break;
            }
            living -= hasEnded(probe, one) ? 1 : 0;
        }
        if (!isMajorityOf(living)) {
            return true;
        }
        for (EarlierGroup group : earlier) {
            if (isMinorityOf(group, probe, endedCount)) {
                return true;
            }
        }
        return false;
    }

    private boolean isMinorityOf(EarlierGroup group, PortProbe probe, boolean endedCount) {
        int mine = 0;
        int living = 0;
        for (int one = 0; one < group.ranks().size(); one++) {
            int now = group.ranks().get(one);
            if (left.contains(now)) {
                mine++;
                living++;
            } else {
                boolean ended = endedCount
                        && probe.hasEnded(ReservedPort.decode(group.addresses().get(one)))
                        && (now == EarlierGroup.NONE || hasEnded(probe, now));
                living += ended ? 0 : 1;
            }
        }
        return 2 * mine <= living;
    }

    private boolean isMajorityOf(int living) {
        return 2 * left.size() > living || 2 * left.size() == living && left.get(0) == 0;
    }

    /** It may have lost this group's port, and have kept that of one before. */
    private boolean hasEnded(PortProbe probe, int oldRank) {
        boolean ended = probe.hasEnded(addresses(oldRank));
        for (EarlierGroup group : earlier) {
            int before = group.ranks().indexOf(oldRank);
            ended = ended
                    && (before < 0
                            || probe.hasEnded(
                                    ReservedPort.decode(group.addresses().get(before))));
        }
        return ended;
    }

    /**
     * What the new group has to know of those before.
     *
     * @param own this rank's ports, which are shared; empty where it is for another process
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
