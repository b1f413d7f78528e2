package io.jccl.planning;

import io.jccl.Collective;
import io.jccl.Protocol;
import io.jccl.topology.Link;
import io.jccl.topology.Node;
import io.jccl.topology.NodePath;
import io.jccl.topology.NodePaths;
import io.jccl.topology.NodeType;
import io.jccl.topology.Topology;
import io.jccl.tuning.Choice;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Computes the least time that the links of a host allow for an operation: lays the operation's transfers on their
 * paths, and divides the load of each link by its bandwidth. Shares no code with the cost model.
 *
 * <p>Counts only links inside hosts. All hosts are equal.
 */
public final class LinkBound {

    private static final long MIB = 1 << 20;

    private final Map<List<Object>, Double> microsOfMebibyte = new HashMap<>();
    private final Topology topology;
    private final NodePaths paths;
    private final Plan plan;
    /** The node of each local rank's GPU; ranks that share a GPU have the node of the lowest of them. */
    private final int[] nodes;

    /** @param paths the paths of one host, on which {@code plan} was made */
    public LinkBound(NodePaths paths, Plan plan) {
        this.topology = paths.topology();
        this.paths = paths;
        this.plan = plan;
        Map<Integer, Integer> nodeOfRank = new TreeMap<>();
        Map<String, Integer> lowest = new HashMap<>();
        topology.endpoints().stream()
                .filter(node -> topology.node(node) instanceof Node.Gpu)
                .sorted((one, other) ->
                        Integer.compare(Topology.rankOf(topology.node(one)), Topology.rankOf(topology.node(other))))
                .forEach(node -> {
                    String gpu = ((Node.Gpu) topology.node(node)).busId();
                    nodeOfRank.put(Topology.rankOf(topology.node(node)), lowest.computeIfAbsent(gpu, id -> node));
                });
        this.nodes = nodeOfRank.values().stream().mapToInt(node -> node).toArray();
    }

    /** Returns the number of ranks on each host. */
    public int localRanks() {
        return nodes.length;
    }

    /** The load of each directed link in bytes. */
    private final class Loads {

        private final Map<List<Integer>, Double> bytes = new HashMap<>();

        /** Adds a transfer between two ranks; ignores transfers between hosts. */
        void add(int from, int to, double amount) {
            if (!plan.sameHost(from, to)) {
                return;
            }
            int one = nodes[plan.hostOf(from).ranks().indexOf(from)];
            int other = nodes[plan.hostOf(to).ranks().indexOf(to)];
            if (one == other || plan.hostOf(from).index() != 0) {
                return; // all hosts are equal; inside a GPU there are no links
            }
            NodePath path = paths.path(one, other);
            int at = one;
            for (int next : path.via()) {
                bytes.merge(List.of(at, next), amount, Double::sum);
                at = next;
            }
        }

        double micros() {
            double worst = 0;
            for (Map.Entry<List<Integer>, Double> load : bytes.entrySet()) {
                double gbps = topology.links(load.getKey().get(0)).stream()
                        .filter(link -> link.to() == load.getKey().get(1))
                        .mapToDouble(Link::bandwidthGBps)
                        .max()
                        .orElseThrow();
                worst = Math.max(worst, load.getValue() / gbps / 1000);
            }
            return worst;
        }
    }

    /**
     * Returns the least time in microseconds.
     *
     * @param bytes the larger of a rank's buffers
     */
    public double micros(Collective collective, Choice choice, long bytes) {
        // Each form takes a time in proportion to the bytes, so it is computed for one size only.
        List<Object> form = List.of(
                collective,
                choice.algorithm(),
                choice.protocol(),
                choice.channels(),
                choice.tryZeroCopy(),
                choice.twoShot());
        return bytes * microsOfMebibyte.computeIfAbsent(form, key -> compute(collective, choice, MIB)) / MIB;
    }

    private double compute(Collective collective, Choice choice, long bytes) {
        return switch (choice.algorithm()) {
            case RING -> ring(collective, choice, bytes);
            case TREE -> tree(choice, bytes);
            case DIRECT -> direct(collective, choice, bytes);
            case NVLS -> nvls(collective, bytes);
            default -> 0;
        };
    }

    private double ring(Collective collective, Choice choice, long bytes) {
        int n = plan.size();
        double trips =
                switch (collective) {
                    case ALL_REDUCE, BARRIER -> 2.0 * (n - 1) / n;
                    case ALL_GATHER, REDUCE_SCATTER -> (n - 1.0) / n;
                    default -> 1;
                };
        Loads loads = new Loads();
        for (int channel = 0; channel < choice.channels(); channel++) {
            int[] ring = plan.ring(channel % plan.channels());
            // A broadcast or reduce does not use the hop that would close the ring. It is nowhere else, so counting all
            // hops but that of rank 0 gives a bound for root 0.
            int hops = collective == Collective.BROADCAST || collective == Collective.REDUCE ? n - 1 : n;
            int root = Arrays.stream(ring).boxed().toList().indexOf(0);
            int first = collective == Collective.REDUCE ? root + 1 : root;
            for (int hop = 0; hop < hops; hop++) {
                loads.add(ring[(first + hop) % n], ring[(first + hop + 1) % n], bytes * trips / choice.channels());
            }
        }
        return loads.micros();
    }

    private double tree(Choice choice, long bytes) {
        Loads loads = new Loads();
        for (int channel = 0; channel < choice.channels(); channel++) {
            for (int rank = 0; rank < plan.size(); rank++) {
                int parent = plan.treeParent(channel % plan.channels(), rank);
                if (parent >= 0) {
                    loads.add(rank, parent, (double) bytes / choice.channels());
                    loads.add(parent, rank, (double) bytes / choice.channels());
                }
            }
        }
        return loads.micros();
    }

    private double direct(Collective collective, Choice choice, long bytes) {
        int n = plan.size();
        // LL carries a flag with every four bytes.
        double flags = !choice.tryZeroCopy() && choice.protocol() == Protocol.LL ? 2 : 1;
        double shard = (double) bytes / n;
        boolean whole = choice.tryZeroCopy() || choice.twoShot();
        return switch (collective) {
            case ALL_REDUCE -> allPairs(whole ? 2 * shard * flags : bytes * flags);
            case BARRIER -> allPairs(bytes * flags);
            case ALL_GATHER, REDUCE_SCATTER -> allPairs(shard * flags);
            case ALL_TO_ALL -> allPairs(shard);
            case BROADCAST -> star(0, bytes * flags, true);
            case REDUCE -> star(0, bytes * flags, false);
            case SCATTER -> star(0, shard, true);
            case GATHER -> star(0, shard, false);
            case SEND_RECV -> pair(bytes);
            case SCAN, EXSCAN -> chain(bytes);
        };
    }

    private double allPairs(double each) {
        Loads loads = new Loads();
        for (int from = 0; from < plan.size(); from++) {
            for (int to = 0; to < plan.size(); to++) {
                if (from != to) {
                    loads.add(from, to, each);
                }
            }
        }
        return loads.micros();
    }

    private double chain(double each) {
        Loads loads = new Loads();
        for (int from = 0; from + 1 < plan.size(); from++) {
            loads.add(from, from + 1, each);
        }
        return loads.micros();
    }

    private double star(int root, double each, boolean leaves) {
        Loads loads = new Loads();
        for (int rank = 0; rank < plan.size(); rank++) {
            if (rank != root) {
                loads.add(leaves ? root : rank, leaves ? rank : root, each);
            }
        }
        return loads.micros();
    }

    /** Returns the time of one transfer between the two ranks of a host with the narrowest path. */
    private double pair(double bytes) {
        double worst = 0;
        for (int from = 0; from < nodes.length; from++) {
            for (int to = 0; to < nodes.length; to++) {
                if (from != to) {
                    Loads loads = new Loads();
                    loads.add(
                            plan.hosts().get(0).ranks().get(from),
                            plan.hosts().get(0).ranks().get(to),
                            bytes);
                    worst = Math.max(worst, loads.micros());
                }
            }
        }
        return worst;
    }

    /** A rank's links to the switch carry all data once. In an all-reduce they carry the rank's shard once more. */
    private double nvls(Collective collective, long bytes) {
        double worst = 0;
        for (int node : nodes) {
            double gbps = topology.links(node).stream()
                    .filter(link -> topology.node(link.to()).type() == NodeType.NVS)
                    .mapToDouble(Link::bandwidthGBps)
                    .sum();
            double trips = collective == Collective.ALL_REDUCE ? 1 + 1.0 / plan.size() : 1;
            worst = Math.max(worst, bytes * trips / gbps / 1000);
        }
        return worst;
    }
}
