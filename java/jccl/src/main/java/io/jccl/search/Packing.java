package io.jccl.search;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** A set of routes of equal bandwidth, and their use of each resource. Mutable. */
final class Packing {

    private final Traffic traffic;
    private final List<Route> routes = new ArrayList<>();
    private final double[] uses;
    /**
     * Number of channels that enter by each network device. Equally many leave by it, because rings that change devices
     * come in pairs.
     */
    private final int[] throughNet;

    Packing(Traffic traffic) {
        this.traffic = traffic;
        this.uses = new double[traffic.resources()];
        this.throughNet = new int[traffic.nets()];
    }

    /** Replaces all routes by these. */
    void reset(List<Route> all) {
        routes.clear();
        Arrays.fill(uses, 0);
        Arrays.fill(throughNet, 0);
        for (Route route : all) {
            add(route);
        }
    }

    void add(Route route) {
        routes.add(route);
        count(route, 1);
    }

    Route remove(int index) {
        Route route = routes.remove(index);
        count(route, -1);
        return route;
    }

    /** Inserts a route at the place from which one was removed. */
    void insert(int index, Route route) {
        routes.add(index, route);
        count(route, 1);
    }

    List<Route> routes() {
        return routes;
    }

    double uses(int resource) {
        return uses[resource];
    }

    /** Returns true if one more channel may enter and leave by a network device. */
    boolean open(int net) {
        return throughNet[net] < traffic.maxChannels(net);
    }

    /** Returns true if the network devices of a route, which is not in this set, have room for it. */
    boolean fits(Route route) {
        if (throughNet.length == 0) {
            return true;
        }
        boolean both = traffic.mirrored() && route.netIn() == route.netOut();
        return both
                ? throughNet[route.netIn()] + 2 <= traffic.maxChannels(route.netIn())
                : open(route.netIn()) && open(route.netOut());
    }

    private void count(Route route, int sign) {
        if (throughNet.length > 0) {
            throughNet[route.netIn()] += sign;
            throughNet[route.netOut()] += traffic.mirrored() ? sign : 0;
        }
        for (Load load : traffic.inside(route)) {
            count(load, sign);
        }
        for (Load load : traffic.outside(route)) {
            count(load, sign);
        }
    }

    private void count(Load load, double sign) {
        for (int i = 0; i < load.resources().length; i++) {
            // Weights are multiples of one half, so sums are exact and removing a route undoes adding it.
            uses[load.resources()[i]] += sign * load.weights()[i];
        }
    }

    /** Returns the bandwidth that the busiest resource leaves to each route; infinite if none is used. */
    double bandwidth() {
        double min = Double.POSITIVE_INFINITY;
        for (int resource = 0; resource < uses.length; resource++) {
            if (uses[resource] > 0) {
                min = Math.min(min, traffic.gbps(resource) / uses[resource]);
            }
        }
        return min;
    }

    /** Returns the bandwidth of all routes together. */
    double total() {
        return bandwidth() * routes.size();
    }

    /**
     * Returns the bandwidth that each route could have between ranks while it exchanges {@code outside} GB/s with the
     * network.
     *
     * @return infinite if no resource is used between ranks
     */
    double bandwidthInside(double outside) {
        double[] intra = new double[uses.length];
        for (Route route : routes) {
            for (Load load : traffic.inside(route)) {
                for (int i = 0; i < load.resources().length; i++) {
                    intra[load.resources()[i]] += load.weights()[i];
                }
            }
        }
        double min = Double.POSITIVE_INFINITY;
        for (int i = 0; i < uses.length; i++) {
            if (intra[i] > 0) {
                min = Math.min(min, (traffic.gbps(i) - outside * (uses[i] - intra[i])) / intra[i]);
            }
        }
        return min;
    }
}
