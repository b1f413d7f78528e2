package io.jccl.search;

import java.util.Arrays;
import java.util.function.IntPredicate;

/**
 * The costs of the parts of a route at the present prices. An entry is a network device by which a route enters and
 * leaves the host. There is only one entry if no networks are used, or if a channel may leave by another device than
 * the one by which it enters. In the latter case, the entry contains the cheapest device for each rank and direction.
 */
final class Costs {

    /** Cost of an impossible part; larger than any sum of possible costs. */
    static final double IMPOSSIBLE = 1e30;

    final int ranks;
    final int entries;
    final boolean closed;
    /** Cost from rank to rank, row by row. */
    final double[] edge;

    final double[][] first;
    final double[][] second;
    final double[][] last;
    /** For each first rank, whether its cost includes that of the second rank. */
    final boolean[] bringsSecond;

    private final int[][] netIn;
    private final int[][] netOut;

    /** Computes the cost of a load; the distance breaks ties. */
    interface Pricing {
        double of(Load load, int distance);
    }

    /**
     * Computes all costs at present prices.
     *
     * @param open whether a route may enter by a network device
     * @param openOut whether a route may leave by a network device; ignored if a route leaves by the device by which it
     *     enters
     */
    Costs(Traffic traffic, Pricing pricing, IntPredicate open, IntPredicate openOut) {
        ranks = traffic.ranks();
        closed = traffic.closed();
        edge = new double[ranks * ranks];
        for (int from = 0; from < ranks; from++) {
            for (int to = 0; to < ranks; to++) {
                edge[from * ranks + to] =
                        from == to ? IMPOSSIBLE : price(pricing, traffic.edge(from, to), traffic.distance(from, to));
            }
        }
        entries = traffic.mirrored() || traffic.nets() == 0 ? 1 : traffic.nets();
        first = new double[entries][ranks];
        second = new double[entries][ranks];
        last = new double[entries][ranks];
        netIn = new int[entries][ranks];
        netOut = new int[entries][ranks];
        bringsSecond = new boolean[ranks];
        for (int rank = 0; rank < ranks; rank++) {
            bringsSecond[rank] = traffic.bringsSecond(rank);
        }
        if (traffic.nets() == 0) {
            Arrays.fill(netIn[0], -1);
            Arrays.fill(netOut[0], -1);
        } else {
            fillEntries(traffic, pricing, open, traffic.mirrored() ? openOut : open);
        }
    }

    private void fillEntries(Traffic traffic, Pricing pricing, IntPredicate open, IntPredicate openOut) {
        if (traffic.mirrored()) {
            Arrays.fill(first[0], IMPOSSIBLE);
            Arrays.fill(last[0], IMPOSSIBLE);
        }
        for (int net = 0; net < traffic.nets(); net++) {
            for (int rank = 0; rank < ranks; rank++) {
                int distance = traffic.netDistance(net, rank);
                double in = open.test(net) ? price(pricing, traffic.first(net, rank), distance) : IMPOSSIBLE;
                double out = openOut.test(net) ? price(pricing, traffic.last(net, rank), distance) : IMPOSSIBLE;
                int entry = traffic.mirrored() ? 0 : net;
                if (!traffic.mirrored() || in < first[0][rank]) {
                    first[entry][rank] = in;
                    netIn[entry][rank] = net;
                }
                if (!traffic.mirrored() || out < last[0][rank]) {
                    last[entry][rank] = out;
                    netOut[entry][rank] = net;
                }
                second[entry][rank] = price(pricing, traffic.second(net, rank), distance);
            }
        }
    }

    private static double price(Pricing pricing, Load load, int distance) {
        if (load == Load.NONE) {
            return 0;
        }
        return load == null ? IMPOSSIBLE : pricing.of(load, distance);
    }

    double edge(int from, int to) {
        return edge[from * ranks + to];
    }

    /** Returns the cost of the second rank of a route in addition to the costs of the edges. */
    double second(int entry, int first, int rank) {
        return bringsSecond[first] ? 0 : second[entry][rank];
    }

    /** Returns the cost of a whole route. */
    double total(int[] order, int entry) {
        double total = first[entry][order[0]]
                + second(entry, order[0], order[Math.min(1, ranks - 1)])
                + last[entry][order[ranks - 1]];
        for (int place = 1; place < ranks; place++) {
            total += edge[order[place - 1] * ranks + order[place]];
        }
        return closed ? total + edge[order[ranks - 1] * ranks + order[0]] : total;
    }

    /** Returns the route with these ranks and this entry. */
    Route route(int[] order, int entry) {
        return new Route(order, netIn[entry][order[0]], netOut[entry][order[ranks - 1]]);
    }

    /** Returns this order of ranks with its cheapest entry; null if no entry is possible. */
    Route enteringBest(int[] order) {
        int best = 0;
        for (int entry = 1; entry < entries; entry++) {
            if (total(order, entry) < total(order, best)) {
                best = entry;
            }
        }
        return total(order, best) < IMPOSSIBLE ? route(order, best) : null;
    }

    private double minSecond(int entry) {
        double min = Double.POSITIVE_INFINITY;
        for (int rank = 0; rank < ranks; rank++) {
            min = Math.min(min, bringsSecond[rank] ? 0 : second[entry][rank]);
        }
        return min;
    }

    /** Returns a lower bound of the cost of entering and leaving. */
    double minEnds(int entry) {
        return Arrays.stream(first[entry]).min().orElseThrow()
                + minSecond(entry)
                + Arrays.stream(last[entry]).min().orElseThrow();
    }
}
