package io.jccl.tuning;

import io.jccl.Collective;

/**
 * The numbers of hops, steps and bytes of an operation. The cost model multiplies them by the constants of
 * {@link HostCosts}; calibration solves for these constants.
 *
 * @param localHops number of hops between ranks of one host on the longest path
 * @param netHops number of hops between hosts on that path
 * @param steps number of steps that the busiest rank handles one after the other
 * @param bytes number of bytes that the busiest rank of a channel forwards, including those that fill the pipeline
 * @param netBytes number of these bytes that cross hosts if there are several
 * @param linkBytes number of bytes that the link of a host carries in one direction, for all ranks of the host
 */
public record OperationCost(
        double localHops, double netHops, double steps, double bytes, double netBytes, double linkBytes) {

    private static final int MAX_NEIGHBOURS = 3;
    /**
     * Number of slots of a connection, kSlots in the native library: a rank can take that many steps before it waits.
     */
    static final int SLOTS = 8;

    /** A cost of which all bytes may cross hosts. */
    public OperationCost(double localHops, double netHops, double steps, double bytes) {
        this(localHops, netHops, steps, bytes, bytes);
    }

    /** A cost in which one rank of each host at a time sends to other hosts. */
    public OperationCost(double localHops, double netHops, double steps, double bytes, double netBytes) {
        this(localHops, netHops, steps, bytes, netBytes, netBytes);
    }

    /**
     * Returns the cost of an operation of a ring, tree or direct algorithm. {@code bytes} is the larger of a rank's
     * send and receive buffer; it is divided among the channels.
     */
    public static OperationCost of(Collective collective, Choice choice, CommunicatorShape shape, double bytes) {
        double share = bytes / choice.channels();
        int chunkBytes = choice.chunkBytes();
        return switch (choice.algorithm()) {
            case RING -> ring(collective, shape, share, choice);
            case TREE -> tree(shape, share, chunkBytes);
            case DIRECT -> switch (DirectForm.of(choice)) {
                case ONE_SHOT -> isScan(collective)
                        ? pipelined(shape, shape.ranks() - 1, share, choice)
                        : oneShot(collective, shape, share, chunkBytes);
                case TWO_SHOT -> twoShot(shape, share, chunkBytes);
                case LEADERS -> byLeaders(collective, shape, share, choice);
                case ROUNDS -> inRounds(collective, shape, share, choice);
                case SHARES -> byShares(collective, shape, share, choice);
            };
            default -> throw new IllegalArgumentException(
                    "algorithm=" + choice.algorithm().label() + ": expected ring, tree or direct");
        };
    }

    private static OperationCost ring(Collective collective, CommunicatorShape shape, double share, Choice choice) {
        int chunkBytes = choice.chunkBytes();
        int ranks = shape.ranks();
        int around = ranks - 1;
        return switch (collective) {
            case ALL_REDUCE -> rotating(shape, 2 * around, share / ranks, chunkBytes);
            case ALL_GATHER, REDUCE_SCATTER -> rotating(shape, around, share / ranks, chunkBytes);
            case BARRIER -> rotating(shape, 2 * around, 1, chunkBytes);
            default -> pipelined(shape, around, share, choice);
        };
    }

    /**
     * Returns the cost of rotating shards: every rank works on another shard in every step, in rounds of one chunk
     * each.
     */
    private static OperationCost rotating(CommunicatorShape shape, int steps, double shard, int chunkBytes) {
        double rounds = Math.max(1, Math.ceil(shard / chunkBytes));
        return new OperationCost(localPart(shape, steps), netPart(shape, steps), rounds * steps, steps * shard);
    }

    /** Returns the cost of chunks that follow each other along a chain of ranks. */
    private static OperationCost pipelined(CommunicatorShape shape, int hops, double share, Choice choice) {
        int chunkBytes = choice.chunkBytes();
        double chunks = Math.max(1, Math.ceil(share / chunkBytes));
        double steps = chunks + hops; // the last rank works on the last chunk when all others are done
        return new OperationCost(
                localPart(shape, hops),
                netPart(shape, hops) + (shape.oneHost() ? 0 : furtherMessages(chunks * choice.channels())),
                steps,
                steps * Math.min(chunkBytes, share));
    }

    /**
     * Returns the time, in hops, of the messages of a rank after the first: each takes about half a hop. Those of all
     * channels take turns.
     */
    private static double furtherMessages(double messages) {
        return (messages - 1) / 2.0;
    }

    /**
     * Returns the cost of a tree, where data travels up and down again. The busiest rank has up to three neighbours,
     * and about half of its work for the second and the third overlaps: 4 ranks on 2 cores took 1.5 times as long as
     * the ring for 4 and 16 MiB.
     */
    private static OperationCost tree(CommunicatorShape shape, double share, int chunkBytes) {
        double chunks = Math.max(1, Math.ceil(share / chunkBytes));
        int net = Math.min(shape.treeDepth(), CommunicatorShape.treeDepthOver(shape.hosts()));
        int local = shape.treeDepth() - net;
        double hops = 2.0 * (local + net);
        double steps = 2 * chunks + hops - 2;
        double busy = (1 + Math.min(MAX_NEIGHBOURS, shape.ranks() - 1)) / 2.0;
        return new OperationCost(
                2.0 * local,
                2.0 * net * netHops(shape.hostsPerCore()),
                steps,
                busy * Math.max(0, steps) * Math.min(chunkBytes, share));
    }

    private static OperationCost twoShot(CommunicatorShape shape, double share, int chunkBytes) {
        int peers = shape.ranks() - 1;
        double shard = share / shape.ranks();
        double chunks = Math.max(1, Math.ceil(shard / chunkBytes));
        return new OperationCost(2, 0, 2 * chunks * peers, 2 * shard * peers);
    }

    /**
     * Returns true if a collective consists of sends and receives between pairs of ranks. Such a collective needs no
     * ring, and has no kernel of its own.
     */
    public static boolean isPairwise(Collective collective) {
        return switch (collective) {
            case ALL_REDUCE, REDUCE, BROADCAST, ALL_GATHER, REDUCE_SCATTER, BARRIER -> false;
            case ALL_TO_ALL, GATHER, SCATTER, SEND_RECV, SCAN, EXSCAN -> true;
        };
    }

    /** Returns true if each rank needs the result of the rank before it. */
    static boolean isScan(Collective collective) {
        return collective == Collective.SCAN || collective == Collective.EXSCAN;
    }

    static boolean isRooted(Collective collective) {
        return collective == Collective.BROADCAST || collective == Collective.REDUCE;
    }

    /**
     * Returns the cost of an operation through leaders: each chunk travels to the leader, between leaders, and from the
     * leader to its host's ranks. A broadcast or reduce has one local hop instead of two, and its chunks follow each
     * other without a wait: when the root is done, the last chunk is still on its way inside hosts. In an all-gather or
     * reduce-scatter each leader sends only its host's share to another.
     */
    private static OperationCost byLeaders(
            Collective collective, CommunicatorShape shape, double share, Choice choice) {
        int chunkBytes = choice.chunkBytes();
        boolean rooted = isRooted(collective);
        int messages = shape.hosts() - 1;
        int members = shape.localRanks() - 1;
        int peers = messages + members;
        double data = collective == Collective.BARRIER ? 1 : share;
        double toLeader =
                switch (collective) {
                    case ALL_GATHER, REDUCE_SCATTER -> data / shape.hosts();
                    case ALL_TO_ALL -> data * shape.localRanks() / shape.hosts();
                    default -> data;
                };
        double netBytes = toLeader * messages;
        double chunks = Math.max(1, Math.ceil(data / chunkBytes));
        if (rooted) {
            double last = Math.min(chunkBytes, data);
            return new OperationCost(
                    1,
                    netHops(messages * shape.hostsPerCore()) + messages * furtherMessages(chunks * choice.channels()),
                    chunks * peers,
                    (data + last) * members + netBytes,
                    netBytes);
        }
        return new OperationCost(
                2 * chunks,
                chunks * netHops(messages * shape.hostsPerCore()),
                chunks * peers,
                data * members + netBytes,
                netBytes);
    }

    /**
     * Returns the cost of an operation through leaders that exchange data in rounds, or along a tree. If the number of
     * hosts is not a power of two, some hosts rest during the rounds, which takes two further hops. A hop is a step that
     * sends and one that receives, because nothing can be sent before the previous round has ended.
     */
    private static OperationCost inRounds(Collective collective, CommunicatorShape shape, double share, Choice choice) {
        int members = shape.localRanks() - 1;
        int rounds = CommunicatorShape.treeDepthOver(shape.hosts());
        boolean rooted = isRooted(collective);
        boolean allPartake = rooted || Integer.bitCount(shape.hosts()) == 1;
        int hops = allPartake ? rounds : rounds + 1;
        double data = collective == Collective.BARRIER ? 1 : share;
        double netBytes =
                switch (collective) {
                    case ALL_GATHER, REDUCE_SCATTER -> data * (shape.hosts() - 1) / shape.hosts()
                            + (allPartake ? 0 : data);
                    default -> data * hops;
                };
        double chunks = Math.max(1, Math.ceil(data / choice.chunkBytes()));
        double netHops = hops * netHops(shape.hostsPerCore());
        return new OperationCost(
                rooted ? 1 : 2 * chunks,
                rooted ? netHops + rounds * furtherMessages(chunks * choice.channels()) : chunks * netHops,
                chunks * (2 * hops + members),
                data * members + netBytes,
                netBytes);
    }

    /**
     * Returns the cost of an operation in which every rank carries a share of its host's data. Each rank exchanges its
     * part with one rank of each other host; inside a host, parts go to all ranks, or come from all. An all-reduce does
     * both with its shards. The ranks of a host that share a core send their messages one after the other.
     */
    private static OperationCost byShares(Collective collective, CommunicatorShape shape, double share, Choice choice) {
        if (collective == Collective.ALL_TO_ALL) {
            return exchangeByShares(shape, share, choice);
        }
        int passes = collective == Collective.ALL_REDUCE ? 2 : 1;
        double part = share / shape.ranks();
        int partners = shape.hosts() - 1;
        int passedOn = (shape.localRanks() - 1) * shape.hosts();
        double chunks = Math.max(1, Math.ceil(part / choice.chunkBytes()));
        double netBytes = passes * part * partners;
        return new OperationCost(
                shape.localRanks() == 1 ? 0 : passes,
                passes
                        * (netHops(partners * shape.ranksPerCore() * shape.hostsPerCore())
                                + partners * furtherMessages(chunks * choice.channels())),
                passes * chunks * (partners + passedOn),
                passes * part * passedOn + netBytes,
                netBytes,
                netBytes * shape.localRanks());
    }

    /**
     * Returns the cost of an all-to-all in which each rank collects the blocks of its host for its partners, and sends
     * each partner one message.
     */
    private static OperationCost exchangeByShares(CommunicatorShape shape, double share, Choice choice) {
        double block = share / shape.ranks();
        int partners = shape.hosts() - 1;
        int members = shape.localRanks() - 1;
        double message = block * shape.localRanks();
        double messages = partners * Math.max(1, Math.ceil(message / choice.chunkBytes()));
        double netBytes = message * partners;
        return new OperationCost(
                1,
                netHops(messages * shape.ranksPerCore()),
                messages + members * shape.hosts(),
                block * members * shape.hosts() + netBytes,
                netBytes,
                netBytes * shape.localRanks());
    }

    /** Returns the time, in hops, of simultaneous messages of a rank to other hosts. */
    private static double netHops(double messages) {
        return 1 + furtherMessages(messages);
    }

    /** Returns the cost of an operation in which every rank sends to every other in one hop. */
    private static OperationCost oneShot(Collective collective, CommunicatorShape shape, double share, int chunkBytes) {
        int peers = shape.ranks() - 1;
        double toEach =
                switch (collective) {
                    case ALL_REDUCE, REDUCE, BROADCAST -> share;
                    case SEND_RECV -> share / Math.max(1, peers);
                    case BARRIER -> 1;
                    default -> share / shape.ranks();
                };
        double chunks = Math.max(1, Math.ceil(toEach / chunkBytes));
        boolean far = !shape.oneHost();
        double messages = Math.max(1, shape.ranks() - shape.localRanks()) * shape.hostsPerCore();
        double netHops = far ? netHops(messages) : 0;
        return new OperationCost(far ? 0 : 1, netHops, chunks * peers, toEach * peers);
    }

    /** Returns the time, in hops, of those hops that cross hosts. Hosts that share a core send one after the other. */
    private static double netPart(CommunicatorShape shape, int hops) {
        return shape.oneHost() ? 0 : crossing(shape, hops) * netHops(shape.hostsPerCore());
    }

    private static double localPart(CommunicatorShape shape, int hops) {
        return shape.oneHost() ? hops : hops - crossing(shape, hops);
    }

    private static double crossing(CommunicatorShape shape, int hops) {
        return (double) hops * shape.hosts() / shape.ranks();
    }
}
