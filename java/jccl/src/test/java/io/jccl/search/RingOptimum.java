package io.jccl.search;

import io.jccl.topology.NodePaths;
import io.jccl.topology.NodeType;
import io.jccl.topology.Topology;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import org.apache.commons.math3.optim.MaxIter;
import org.apache.commons.math3.optim.linear.LinearConstraint;
import org.apache.commons.math3.optim.linear.LinearConstraintSet;
import org.apache.commons.math3.optim.linear.LinearObjectiveFunction;
import org.apache.commons.math3.optim.linear.NonNegativeConstraint;
import org.apache.commons.math3.optim.linear.Relationship;
import org.apache.commons.math3.optim.linear.SimplexSolver;
import org.apache.commons.math3.optim.nonlinear.scalar.GoalType;

/**
 * Computes the largest bandwidth that rings of a host can carry together if each ring may have its own bandwidth. This
 * is a linear program over all orders of all ranks.
 *
 * <pre>
 * largest   sum of x(r)                       x(r) &gt;= 0, the bandwidth of ring r
 * where     sum of load(r, i) x(r) &lt;= gbps(i)   on each resource i
 *
 * smallest  sum of gbps(i) y(i)               y(i) &gt;= 0, the price of resource i
 * where     sum of load(r, i) y(i) &gt;= 1         for each ring r
 * </pre>
 *
 * <p>Both programs have the same value. The second one is solved for the rings known so far. Then the cheapest of all
 * rings at these prices is added to them; dynamic programming over sets of ranks finds it (Held and Karp). At any
 * prices, no rings exceed the sum of the prices divided by the cost of the cheapest ring, whatever the solver did. Over
 * networks, a ring enters and leaves by one device, or is one of two rings in opposite directions that change devices,
 * as in the search. Limits on the number of channels are ignored, so the result bounds any number of them.
 *
 * <p>Of the search only {@link Traffic} is used, for the loads; {@link ChannelChecker} checks the sums of these loads.
 */
final class RingOptimum {

    private static final int MAX_ROUNDS = 400;
    private static final int MAX_ITERATIONS = 100_000;
    private static final double CLOSE = 1e-6;

    /**
     * One ring, or two in opposite directions, and its load on each resource as a share of the resource's bandwidth.
     */
    private record Column(int rings, List<Double> shares) {}

    private final Capacities capacities;
    private final List<Traffic> kinds = new ArrayList<>();
    private final Set<Column> columns = new LinkedHashSet<>();
    /** Cost of the cheapest order of a set of visited ranks, by the set and the last rank. */
    private final double[] cheapest;

    private RingOptimum(NodePaths paths, boolean networks) {
        Topology topology = paths.topology();
        List<Integer> ranks = topology.endpoints();
        capacities = new Capacities(topology);
        cheapest = new double[ranks.size() * (1 << ranks.size())];
        List<Integer> nets = networks ? topology.indexesOf(NodeType.NET) : List.of();
        for (boolean mirrored : nets.size() > 1 ? new boolean[] {false, true} : new boolean[] {false}) {
            kinds.add(new Traffic(paths, capacities, Pattern.RING, ranks, nets, mirrored, node -> false));
        }
    }

    /**
     * Returns a bandwidth in GB/s that no rings exceed and that is at most a millionth above what some rings carry.
     *
     * @param found a bandwidth that some rings carry; the computation ends once the bound is as low
     */
    static double of(NodePaths paths, boolean networks, double found) {
        return new RingOptimum(paths, networks).solve(found);
    }

    private double solve(double found) {
        double bound = Double.POSITIVE_INFINITY;
        double[] prices = new double[capacities.size()];
        Arrays.fill(prices, 1); // prices of each resource's whole bandwidth
        for (int round = 0; round < MAX_ROUNDS; round++) {
            int known = columns.size();
            double least = addCheapest(prices);
            double sum = Arrays.stream(prices).sum();
            if (least > 0) {
                bound = Math.min(bound, sum / least);
            }
            if (bound <= found * (1 + CLOSE) || round > 0 && bound <= sum * (1 + CLOSE) || columns.size() == known) {
                return bound;
            }
            prices = solve();
        }
        return bound;
    }

    /**
     * Returns the prices with the lowest sum at which each known ring costs at least 1. Resources that all these rings
     * use equally share a price. A resource that every ring uses no more than another resource has the price 0.
     */
    private double[] solve() {
        Map<List<Double>, List<Integer>> alike = new LinkedHashMap<>();
        double scale = Double.POSITIVE_INFINITY;
        for (int i = 0; i < capacities.size(); i++) {
            int resource = i;
            List<Double> shares =
                    columns.stream().map(column -> column.shares.get(resource)).toList();
            double most = shares.stream().mapToDouble(share -> share).max().orElseThrow();
            if (most > 0) {
                alike.computeIfAbsent(shares, any -> new ArrayList<>()).add(resource);
                scale = Math.min(scale, 1 / most);
            }
        }
        List<List<Double>> used = alike.keySet().stream()
                .filter(shares -> alike.keySet().stream().noneMatch(other -> isLess(shares, other)))
                .toList();
        List<LinearConstraint> atLeastOne = new ArrayList<>();
        int ring = 0;
        for (Column column : columns) {
            double[] factors = new double[used.size()];
            for (int i = 0; i < factors.length; i++) {
                factors[i] = used.get(i).get(ring) * scale;
            }
            atLeastOne.add(new LinearConstraint(factors, Relationship.GEQ, column.rings));
            ring++;
        }
        double[] ones = new double[used.size()];
        Arrays.fill(ones, 1);
        double[] solution = new SimplexSolver()
                .optimize(
                        new MaxIter(MAX_ITERATIONS),
                        GoalType.MINIMIZE,
                        new NonNegativeConstraint(true),
                        new LinearObjectiveFunction(ones, 0),
                        new LinearConstraintSet(atLeastOne))
                .getPoint();
        double[] prices = new double[capacities.size()];
        for (int i = 0; i < solution.length; i++) {
            List<Integer> resources = alike.get(used.get(i));
            for (int resource : resources) {
                prices[resource] = Math.max(0, solution[i]) * scale / resources.size();
            }
        }
        return prices;
    }

    private static boolean isLess(List<Double> one, List<Double> other) {
        return !one.equals(other) && IntStream.range(0, one.size()).allMatch(i -> one.get(i) <= other.get(i));
    }

    /** Adds the cheapest ring of each kind for each entry device. Returns the lowest cost of a ring. */
    private double addCheapest(double[] prices) {
        double least = Double.POSITIVE_INFINITY;
        for (Traffic traffic : kinds) {
            int entries = traffic.mirrored() ? 1 : Math.max(1, traffic.nets());
            for (int entry = 0; entry < entries; entry++) {
                int[] ins = nets(traffic, entry, prices, true);
                int[] outs = nets(traffic, entry, prices, false);
                int[] order = cheapest(traffic, ins, outs, prices);
                if (order != null) {
                    Route route = new Route(order, ins[order[0]], outs[order[order.length - 1]]);
                    Column column = column(traffic, route);
                    columns.add(column);
                    double cost = 0;
                    for (int i = 0; i < prices.length; i++) {
                        cost += prices[i] * column.shares.get(i);
                    }
                    least = Math.min(least, cost / column.rings);
                }
            }
        }
        return least;
    }

    private Column column(Traffic traffic, Route route) {
        double[] shares = new double[capacities.size()];
        for (List<Load> part : List.of(traffic.inside(route), traffic.outside(route))) {
            for (Load load : part) {
                for (int i = 0; i < load.resources().length; i++) {
                    int resource = load.resources()[i];
                    shares[resource] += load.weights()[i] / capacities.gbps(resource);
                }
            }
        }
        return new Column(
                traffic.channelsPerRoute(), Arrays.stream(shares).boxed().toList());
    }

    /**
     * Returns the network device to enter or leave by, for each rank: the cheapest, or {@code entry} if both must be
     * the same.
     */
    private int[] nets(Traffic traffic, int entry, double[] prices, boolean in) {
        return IntStream.range(0, traffic.ranks())
                .map(rank -> {
                    int best = traffic.nets() == 0 ? -1 : entry;
                    for (int net = 0; net < traffic.nets() && traffic.mirrored(); net++) {
                        boolean cheaper = end(traffic, net, rank, prices, in) < end(traffic, best, rank, prices, in);
                        best = cheaper ? net : best;
                    }
                    return best;
                })
                .toArray();
    }

    private double end(Traffic traffic, int net, int rank, double[] prices, boolean in) {
        return net < 0 ? 0 : cost(in ? traffic.first(net, rank) : traffic.last(net, rank), prices);
    }

    private double cost(Load load, double[] prices) {
        if (load == null) {
            return Double.POSITIVE_INFINITY;
        }
        double cost = 0;
        for (int i = 0; i < load.resources().length; i++) {
            int resource = load.resources()[i];
            cost += load.weights()[i] * prices[resource] / capacities.gbps(resource);
        }
        return cost;
    }

    /** Returns the cheapest order of all ranks; null if there is none. */
    private int[] cheapest(Traffic traffic, int[] ins, int[] outs, double[] prices) {
        int ranks = traffic.ranks();
        double[][] edge = new double[ranks][ranks];
        double[] last = new double[ranks];
        Arrays.fill(cheapest, Double.POSITIVE_INFINITY);
        for (int from = 0; from < ranks; from++) {
            for (int to = 0; to < ranks; to++) {
                edge[from][to] = from == to ? 0 : cost(traffic.edge(from, to), prices);
            }
            last[from] = traffic.closed() ? edge[from][0] : end(traffic, outs[from], from, prices, false);
            if (from == 0 || !traffic.closed()) {
                cheapest[(1 << from) * ranks + from] = end(traffic, ins[from], from, prices, true);
            }
        }
        int all = (1 << ranks) - 1;
        for (int visited = 1; visited < all; visited++) {
            for (int at = 0; at < ranks; at++) {
                double until = cheapest[visited * ranks + at];
                for (int open = until < Double.POSITIVE_INFINITY ? all & ~visited : 0; open != 0; open &= open - 1) {
                    int next = Integer.numberOfTrailingZeros(open);
                    int state = (visited | 1 << next) * ranks + next;
                    cheapest[state] = Math.min(cheapest[state], until + edge[at][next]);
                }
            }
        }
        int end = IntStream.range(0, ranks)
                .boxed()
                .min((one, other) -> Double.compare(
                        cheapest[all * ranks + one] + last[one], cheapest[all * ranks + other] + last[other]))
                .orElseThrow();
        return cheapest[all * ranks + end] + last[end] < Double.POSITIVE_INFINITY ? back(edge, end) : null;
    }

    private int[] back(double[][] edge, int end) {
        int ranks = edge.length;
        int[] order = new int[ranks];
        int visited = (1 << ranks) - 1;
        order[ranks - 1] = end;
        for (int place = ranks - 2; place >= 0; place--) {
            int next = order[place + 1];
            visited &= ~(1 << next);
            for (int at = 0; at < ranks; at++) {
                if ((visited & 1 << at) != 0
                        && cheapest[visited * ranks + at] + edge[at][next]
                                == cheapest[(visited | 1 << next) * ranks + next]) {
                    order[place] = at;
                }
            }
        }
        return order;
    }
}
