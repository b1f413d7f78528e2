package io.jccl.search;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** A number of routes of equal bandwidth, and what they put on each resource. Changes in place. */
final class Packing {

    private final Traffic traffic;
    private final List<Route> routes = new ArrayList<>();
    private final double[] uses;
    /** How many channels come in by each network device; as many leave by it, because rings that change it come in pairs. */
    private final int[] throughNet;

    Packing(Traffic traffic) {
        this.traffic = traffic;
        this.uses = new double[traffic.resources()];
        this.throughNet = new int[traffic.nets()];
    }

    /** Starts again with these routes. */
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

    /** Puts a route where one was removed. */
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

    /** Whether one channel more may come in by a network device and leave by it. */
    boolean open(int net) {
        return throughNet[net] < traffic.maxChannels(net);
    }

    /** Whether the network devices of a route that is not here are open. */
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
            // Weights are halves and wholes, so that sums are exact and removing undoes adding.
            uses[load.resources()[i]] += sign * load.weights()[i];
        }
    }

    /** What the busiest resource leaves to each route; infinite if none is used. */
    double bandwidth() {
        double min = Double.POSITIVE_INFINITY;
        for (int resource = 0; resource < uses.length; resource++) {
            if (uses[resource] > 0) {
                min = Math.min(min, traffic.gbps(resource) / uses[resource]);
            }
        }
        return min;
    }

    /** What all routes carry together. */
    double total() {
        return bandwidth() * routes.size();
    }

    /**
     * What each route could carry between ranks while it exchanges {@code outside} GB/s with the network.
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
