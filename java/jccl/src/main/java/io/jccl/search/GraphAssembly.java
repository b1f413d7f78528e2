package io.jccl.search;

import io.jccl.topology.LinkSpeeds;
import io.jccl.topology.Node;
import io.jccl.topology.NodePath;
import io.jccl.topology.NodePaths;
import io.jccl.topology.PathType;
import io.jccl.topology.Topology;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** Converts routes into channels, and computes their bandwidths and path types. */
final class GraphAssembly {

    private final NodePaths paths;
    private final Traffic traffic;
    private final List<Integer> ranks;
    private final List<Integer> nets;
    private final double maxGBps;

    /** @param maxGBps limit of the channels' total bandwidth, even if the links could carry more */
    GraphAssembly(NodePaths paths, Traffic traffic, List<Integer> ranks, List<Integer> nets, double maxGBps) {
        this.paths = paths;
        this.traffic = traffic;
        this.ranks = ranks;
        this.nets = nets;
        this.maxGBps = Math.min(maxGBps, LinkSpeeds.LOCAL_GBPS);
    }

    ChannelGraph assemble(Pattern pattern, Ladder.Best best) {
        int found = best.routes().size() * (traffic.mirrored() ? 2 : 1);
        double total = Math.min(best.total() * (traffic.mirrored() ? 2 : 1), maxGBps);
        double each = total / found;
        List<List<Integer>> orders = new ArrayList<>();
        List<Rail> devices = new ArrayList<>();
        boolean crossNic = false;
        for (Route route : best.routes()) {
            addChannel(orders, devices, route);
            crossNic |= route.netIn() != route.netOut();
        }
        return new ChannelGraph(
                pattern,
                traffic.isTree() && !nets.isEmpty() ? spareInside(best.routes(), each) : each,
                each,
                typeIntra(best.routes()),
                typeInter(best.routes()),
                crossNic,
                orders,
                devices);
    }

    private void addChannel(List<List<Integer>> orders, List<Rail> devices, Route route) {
        List<Integer> order = new ArrayList<>();
        for (int place : route.order()) {
            order.add(Topology.rankOf(paths.topology().node(ranks.get(place))));
        }
        orders.add(order);
        if (!nets.isEmpty()) {
            devices.add(rail(route.netIn(), route.netOut()));
        }
        if (traffic.mirrored()) {
            List<Integer> reversed = new ArrayList<>(order);
            Collections.reverse(reversed);
            orders.add(reversed);
            devices.add(rail(route.netOut(), route.netIn()));
        }
    }

    private Rail rail(int netIn, int netOut) {
        return new Rail(device(netIn).dev(), device(netOut).dev());
    }

    private Node.Net device(int net) {
        return (Node.Net) paths.topology().node(nets.get(net));
    }

    /**
     * Returns the bandwidth that each tree has inside the host while it exchanges {@code each} GB/s with the network.
     */
    private double spareInside(List<Route> routes, double each) {
        Packing packing = new Packing(traffic);
        packing.reset(routes);
        return Math.max(each, Math.min(maxGBps / routes.size(), packing.bandwidthInside(each)));
    }

    private PathType typeIntra(List<Route> routes) {
        PathType farthest = PathType.LOC;
        for (Route route : routes) {
            int[] order = route.order();
            for (int place = 1; place < order.length + (traffic.closed() ? 1 : 0); place++) {
                int from = ranks.get(order[place - 1]);
                int to = ranks.get(order[place % order.length]);
                farthest = farthest.max(paths.path(from, to).type());
                if (traffic.isTree() || traffic.mirrored()) {
                    farthest = farthest.max(paths.path(to, from).type());
                }
            }
        }
        return farthest;
    }

    private PathType typeInter(List<Route> routes) {
        if (nets.isEmpty()) {
            return PathType.PIX;
        }
        PathType farthest = PathType.LOC;
        for (Route route : routes) {
            int[] order = route.order();
            int out = traffic.outPlace(order);
            farthest = farthest.max(typeOfEnds(route.netIn(), order[0], order[out], route.netOut()));
            if (traffic.mirrored()) {
                farthest = farthest.max(typeOfEnds(route.netOut(), order[out], order[0], route.netIn()));
            }
        }
        return farthest;
    }

    private PathType typeOfEnds(int netIn, int first, int last, int netOut) {
        NodePath enter = paths.path(nets.get(netIn), ranks.get(first));
        NodePath leave = paths.path(ranks.get(last), nets.get(netOut));
        return enter.type().max(leave.type());
    }
}
